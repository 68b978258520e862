// Follows a run: every event is the whole document of the run so far, so a browser may join, lose
// the connection and come back when it likes. Only the newest document is kept.

const kShortestPause = 300;    // milliseconds between two drawings
const kRetryPause = 2000;

class Feed {
  // show(document) draws it; say(words, isTrouble) tells the reader how the connection is.
  constructor(address, show, say) {
    this.address = address;
    this.show = show;
    this.say = say;
    this.newest = null;
    this.hasShown = false;
    this.drawing = 0;  // the timer of the next drawing, 0: none is due
    this.lasted = 0;   // how long the last drawing took
    document.addEventListener('visibilitychange', () => this.wake());
    this.open();
  }

  open() {
    this.source = new EventSource(this.address);
    this.source.onopen = () => this.say(this.hasShown ? '' : 'Waiting for the run.', false);
    this.source.onmessage = (event) => {
      this.newest = JSON.parse(event.data);
      // Also of a page that nobody looks at: behind the last document there is no more server to ask.
      if (this.newest.state !== 'running') {
        this.source.close();
      }
      this.wake();
    };
    this.source.onerror = () => {
      this.say('Connection lost; trying again.', true);
      // A browser tries again by itself unless the answer was not a stream of events.
      if (this.source.readyState === EventSource.CLOSED) {
        setTimeout(() => this.open(), kRetryPause);
      }
    };
  }

  // Drawing waits a little, so that many documents at once are drawn once; and until somebody
  // looks.
  wake() {
    if (this.drawing === 0 && this.newest !== null && !document.hidden) {
      this.drawing = setTimeout(() => this.draw(), Math.max(kShortestPause, 4 * this.lasted));
    }
  }

  draw() {
    this.drawing = 0;
    const began = performance.now();
    const run = this.newest;
    this.newest = null;
    this.show(run);
    if (!this.hasShown) {
      this.hasShown = true;
      this.say('', false);
    }
    this.lasted = performance.now() - began;
    if (run.state !== 'running') {
      this.say('The run has ended. This page is what it was at the end.', false);
    }
  }
}

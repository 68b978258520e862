// Follows a run. Every event is the whole document of the run so far, so a browser may join, lose
// the connection and come back at any time. Only the newest document is kept.

const kShortestPause = 300;  // milliseconds between two redraws
const kRetryPause = 2000;

class Feed {
  // show(document) draws it; say(words, isTrouble) reports the state of the connection.
  constructor(address, show, say) {
    this.address = address;
    this.show = show;
    this.say = say;
    this.newest = null;
    this.hasShown = false;
    this.drawing = 0;  // the timer of the next redraw; 0: none
    this.lasted = 0;  // duration of the last redraw
    document.addEventListener('visibilitychange', () => this.wake());
    this.open();
  }

  open() {
    this.source = new EventSource(this.address);
    this.source.onopen = () => this.say(this.hasShown ? '' : 'Waiting for the run.', false);
    this.source.onmessage = (event) => {
      this.newest = JSON.parse(event.data);
      // Close also if the page is hidden: after the last document there is no server to ask.
      if (this.newest.state !== 'running') {
        this.source.close();
      }
      this.wake();
    };
    this.source.onerror = () => {
      this.say('Connection lost; reconnecting.', true);
      // A browser reconnects by itself unless the answer was not an event stream.
      if (this.source.readyState === EventSource.CLOSED) {
        setTimeout(() => this.open(), kRetryPause);
      }
    };
  }

  // Delays drawing a little, so that documents in quick succession are drawn once, and until the
  // page is visible.
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
      this.say('The run has ended. This page shows its final state.', false);
    }
  }
}

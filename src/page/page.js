// The page: views of one run or of several, from the embedded documents or from a live feed.

class Section {
  constructor(title, cards, tools = null) {
    this.cards = cards;
    this.element = make('section', {class: 'part'},
        make('div', {class: 'bar-head'}, make('h2', {}, title), tools),
        make('div', {class: 'grid'}, ...cards.map((card) => card.element)));
  }

  update(subject) {
    this.cards.forEach((card) => card.update(subject));
    this.element.hidden = this.cards.every((card) => card.element.hidden);
  }
}

// Accuracy, loss and throughput, of one run or several, with a switch for the x axis.
class Curves {
  constructor(title, suffix) {
    this.over = 'time';
    const choices = [['time', 'Time'], ['samples', 'Samples']];
    const over = makeSwitch('Over', choices, this.over, (choice) => {
      this.over = choice;
      this.update(this.runs);
    });
    const card = (kind) => new ChartCard({...kind, id: kind.id + suffix});
    this.section = new Section(title, [kAccuracy, kLoss, kThroughput].map(card), over);
    this.element = this.section.element;
    this.tools = over;
  }

  update(runs) {
    this.runs = runs;
    this.section.update({runs, over: this.over});
    this.tools.hidden = !runs.some((run) => run.metrics.length);
  }
}

// The job file, to read and to copy.
class JobCard {
  constructor() {
    this.job = make('pre', {tabindex: 0});
    const copy = make('button', {type: 'button', class: 'more', onclick: async () => {
      getSelection().selectAllChildren(this.job);  // if copying fails, it is at least selected
      try {
        await navigator.clipboard.writeText(this.job.textContent);
        setText(copy, 'Copied');
      } catch {
        setText(copy, 'Selected');
      }
    }}, 'Copy');
    this.element = make('details', {class: 'card', id: 'job'},
        make('summary', {}, 'Job file'), copy, this.job);
  }

  update(run) {
    this.element.hidden = run.job === '';
    setText(this.job, run.job);
  }
}

class RunView {
  constructor(level) {
    const card = (kind) => new ChartCard(kind);
    this.head = new RunHead(level);
    this.curves = new Curves('Learning and speed', '');
    this.workers = new Section('Workers',
        [kTimeline, kWorkerTime, kBytes, kShares, kBehind].map(card));
    this.details = new Section('Details', [
      ...[kMembersList, kTermsList, kDecisionsList].map((kind) => new ListCard(kind)),
      new MethodCard(), new JobCard()]);
    this.element = make('div', {}, this.head.element, this.curves.element, this.workers.element,
        this.details.element);
  }

  update(run) {
    this.run = run;
    this.head.update(run);
    this.curves.update([run]);
    this.workers.update(run);
    this.details.update(run);
  }

  redraw() {
    this.update(this.run);
  }
}

class CompareView {
  constructor(title) {
    this.verdict = make('p', {class: 'facts'});
    this.table = make('div', {class: 'card', id: 'comparison'});
    this.curves = new Curves('Overlaid', '-all');
    this.select = make('select', {id: 'chosen',
        onchange: () => this.choose(Number(this.select.value))});
    this.view = new RunView('h2');
    this.element = make('div', {},
        make('section', {class: 'head'}, make('h1', {class: 'name'}, title), this.verdict,
            this.table),
        this.curves.element,
        make('div', {class: 'chooser'}, make('label', {for: 'chosen'}, 'Run in detail'),
            this.select),
        this.view.element);
  }

  update(runs) {
    this.runs = runs;
    this.select.replaceChildren(...runs.map((run, i) => make('option', {value: i}, run.name)));
    this.redraw();
  }

  choose(i) {
    this.select.value = String(i);
    this.view.update(this.runs[i]);
    this.view.element.scrollIntoView({block: 'start'});
  }

  redraw() {
    setText(this.verdict, verdict(this.runs));
    this.table.replaceChildren(makeTable(comparisonTable(this.runs, (i) => this.choose(i))));
    const drawn = this.runs.filter((run) => run.state !== 'failed' || run.metrics.length);
    this.curves.element.hidden = drawn.length === 0;
    if (drawn.length) {
      this.curves.update(drawn);
    }
    this.view.update(this.runs[Number(this.select.value)]);
  }
}

function showReport(place, documents) {
  const runs = documents.map(readRun);
  if (runs.length === 0) {
    place.append(make('p', {class: 'callout'}, 'There is no run in this report.'));
    return;
  }
  const view = runs.length > 1 ? new CompareView(place.dataset.title) : new RunView('h1');
  place.append(view.element);
  view.update(runs.length > 1 ? runs : runs[0]);
  scheme.listeners.push(() => view.redraw());
}

function followRun(place, address) {
  const words = make('p', {class: 'callout', role: 'status', id: 'connection'}, 'Connecting.');
  place.append(words);
  let view = null;
  const say = (said, isTrouble) => {
    setText(words, said);
    words.hidden = said === '';
    words.classList.toggle('bad', isTrouble);
  };
  const show = (document_) => {
    if (view === null) {
      view = new RunView('h1');
      place.append(view.element);
      scheme.listeners.push(() => view.redraw());
    }
    view.update(readRun(document_, 0));
    document.title = `${stateWords(view.run)}: ${place.dataset.title}`;
  };
  new Feed(address, show, say);
}

function begin() {
  const place = document.getElementById('page');
  scheme.begin(document.getElementById('scheme'));
  const {feed} = document.body.dataset;
  if (feed) {
    followRun(place, feed);
  } else {
    showReport(place, JSON.parse(document.getElementById('runs').textContent));
  }
}

begin();

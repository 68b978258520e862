// The head of the page: name, strategy, state, progress, the key figures and the straggler; for
// several runs, the table that compares them.

class RunHead {
  constructor(level) {
    this.name = make(level, {class: 'name'});
    this.state = make('span', {class: 'state'});
    this.chips = make('ul', {class: 'chips'});
    this.facts = make('p', {class: 'facts'});
    this.why = make('p', {class: 'callout bad', role: 'alert'});
    this.bar = make('progress', {max: 1, 'aria-label': 'Samples of the whole run'});
    this.left = make('span');
    this.progress = make('div', {class: 'progress'}, this.bar, this.left);
    this.tiles = make('dl', {class: 'tiles'});
    this.straggler = make('p', {class: 'callout warn'});
    this.element = make('section', {class: 'head', 'aria-label': 'What was run'},
        make('div', {class: 'title'}, this.name, this.state), this.chips, this.facts, this.why,
        this.progress, this.tiles, this.straggler);
  }

  update(run) {
    setText(this.name, run.name);
    setText(this.state, run.state === 'failed' ? 'failed' : stateWords(run));
    this.state.dataset.state = run.counts && run.state === 'stopped' ? 'done' : run.state;
    this.showStrategy(run);
    this.why.hidden = run.state !== 'failed';
    setText(this.why, run.why ? `The run failed: ${run.why}` : 'The run failed.');
    this.progress.hidden = run.state !== 'running';
    if (run.state === 'running') {
      const part = run.limit > 0 ? Math.min(1, run.samples / run.limit) : 0;
      this.bar.value = part;
      setText(this.left, `${percent(part)} of ${compact(run.limit)} samples` +
          (run.eta_seconds === null ? '' : `, ${duration(run.eta_seconds)} left`));
    }
    this.showTiles(tilesOf(run));
    this.straggler.hidden = run.straggler === null;
    if (run.straggler) {
      this.straggler.replaceChildren(make('strong', {}, 'Straggler'),
          text(run.straggler.reason) || `worker ${run.straggler.rank}`);
    }
  }

  showStrategy(run) {
    const {sync, allocation, codec} = run.strategy;
    const chips = [['', run.mode], ['sync', sync], ['allocation', allocation], ['codec', codec]];
    this.chips.replaceChildren(...chips.filter(([, value]) => text(value) !== '')
        .map(([name, value]) => make('li', {},
            name ? make('span', {}, `${name} `) : null, make('b', {}, text(value)))));
    const {motley, libtorch, simulator} = run.madeBy;
    setText(this.facts, [
      run.workers === null ? '' : plural(run.workers, 'worker'),
      run.servers > 0 ? plural(run.servers, 'server') : '',
      run.batch === null ? '' : `batch ${number(run.batch)}`,
      run.seed === null ? '' : `seed ${run.seed}`,
      text(motley) ? `motley ${text(motley)}` : '',
      text(libtorch) ? `libtorch ${text(libtorch)}` : '',
      Number.isInteger(simulator) ? `simulator version ${simulator}` : '',
    ].filter((fact) => fact !== '').join('  ·  '));
  }

  // Elements are kept, so that a live page does not flicker and screen readers keep their place.
  showTiles(tiles) {
    if (this.tiles.children.length !== tiles.length) {
      this.tiles.replaceChildren(...tiles.map(() => make('div', {}, make('dt'), make('dd'),
          make('dd', {class: 'more'}))));
    }
    tiles.forEach((tile, i) => tile.forEach((words, part) =>
        setText(this.tiles.children[i].children[part], words)));
  }
}

// [label, value, remark]
function tilesOf(run) {
  const tiles = [
    [run.mode === 'simulate' ? 'Simulated time' : 'Time', duration(run.seconds),
     `${compact(run.samples)} samples`],
    ['Samples per second', figure(run.samples_per_second), run.efficiency === null ? '' :
        `${percent(run.efficiency)} of the ideal ${figure(run.ideal_samples_per_second)}`],
  ];
  if (run.accuracy !== null) {
    tiles.push(['Accuracy', number(run.accuracy, 4), `best ${number(run.bestAccuracy, 4)}`]);
  } else if (run.train_loss !== null) {
    tiles.push(['Training loss', number(run.train_loss, 4), 'last step']);
  }
  if (run.target_accuracy !== null) {
    const missed = run.state === 'running' ? 'not yet' : 'not reached';
    tiles.push([`Time to ${run.target_accuracy}`,
                run.time_to_target === null ? missed : duration(run.time_to_target),
                'target accuracy']);
  }
  const parts = partsOf(run.workerList);
  if (run.workerList.length) {
    tiles.push(['Waiting', percent(parts.wait), `of the workers’ time`]);
  }
  tiles.push(['Sent', bytes(run.bytes_sent), run.bytes_sent > 0 && run.samples > 0 ?
      `${bytes(run.bytes_sent / run.samples)} per sample` : '']);
  return tiles;
}

// Speed means time to target if there is a target, otherwise samples per second. The first run that
// has a speed is the baseline.
function speedsOf(runs) {
  const byTarget = runs.some((run) => run.target_accuracy !== null);
  const speeds = runs.map((run) => !run.counts ? null : byTarget ?
      (run.time_to_target > 0 ? 1 / run.time_to_target : null) : run.samples_per_second);
  const first = speeds.find((speed) => speed > 0);
  return {byTarget, speedups: speeds.map((speed) => speed > 0 ? speed / first : null)};
}

// A number with a bar that shows it relative to the maximum.
function barCell(words, part) {
  const bar = make('i', {class: 'bar', 'aria-hidden': 'true'});
  bar.style.width = `${Math.round(100 * part)}%`;
  return make('span', {class: 'barred'}, make('span', {}, words), bar);
}

function comparisonTable(runs, choose) {
  const {byTarget, speedups} = speedsOf(runs);
  const most = Math.max(...speedups.filter(known), 0);
  const columns = [
    {name: 'Run', text: true}, {name: 'Method', text: true}, {name: 'Allocation', text: true},
    {name: 'State', text: true}, {name: 'Seconds'}, {name: 'Samples/s'}, {name: 'Efficiency'},
    {name: 'Accuracy'}, ...(byTarget ? [{name: 'To target (s)'}] : []), {name: 'Speed-up'},
    {name: 'Sent'}];
  const rows = runs.map((run, i) => {
    const look = seriesLook(run.id);
    const name = make('button', {type: 'button', class: 'item', onclick: () => choose(i)},
        swatch(look), run.name);
    const row = [name, text(run.strategy.sync) || kNothing,
                 text(run.strategy.allocation) || kNothing];
    if (run.state === 'failed') {
      row.push(stateWords(run));
      row.wide = 3;
      row.look = 'bad';
      return row;
    }
    row.push(stateWords(run), number(run.seconds, 2), number(run.samples_per_second),
        percent(run.efficiency), number(run.accuracy, 4));
    if (byTarget) {
      row.push(number(run.time_to_target, 2));
    }
    row.push(speedups[i] === null ? kNothing :
        barCell(`${number(speedups[i], 2)}×`, speedups[i] / most), bytes(run.bytes_sent));
    row.look = speedups[i] !== null && speedups[i] === most ? 'best' : null;
    return row;
  });
  return {columns, rows, caption: 'Runs side by side. Speed-up is against the first run, by ' +
      (byTarget ? 'the time to its target.' : 'samples per second.')};
}

// The sentence that says which run is best.
function verdict(runs) {
  const {byTarget, speedups} = speedsOf(runs);
  const best = largest(runs.map((_, i) => i).filter((i) => speedups[i] !== null),
      (i) => speedups[i]);
  if (best === null) {
    return byTarget ? 'No run reached the target.' : 'No run finished.';
  }
  const first = runs[speedups.findIndex(known)];
  const run = runs[best];
  const how = byTarget ? `accuracy ${run.target_accuracy} after ${duration(run.time_to_target)}` :
      `${figure(run.samples_per_second)} samples/s`;
  return `Best: ${run.name}, ${how}` + (run === first ? '.' :
      `, ${number(speedups[best], 2)} times as fast as ${first.name}.`);
}

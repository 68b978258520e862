// Curves over time or samples: accuracy, loss and throughput, of one run or of several overlaid.
// The subject of each is {runs, over: 'time' | 'samples'}.

function overAxis(runs, over) {
  if (over === 'samples') {
    return {title: 'samples', of: (metric) => metric.samples,
            max: Math.max(...runs.map((run) => run.samples || 0)), size: 1};
  }
  const max = Math.max(...runs.map((run) => run.seconds || 0));
  const unit = timeUnit(max);
  return {title: unit.name, of: (metric) => metric.seconds / unit.size, max: max / unit.size,
          size: unit.size};
}

function line(label, points, look) {
  return {label, data: points, borderWidth: 2, tension: 0, fill: false, clip: 4, ...look,
          backgroundColor: look.borderColor, pointRadius: points.length < 40 ? 2.5 : 0,
          pointHoverRadius: 4, pointHitRadius: 8, pointStyle: 'circle', pointBorderWidth: 0};
}

// A horizontal reference line.
function level(label, value, max) {
  return {label, data: [{x: 0, y: value}, {x: max, y: value}], borderColor: colours.soft,
          backgroundColor: colours.soft, borderDash: [4, 4], borderWidth: 1.5, pointRadius: 0,
          pointHitRadius: 0, fill: false};
}

function points(run, name, at) {
  return run.metrics.filter((metric) => known(metric[name]))
      .map((metric) => ({x: at.of(metric), y: metric[name]}));
}

// One line per run, with dots at the evaluations if there are few lines.
function runLines(runs, name, at) {
  const lines = runs.map((run) => line(run.name, points(run, name, at), seriesLook(run.id)));
  for (const set of runs.length > 4 ? lines : []) {
    set.pointRadius = set.data.length > 1 ? 0 : 2.5;
  }
  return lines;
}

function lineConfig(datasets, at, yTitle, y = {}) {
  return {type: 'line', data: {datasets}, options: {
    parsing: false,
    scales: {x: axis(at.title, {min: 0, max: at.max || undefined,
                                ticks: {callback: lastTickFits(at.max)}}),
             y: axis(yTitle, y)},
    plugins: {tooltip: {callbacks: {
      title: (items) => items.length ? `${figure(items[0].parsed.x)} ${at.title}` : '',
      label: (item) => `${item.dataset.label}: ${figure(item.parsed.y)}`,
    }}},
  }};
}

// The axis ends at the end of the run; that uneven number gets no tick label.
function lastTickFits(max) {
  return (value, index, ticks) => index === ticks.length - 1 && index > 0 && value === max ?
      '' : compactTick(value);
}

function whyNoMetrics(runs) {
  if (runs.some((run) => run.state === 'running')) {
    return 'No accuracy or loss yet: the model has not been evaluated.';
  }
  return runs.every((run) => run.state === 'failed') ? '' :
      'No accuracy or loss: the model was never evaluated. Phantom models cannot be ' +
      'evaluated.';
}

function metricTable(runs, names, caption) {
  return () => ({
    caption,
    columns: [...(runs.length > 1 ? [{name: 'Run', text: true}] : []), {name: 'Seconds'},
              {name: 'Step'}, {name: 'Samples'}, ...names.map(([, words]) => ({name: words}))],
    rows: runs.flatMap((run) => run.metrics.map((metric) => [
      ...(runs.length > 1 ? [run.name] : []), number(metric.seconds, 2), number(metric.step),
      number(metric.samples), ...names.map(([name]) => number(metric[name], 4))])),
  });
}

// "12.3 s" or "60,032 samples" for a metric.
function when(metric, over) {
  return over === 'samples' ? `${number(metric.samples)} samples` : duration(metric.seconds);
}

function accuracySentence({runs, over}) {
  const of = (run) => run.metrics.filter((metric) => known(metric.accuracy));
  const evaluated = runs.filter((run) => of(run).length);
  if (evaluated.length > 1) {
    const best = largest(evaluated, (run) => run.accuracy);
    const reached = evaluated.filter((run) => run.time_to_target !== null);
    const first = largest(reached, (run) => -run.time_to_target);
    return `${best.name} ends highest, at ${number(best.accuracy, 3)}.` + (first === null ? '' :
        ` ${first.name} is first at the target of ${first.target_accuracy}, after ` +
        `${duration(first.time_to_target)}.`);
  }
  const [run] = evaluated;
  const last = of(run)[of(run).length - 1];
  const best = largest(of(run), (metric) => metric.accuracy);
  const target = run.target_accuracy === null ? '' : run.time_to_target === null ?
      ` The target of ${run.target_accuracy} was not reached` +
          `${run.state === 'running' ? ' yet' : ''}.` :
      ` The target of ${run.target_accuracy} was reached after ${duration(run.time_to_target)}.`;
  return `Accuracy reaches ${number(last.accuracy, 3)} after ${when(last, over)}` +
      (best.accuracy > last.accuracy ?
          `; the best was ${number(best.accuracy, 3)} after ${when(best, over)}.` : '.') + target;
}

const kAccuracy = {
  id: 'accuracy', paired: true, title: 'Accuracy',
  draw(subject) {
    const {runs, over} = subject;
    const at = overAxis(runs, over);
    const datasets = runLines(runs, 'accuracy', at);
    if (datasets.every((set) => set.data.length === 0)) {
      return {absent: whyNoMetrics(runs)};
    }
    if (runs.length === 1) {
      datasets[0].label = 'accuracy';
    }
    for (const target of new Set(runs.map((run) => run.target_accuracy).filter(known))) {
      datasets.push(level(`target ${target}`, target, at.max));
    }
    return {
      sentence: accuracySentence(subject),
      config: lineConfig(datasets, at, 'accuracy'),
      table: metricTable(runs, [['accuracy', 'Accuracy']], 'Accuracy at every evaluation'),
    };
  },
};

const kLoss = {
  id: 'loss', title: 'Loss',
  draw({runs, over}) {
    const at = overAxis(runs, over);
    const names = [['loss', 'Loss'], ['train_loss', 'Training loss']].filter(([name], i) =>
        runs.some((run) => run.metrics.some((metric) => known(metric[name]))) &&
        (i === 0 || runs.length === 1));
    if (names.length === 0) {
      return {absent: ''};  // the accuracy card says why
    }
    const datasets = runs.length > 1 ?
        runLines(runs, 'loss', at) :
        names.map(([name, words], i) => line(name === 'loss' ? 'test loss' : words.toLowerCase(),
            points(runs[0], name, at), seriesLook(i)));
    const ends = runs.map((run) => points(run, 'loss', at)).map((all, i) => [all, runs[i]])
        .filter(([all]) => all.length);
    const lowest = largest(ends, ([all]) => -all[all.length - 1].y);
    const last = lowest && lowest[0][lowest[0].length - 1];
    const sentence = lowest === null ? 'Training loss.' : runs.length > 1 ?
        `${lowest[1].name} ends lowest, at ${number(last.y, 3)}.` :
        lowest[0].length < 2 ? `Loss on the test data is ${number(last.y, 3)}.` :
        `Loss on the test data goes from ${number(lowest[0][0].y, 3)} to ${number(last.y, 3)}.`;
    return {sentence, config: lineConfig(datasets, at, 'loss'),
            table: metricTable(runs, names, 'Loss at every evaluation')};
  },
};

// Bins as points at their centres. The last bin may be incomplete and would look like a drop.
function throughputPoints(run, unit) {
  const whole = run.binCount > 3 && run.binCount * run.binWidth > run.seconds * (1 + 1e-9) ?
      run.binCount - 1 : run.binCount;
  return run.throughput.slice(0, whole).map((rate, i) =>
      ({x: (i + 0.5) * run.binWidth / unit.size, y: rate}));
}

// Samples are counted when a step ends, so with short bins the raw curve is jagged.
function smoothed(all) {
  const reach = Math.floor(all.length / 50);
  return all.map((point, i) => ({x: point.x, y: mean(all.slice(Math.max(0, i - reach),
      i + reach + 1).map((other) => other.y))}));
}

function throughputSentence(runs) {
  const of = (run) => run.efficiency === null ? '' :
      `, ${percent(run.efficiency)} of the ideal ${figure(run.ideal_samples_per_second)}`;
  const best = largest(runs, (run) => run.samples_per_second || 0);
  const said = `${figure(best.samples_per_second)} samples/s on average${of(best)}.`;
  return runs.length > 1 ? `${best.name} is fastest: ${said}` : said;
}

const kThroughput = {
  id: 'throughput', title: 'Throughput', wide: true,
  draw({runs}) {
    const measured = runs.filter((run) => run.throughput.some((rate) => rate > 0));
    if (measured.length === 0) {
      return {absent: runs.some((run) => run.state === 'running') ? 'No samples yet.' : ''};
    }
    const at = overAxis(runs, 'time');
    const single = runs.length === 1;
    const datasets = measured.map((run) => line(single ? 'throughput' : run.name,
        smoothed(throughputPoints(run, at)), seriesLook(run.id)));
    if (single) {
      const bare = throughputPoints(runs[0], at);
      if (bare.length >= 50) {
        datasets.push({...line('raw', bare, {borderColor: colours['band-deep']}),
                       borderWidth: 1});
      }
    }
    for (const set of datasets) {
      set.pointRadius = set.data.length < 3 ? 3 : 0;
    }
    const ideals = new Set(measured.map((run) => run.ideal_samples_per_second).filter(known));
    if (ideals.size === 1) {
      const [ideal] = ideals;
      datasets.push(level(`ideal ${figure(ideal)}`, ideal, at.max));
    }
    return {
      sentence: throughputSentence(measured),
      config: lineConfig(datasets, at, 'samples per second', {beginAtZero: true}),
      table: () => ({
        caption: 'Samples per second of the whole cluster',
        columns: [...(single ? [] : [{name: 'Run', text: true}]), {name: 'From (s)'},
                  {name: 'Samples/s'}, {name: 'Of the ideal'}],
        rows: measured.flatMap((run) => run.throughput.map((rate, i) => [
          ...(single ? [] : [run.name]), number(i * run.binWidth, 2), number(rate),
          percent(rate / run.ideal_samples_per_second)])),
      }),
    };
  },
};

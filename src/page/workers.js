// What every worker did, sent and was given: bars and lines with one place per worker, for one run.
// With very many workers a place is the mean of a few neighbours (groupsOf).

const kMostBars = 80;
const kMostLines = 10;

function barConfig(labels, datasets, xTitle, yTitle, more = {}) {
  return {type: 'bar', data: {labels, datasets}, options: {
    interaction: {mode: 'index', intersect: false},
    datasets: {bar: {maxBarThickness: 56, categoryPercentage: 0.8, barPercentage: 1}},
    scales: {
      x: axis(xTitle, {type: 'category', stacked: true, grid: {display: false},
                       ticks: {callback(value) { return this.getLabelForValue(value); }}}),
      y: axis(yTitle, {stacked: true, beginAtZero: true, ...more.y}),
    },
    plugins: {tooltip: {callbacks: {
      title: (items) => items.length ? more.name(items[0].dataIndex) : '',
      label: more.label,
    }}},
  }};
}

function barLabels(run, groups) {
  return groups.map(({first}) => String(run.workerList[first].rank));
}

function groupMean(run, group, name) {
  return mean(run.workerList.slice(group.first, group.last + 1).map((worker) => worker[name]));
}

function groupNote(groups) {
  const size = groups[0].last - groups[0].first + 1;
  return size > 1 ? ` Each bar is the mean of ${size} workers.` : '';
}

const kWorkerTime = {
  id: 'worker-time', paired: true, title: 'Where the time went',
  draw(run) {
    const groups = groupsOf(run.workerList.length, kMostBars);
    if (!run.workerList.some((worker) => kDoing.some((name) => worker[`${name}_seconds`] > 0))) {
      return {absent: ''};
    }
    const unit = timeUnit(run.seconds || 0);
    const datasets = kDoing.map((name) => ({
      label: kDoingWords[name], area: true, backgroundColor: colours[name],
      data: groups.map((group) => groupMean(run, group, `${name}_seconds`) / unit.size)}));
    const waits = largest(run.workerList, (worker) => worker.wait_seconds);
    const busy = largest(run.workerList, (worker) => worker.compute_seconds);
    return {
      sentence: `Worker ${busy.rank} computes longest, ${duration(busy.compute_seconds)}; worker ` +
          `${waits.rank} waits longest, ${duration(waits.wait_seconds)}.` + groupNote(groups),
      config: barConfig(barLabels(run, groups), datasets, 'worker', unit.name, {
        name: (i) => groupName(run, groups[i]),
        label: (item) => `${item.dataset.label}: ${duration(item.parsed.y * unit.size)}`}),
      legend: datasets,
      table: () => ({
        caption: 'What every worker did',
        columns: [{name: 'Worker'}, {name: 'Compute (s)'}, {name: 'Communicate (s)'},
                  {name: 'Wait (s)'}, {name: 'Samples'}, {name: 'Steps'}, {name: 'Samples/s'},
                  {name: 'Now', text: true}],
        rows: run.workerList.map((worker) => [
          String(worker.rank), ...kDoing.map((name) => number(worker[`${name}_seconds`], 2)),
          number(worker.samples), number(worker.steps), figure(worker.speed), worker.doing]),
      }),
    };
  },
};

const kBytes = {
  id: 'bytes', title: 'Bytes sent',
  draw(run) {
    const sent = run.workerList.map((worker) => worker.bytes_sent);
    if (!sent.some((count) => count > 0)) {
      return {absent: run.workerList.length && run.state !== 'running' ?
          'The workers sent nothing to each other.' : ''};
    }
    const groups = groupsOf(sent.length, kMostBars);
    const [least, most] = [Math.min(...sent), Math.max(...sent)];
    return {
      sentence: `${bytes(run.bytes_sent)} in all; ` + (bytes(least) === bytes(most) ?
          `${bytes(most)} by each worker.` : `${bytes(least)} to ${bytes(most)} by a worker.`) +
          groupNote(groups),
      config: barConfig(barLabels(run, groups), [{
        label: 'sent', backgroundColor: colours.series[0],
        data: groups.map((group) => groupMean(run, group, 'bytes_sent'))}], 'worker', '', {
        y: {ticks: {callback: (value) => bytes(value)}},
        name: (i) => groupName(run, groups[i]),
        label: (item) => bytes(item.parsed.y)}),
      table: () => ({
        caption: 'Bytes that every worker sent', columns: [{name: 'Worker'}, {name: 'Bytes'}],
        rows: run.workerList.map((worker) => [String(worker.rank), number(worker.bytes_sent)]),
      }),
    };
  },
};

const kBehind = {
  id: 'behind', title: 'How far behind',
  draw(run) {
    if (run.behind === null) {
      return {absent: run.state === 'failed' ? '' :
          'All workers take every step together: none is ever behind.'};
    }
    const {what, counts, farthest} = run.behind;
    const all = counts.reduce((sum, count) => sum + count, 0);
    if (!(all > 0)) {
      return {absent: ''};
    }
    const most = counts.reduce((last, count, i) => count > 0 ? i : last, 0);
    // The last bar also counts everything beyond it.
    const labels = counts.slice(0, most + 1).map((_, i) =>
        i === counts.length - 1 && farthest > i ? `${i}+` : String(i));
    return {
      sentence: `${what[0] ? what[0].toUpperCase() + what.slice(1) : 'Steps behind'}: ` +
          `0 in ${percent(counts[0] / all)} of ${number(all)} cases, never more than ${number(Math.max(most, farthest))}.`,
      config: barConfig(labels, [{label: 'times', data: counts.slice(0, most + 1),
          backgroundColor: colours.series[0]}], 'behind', 'times', {
        name: (i) => `${labels[i] ?? i} behind`,
        label: (item) => `${number(item.parsed.y)} times, ${percent(item.parsed.y / all)}`}),
      table: () => ({
        caption: `${what || 'Behind'}: how often`,
        columns: [{name: 'Behind'}, {name: 'Times'}, {name: 'Share'}],
        rows: labels.map((label, i) => [label, number(counts[i]), percent(counts[i] / all)]),
      }),
    };
  },
};

// A share is valid until the next step begins, or its worker is gone: then it is NaN.
function held(run, worker) {
  let last = null;
  return worker.shares.map((share, bin) => {
    const isGone = !isThere(run, worker, bin * run.binWidth, (bin + 1) * run.binWidth);
    last = isGone ? NaN : known(share) ? share : last;
    return last;
  });
}

// One value per bin as points of a stepped line, up to the end of the run. NaN is a gap.
function binSteps(run, values, at) {
  const steps = values.flatMap((value, bin) =>
      known(value) || Number.isNaN(value) ? [{x: bin * run.binWidth / at.size, y: value}] : []);
  return steps.length ? [...steps, {x: at.max, y: steps[steps.length - 1].y}] : [];
}

function shareLine(run, worker, at, look) {
  return {...line(`worker ${worker.rank}`, binSteps(run, held(run, worker), at), look),
          stepped: 'before', pointRadius: 0};
}

// With many workers, single lines hide each other; show their spread instead.
const kSpread = [['minimum', 0], ['10th percentile', 0.1], ['median', 0.5],
                 ['90th percentile', 0.9], ['maximum', 1]];
function shareSpread(run) {
  const rows = run.workerList.map((worker) => held(run, worker));
  return Array.from({length: run.binCount}, (_, bin) => {
    const sorted = rows.map((row) => row[bin]).filter(known).sort((a, b) => a - b);
    return sorted.length === 0 ? null :
        kSpread.map(([, part]) => sorted[Math.round(part * (sorted.length - 1))]);
  });
}

function spreadLines(run, at) {
  const spread = shareSpread(run);
  const of = (i) => binSteps(run, spread.map((row) => row && row[i]), at);
  const base = {stepped: 'before', pointRadius: 0, pointHitRadius: 4, borderWidth: 0};
  const band = (label, i, fill, colour) => ({...base, label, data: of(i), fill, area: true,
      backgroundColor: colour, borderColor: colour});
  const lines = [
    {...base, ...line('median', of(2), seriesLook(0)), pointRadius: 0},
    {...band('', 1, false, 'transparent'), unlisted: true},
    band('middle 80 % of the workers', 3, '-1', colours['band-deep']),
    {...band('', 0, false, 'transparent'), unlisted: true},
    band('all workers', 4, '-1', colours.band),
  ];
  const slow = run.straggler &&
      run.workerList.find((worker) => worker.rank === run.straggler.rank);
  if (slow) {
    lines.unshift(shareLine(run, slow, at, seriesLook(1)));
  }
  return lines;
}

const kShares = {
  id: 'shares', paired: true, title: 'Shares of a step',
  draw(run) {
    const given = run.workerList.filter((worker) => worker.shares.some(known));
    if (given.length === 0) {
      return {absent: ''};
    }
    const at = overAxis([run], 'time');
    const many = run.workerList.length > kMostLines;
    const first = given.map((worker) => worker.shares.find(known));
    const last = given.map((worker) => worker.shares.findLast(known));
    const range = (shares) => Math.min(...shares) === Math.max(...shares) ?
        figure(shares[0]) : `${figure(Math.min(...shares))} to ${figure(Math.max(...shares))}`;
    return {
      sentence: `Samples that a worker computes in a step: ${range(first)} at the beginning, ` +
          `${range(last)} at the end.`,
      config: lineConfig(many ? spreadLines(run, at) : run.workerList.map((worker, i) =>
          shareLine(run, worker, at, seriesLook(i))), at,
          'samples in a step', {beginAtZero: true}),
      table: () => many ? {
        caption: 'Samples in a step, over all workers',
        columns: [{name: 'From (s)'}, ...kSpread.map(([words]) => ({name: spaced(words)}))],
        rows: shareSpread(run).map((row, bin) => [number(bin * run.binWidth, 2),
            ...kSpread.map((_, i) => row ? figure(row[i]) : kNothing)]),
      } : {
        caption: 'Mean samples of the steps that began in each bin',
        columns: [{name: 'From (s)'}, ...run.workerList.map((worker) =>
            ({name: `Worker ${worker.rank}`}))],
        rows: Array.from({length: run.binCount}, (_, bin) => [number(bin * run.binWidth, 2),
            ...run.workerList.map((worker) => figure(worker.shares[bin]))]),
      },
    };
  },
};

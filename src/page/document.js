// A run's document in the form that the page uses: every key is present and has the right type,
// whatever the input. A run that failed early may have little more than a name and a reason.

const kDoing = ['compute', 'communicate', 'wait'];
const kDoingWords = {compute: 'computing', communicate: 'communicating', wait: 'waiting'};

function list(value) {
  return Array.isArray(value) ? value : [];
}

// The value if it is an object, or null.
function object(value) {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : null;
}

function objects(value) {
  return list(value).filter((item) => object(item) !== null);
}

function numbers(value) {
  return list(value).map((item) => numberOr(item, null));
}

function text(value) {
  return value === undefined || value === null ? '' : String(value);
}

function numberOr(value, other) {
  return known(value) ? value : other;
}

function readWorker(worker, rank) {
  const read = {
    rank: numberOr(worker.rank, rank),
    doing: text(worker.doing),
    speed: numberOr(worker.samples_per_second, null),
    shares: numbers(worker.shares),
  };
  for (const name of ['samples', 'steps', 'share', 'bytes_sent']) {
    read[name] = numberOr(worker[name], 0);
  }
  for (const name of kDoing) {
    read[name] = numbers(worker[name]);
    read[`${name}_seconds`] = numberOr(worker[`${name}_seconds`], 0);
  }
  return read;
}

// A stay of a worker or server: `worker` is null for a server.
function readMember(member) {
  const worker = numberOr(member.worker, null);
  return {
    worker,
    name: worker === null ? `server ${text(member.server)}` : `worker ${worker}`,
    joined: numberOr(member.joined, 0),
    left: numberOr(member.left, null),
    why: text(member.why),
  };
}

// Of every worker, by its number.
function staysOf(members) {
  const stays = new Map();
  for (const member of members.filter((each) => each.worker !== null)) {
    if (!stays.has(member.worker)) {
      stays.set(member.worker, []);
    }
    stays.get(member.worker).push(member);
  }
  return stays;
}

function readTerm(term) {
  return {number: numberOr(term.number, 0), seconds: numberOr(term.seconds, 0),
          cause: text(term.cause), reason: text(term.reason)};
}

function readRun(source, id) {
  const given = object(source) || {};
  const bins = object(given.bins) || {};
  const behind = object(given.behind);
  const run = {
    id,
    name: text(given.name) || 'run',
    mode: text(given.mode),
    state: text(given.state) || 'failed',
    why: text(given.why),
    job: text(given.job),
    strategy: object(given.strategy) || {},
    madeBy: object(given.made_by) || {},
    straggler: object(given.straggler),
    method: object(given.method),
    metrics: objects(given.metrics),
    throughput: numbers(given.throughput),
    workerList: objects(given.per_worker).map(readWorker),
    members: objects(given.members).map(readMember),
    membersLeftOut: numberOr(given.members_left_out, 0),
    terms: objects(given.terms).map(readTerm),
    termsLeftOut: numberOr(given.terms_left_out, 0),
    decisions: objects(given.decisions),
    decisionsLeftOut: numberOr(given.decisions_left_out, 0),
    binWidth: numberOr(bins.width, 0),
    behind: behind && {what: text(behind.what), counts: numbers(behind.counts),
        farthest: known(behind.farthest) ? behind.farthest : 0},
  };
  run.stays = staysOf(run.members);
  for (const name of ['seed', 'workers', 'servers', 'batch', 'seconds', 'samples', 'limit',
                      'eta_seconds', 'samples_per_second', 'ideal_samples_per_second',
                      'train_loss', 'target_accuracy', 'time_to_target', 'bytes_sent']) {
    run[name] = numberOr(given[name], null);
  }
  run.binCount = run.workerList.reduce((most, worker) => Math.max(most, worker.compute.length),
      run.throughput.length);
  run.efficiency = run.ideal_samples_per_second > 0 && run.samples_per_second !== null ?
      run.samples_per_second / run.ideal_samples_per_second : null;
  const accuracies = run.metrics.map((metric) => metric.accuracy).filter(known);
  run.accuracy = accuracies.length ? accuracies[accuracies.length - 1] : null;
  run.bestAccuracy = accuracies.length ? Math.max(...accuracies) : null;
  // A run that stopped at its target was successful; other stopped runs do not count.
  run.counts = run.state === 'done' || run.state === 'running' ||
      (run.state === 'stopped' && run.why === 'target');
  return run;
}

// The state as text, with the reason if there is one.
function stateWords(run) {
  if (run.state === 'stopped') {
    return run.why === 'target' ? 'reached its target' :
        run.why ? `stopped by ${run.why}` : 'stopped';
  }
  return run.state === 'failed' && run.why ? `failed: ${run.why}` : run.state;
}

// Divides workers into at most `most` groups of neighbours, as [{first, last}] of indices. A chart
// with many workers shows the mean of each group.
function groupsOf(count, most) {
  const size = Math.max(1, Math.ceil(count / most));
  const groups = [];
  for (let first = 0; first < count; first += size) {
    groups.push({first, last: Math.min(count, first + size) - 1});
  }
  return groups;
}

function groupName(run, group) {
  const {first, last} = group;
  return first === last ? `worker ${run.workerList[first].rank}` :
      `workers ${run.workerList[first].rank} to ${run.workerList[last].rank}`;
}

function sumOf(run, name) {
  return run.workerList.reduce((sum, worker) => sum + worker[name], 0);
}

// The shares of the time of all given workers: {compute: 0.8, communicate: 0.1, wait: 0.1}.
function partsOf(workers) {
  const seconds = kDoing.map((name) =>
      workers.reduce((sum, worker) => sum + worker[`${name}_seconds`], 0));
  const all = seconds.reduce((sum, value) => sum + value, 0);
  return Object.fromEntries(kDoing.map((name, i) => [name, all > 0 ? seconds[i] / all : 0]));
}

function largest(items, value) {
  return items.reduce((best, item) => best === null || value(item) > value(best) ? item : best,
      null);
}

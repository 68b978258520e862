// Who took part in a run, and its terms: marks on the timeline, and tables.

// In the order in which they matter, if several fall on one pixel.
const kCauses = {
  loss: {label: 'a loss', colour: 'bad'},
  connection: {label: 'a connection broke', colour: 'bad'},
  leave: {label: 'a worker leaves', colour: 'warn'},
  newcomer: {label: 'a newcomer', colour: 'good'},
  resumption: {label: 'resumed', colour: 'accent'},
  checkpoint: {label: 'a checkpoint', colour: 'soft'},
  other: {label: 'another reason', colour: 'soft'},
};
const kCauseNames = Object.keys(kCauses);
const kLineRoom = 3;  // pixels between two lines

function causeOf(term) {
  return kCauses[term.cause] ? term.cause : 'other';
}

// The terms that begin in the course of the run. The first one of a real run begins moments after 0.
function laterTerms(run) {
  return run.terms.filter((term) => term.seconds > 0 && term.cause !== 'start');
}

function hasChanges(run) {
  return run.members.some((member) => member.joined > 0 || member.left !== null);
}

// For the legend: the causes of the lines on the timeline.
function termLegend(run) {
  const causes = new Set(laterTerms(run).map(causeOf));
  return kCauseNames.filter((cause) => causes.has(cause)).map((cause) =>
      ({label: `term begins: ${kCauses[cause].label}`,
        borderColor: colours[kCauses[cause].colour]}));
}

// The lines to draw, at most one in a few pixels: {at, cause} in seconds and by importance.
function termLines(run, secondsPerPixel) {
  const lines = new Map();
  for (const term of laterTerms(run)) {
    const place = Math.round(term.seconds / (secondsPerPixel * kLineRoom));
    const cause = causeOf(term);
    const line = lines.get(place);
    if (!line || kCauseNames.indexOf(cause) < kCauseNames.indexOf(line.cause)) {
      lines.set(place, {at: term.seconds, cause});
    }
  }
  return [...lines.values()];
}

function drawTerms(chart, area) {
  const {ctx, cells} = chart;
  for (const {at, cause} of termLines(cells.run, cells.span / area.wide)) {
    ctx.fillStyle = colours[kCauses[cause].colour];
    ctx.fillRect(area.left + at / cells.span * area.wide, area.top, 1, area.high);
  }
}

// Where a worker joins or goes, a bar as high as its row.
function drawStays(chart, area) {
  const {ctx, cells} = chart;
  const high = area.high / cells.groups.length;
  const mark = (row, at, colour) => {
    ctx.fillStyle = colours[colour];
    ctx.fillRect(area.left + at / cells.span * area.wide - 1, area.top + row * high, 3, high);
  };
  cells.groups.forEach(({first, last}, row) => {
    if (first !== last) {
      return;  // a row of several workers
    }
    for (const stay of cells.run.stays.get(cells.workers[first].rank) || []) {
      if (stay.joined > 0) {
        mark(row, stay.joined, 'good');
      }
      if (stay.left !== null) {
        mark(row, stay.left, 'bad');
      }
    }
  });
}

// Whether the worker was there at some time between `from` and `to`, as far as the document says.
function isThere(run, worker, from, to) {
  const stays = run.stays.get(worker.rank);
  return !stays || run.membersLeftOut > 0 ||
      stays.some((stay) => stay.joined < to && (stay.left === null || stay.left > from));
}

// What happened to the members between two times, as sentences to follow others.
function eventWords(run, workers, from, to) {
  const inside = (at) => at !== null && at > 0 && at >= from && at < to;
  const because = (why) => why ? ` (${why})` : '';
  const said = [];
  for (const stay of workers.length === 1 ? run.stays.get(workers[0].rank) || [] : []) {
    if (inside(stay.joined)) {
      said.push(`joins at ${number(stay.joined, 2)} s`);
    }
    if (inside(stay.left)) {
      said.push(`gone from ${number(stay.left, 2)} s on${because(stay.why)}`);
    }
  }
  for (const term of laterTerms(run).filter((each) => inside(each.seconds))) {
    said.push(`term ${term.number} begins at ${number(term.seconds, 2)} s, ` +
        `${kCauses[causeOf(term)].label}${because(term.reason)}`);
  }
  return said.map((words) => `; ${words}`).join('');
}

function changesSentence(run) {
  if (!hasChanges(run)) {
    return '';
  }
  const workers = run.members.filter((member) => member.worker !== null);
  const joined = workers.filter((member) => member.joined > 0).length;
  const gone = workers.filter((member) => member.left !== null).length;
  return ` ${plural(gone, 'time')} a worker was lost or left, ` +
      `${plural(joined, 'time')} one joined.`;
}

const kMembersList = {
  id: 'members', title: 'Members',
  items: (run) => hasChanges(run) ? run.members : [],
  key: (run) => run.members.filter((member) => member.left !== null).length,
  table: (run) => ({
    caption: `${plural(run.members.length, 'stay')} of workers and servers` +
        leftOutWords(run.membersLeftOut),
    columns: [{name: 'Who', text: true}, {name: 'Joined (s)'}, {name: 'Left (s)'},
              {name: 'Why', text: true}],
    rows: run.members.map((member) => [member.name, number(member.joined, 2),
        number(member.left, 2), member.why || (member.joined > 0 ? 'joined' : kNothing)]),
  }),
};

const kTermsList = {
  id: 'terms', title: 'Terms',
  items: (run) => laterTerms(run).length ? run.terms : [],
  key: () => 0,
  table: (run) => ({
    caption: `${plural(run.terms.length, 'term')}: parts of the run in which neither the ` +
        'members nor the method change' + leftOutWords(run.termsLeftOut),
    columns: [{name: 'Term'}, {name: 'From (s)'}, {name: 'Because of', text: true},
              {name: 'Reason', text: true}],
    rows: run.terms.map((term) => [number(term.number), number(term.seconds, 2),
        term.cause || kNothing, term.reason || kNothing]),
  }),
};

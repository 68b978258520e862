// Tables: the figures behind the charts, and those without a chart.
//
// A table is {caption, columns: [{name, text}], rows: [[...]]}. Columns hold right-aligned numbers
// unless they have `text: true`. Cells are strings or elements. A row may have a `look`; a `wide`
// cell extends to the end of the row.

const kFirstRows = 200;

// The visible caption is outside the scrolling box, so a wide table does not scroll it away.
function makeTable({caption, columns, rows}, first = kFirstRows) {
  const body = make('tbody');
  const fill = (from, to) => body.append(...rows.slice(from, to).map((row) =>
      make('tr', {class: row.look || null}, ...row.map((cell, i) => i === 0 ?
          make('th', {scope: 'row', class: columns[0].text ? 'text' : null}, cell) :
          make('td', {class: columns[i].text ? 'text' : null,
                      colspan: row.wide === i ? columns.length - i : null}, cell)))));
  fill(0, first);
  const table = make('table', {},
      make('caption', {class: 'unseen'}, caption),
      make('thead', {}, make('tr', {}, ...columns.map((column) =>
          make('th', {scope: 'col', class: column.text ? 'text' : null}, column.name)))),
      body);
  const box = make('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption},
      table);
  const seen = make('p', {class: 'caption', 'aria-hidden': 'true'}, caption);
  if (rows.length <= first) {
    return make('div', {}, seen, box);
  }
  const more = make('button', {type: 'button', class: 'more', onclick: () => {
    fill(first, rows.length);
    more.remove();
  }}, `Show all ${number(rows.length)}`);
  return make('div', {}, seen, box, more);
}

// The table behind a chart: built when it is opened, and rebuilt while it stays open.
class TableBehind {
  constructor(title) {
    this.place = make('div');
    this.source = null;
    this.element = make('details', {class: 'behind', ontoggle: () => this.fill()},
        make('summary', {}, 'Table', make('span', {class: 'unseen'}, ` of ${title}`)), this.place);
  }

  update(source) {
    this.source = source;
    this.fill();
  }

  fill() {
    if (this.element.open && this.source) {
      this.place.replaceChildren(makeTable(this.source()));
    } else {
      this.place.replaceChildren();
    }
  }
}

function leftOutWords(count) {
  return count > 0 ?
      `; ${number(count)} more between the first and the last of these were not kept` : '';
}

const kDecisionsList = {
  id: 'decisions', title: 'Decisions',
  items: (run) => run.decisions,
  key: () => 0,
  table: (run) => ({
    caption: `${plural(run.decisions.length, 'decision')} in order of time` +
        leftOutWords(run.decisionsLeftOut),
    columns: [{name: 'Seconds'}, {name: 'Who', text: true}, {name: 'Kind', text: true},
              {name: 'What', text: true}, {name: 'Reason', text: true}],
    rows: run.decisions.map((decision) => [
      number(decision.seconds, 2), text(decision.who), text(decision.kind), text(decision.what),
      text(decision.reason)]),
  }),
};

// A long list: the first few, and a button for all of them. A kind of list is {id, title, items(run),
// key(run), table(run)}; it has changed if it has more items, or another key.
class ListCard {
  constructor(kind) {
    this.kind = kind;
    this.place = make('div');
    this.element = make('section', {class: 'card list', id: kind.id}, make('h3', {}, kind.title),
        this.place);
  }

  update(run) {
    const count = this.kind.items(run).length;
    const key = [run.id, count, this.kind.key(run)].join();
    this.element.hidden = count === 0;
    if (count === 0 || this.key === key) {
      return;  // no change: keep what the reader has opened or scrolled to
    }
    this.key = key;
    this.place.replaceChildren(makeTable(this.kind.table(run), 8));
  }
}

// The method's own figures.
class MethodCard {
  constructor() {
    this.place = make('div');
    this.element = make('section', {class: 'card', id: 'method'},
        make('h3', {}, 'Figures from the method'), this.place);
  }

  update(run) {
    const entries = Object.entries(run.method || {});
    this.element.hidden = entries.length === 0;
    const show = (value) => Array.isArray(value) ? value.map(show).join('  ') :
        known(value) ? (Number.isInteger(value) ? number(value) : figure(value)) :
        value === null ? kNothing : text(value);
    this.place.replaceChildren(makeTable({
      caption: `What ${text(run.strategy.sync) || 'the method'} reports about the run`,
      columns: [{name: 'Figure', text: true}, {name: 'Value', text: true}],
      rows: entries.map(([name, value]) => [spaced(name), show(value)])}));
  }
}

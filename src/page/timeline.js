// The timeline: one row per worker, one column per bin. A cell is filled from below with the shares
// of the bin that the worker computed, communicated and waited. Nothing is drawn where it was absent;
// lines show where terms begin (members.js).
//
// Chart.js draws the axes. A plugin draws the cells once onto a separate canvas, which is copied
// whenever the chart is drawn. A row is at least 8 pixels high: with more than 80 workers it is the
// mean of some neighbours. So any number of workers costs about the same to draw.

const kMostRows = 80;

// The worker that waits least is the one the others wait for: it comes first.
function waitOf(worker) {
  return partsOf([worker]).wait;
}

// The workers in the order of rows, by 'rank' or by 'waiting'.
function timelineOrder(run, order) {
  return order === 'rank' ? run.workerList :
      [...run.workerList].sort((a, b) => waitOf(a) - waitOf(b));
}

// The shares of all bins in one array: [row][bin][doing].
function timelineCells(run, order) {
  const workers = timelineOrder(run, order);
  const groups = groupsOf(workers.length, kMostRows);
  const bins = run.binCount;
  const parts = new Float32Array(groups.length * bins * kDoing.length);
  groups.forEach(({first, last}, row) => {
    const each = 1 / (run.binWidth * (last - first + 1));
    for (let i = first; i <= last; ++i) {
      kDoing.forEach((name, doing) => {
        const seconds = workers[i][name];
        for (let bin = 0; bin < bins; ++bin) {
          parts[(row * bins + bin) * kDoing.length + doing] += (seconds[bin] || 0) * each;
        }
      });
    }
  });
  return {run, order, workers, groups, bins, parts, span: bins * run.binWidth};
}

function rowWorkers(cells, row) {
  const {first, last} = cells.groups[row];
  return cells.workers.slice(first, last + 1);
}

function rowName(cells, row) {
  const workers = rowWorkers(cells, row);
  const last = workers[workers.length - 1];
  return workers.length === 1 ? `Worker ${workers[0].rank}` : cells.order === 'rank' ?
      `Workers ${workers[0].rank} to ${last.rank}` :
      `${workers.length} workers that wait ${percent(waitOf(workers[0]))} to ` +
      `${percent(waitOf(last))} of their time`;
}

// The axis label: a rank, or how much a group waits if groups are sorted by that.
function rowLabel(cells, row) {
  const workers = rowWorkers(cells, row);
  return workers.length === 1 || cells.order === 'rank' ? String(workers[0].rank) :
      percent(partsOf(workers).wait);
}

function partsAt(cells, row, bin) {
  const at = (row * cells.bins + bin) * kDoing.length;
  return kDoing.map((_, doing) => cells.parts[at + doing]);
}

// Draws the cells as an image of `width` by `height` pixels.
function drawCells(cells, width, height) {
  const picture = document.createElement('canvas');
  picture.width = width;
  picture.height = height;
  const context = picture.getContext('2d');
  const rows = cells.groups.length;
  const gap = Math.max(1, Math.round(height / rows / 10));
  const columns = Math.min(cells.bins, width);  // more bins than pixels: skip some
  for (let row = 0; row < rows; ++row) {
    const top = Math.round(row * height / rows) + gap;
    const bottom = Math.round((row + 1) * height / rows);
    for (let column = 0; column < columns; ++column) {
      const left = Math.round(column * width / columns);
      const wide = Math.round((column + 1) * width / columns) - left;
      const parts = partsAt(cells, row, Math.floor(column * cells.bins / columns));
      let sum = 0;
      let y = bottom;
      for (let doing = 0; doing < kDoing.length; ++doing) {
        sum += parts[doing];
        const next = bottom - Math.round(Math.min(1, sum) * (bottom - top));
        if (next < y) {
          context.fillStyle = colours[kDoing[doing]];
          context.fillRect(left, next, wide, y - next);
          y = next;
        }
      }
    }
  }
  return picture;
}

const cellsPlugin = {
  id: 'cells',
  beforeDatasetsDraw(chart) {
    const {cells} = chart;
    if (!cells) {
      return;
    }
    const {left, top} = chart.chartArea;
    const ratio = chart.currentDevicePixelRatio;
    const {x, y} = chart.scales;
    const wide = x.getPixelForValue(cells.seconds) - left;
    const high = y.getPixelForValue(cells.groups.length - 0.5) - top;
    const [width, height] = [Math.round(wide * ratio), Math.round(high * ratio)];
    if (width < 1 || height < 1) {
      return;
    }
    if (!cells.picture || cells.picture.width !== width || cells.picture.height !== height) {
      cells.picture = drawCells(cells, width, height);
    }
    chart.ctx.imageSmoothingEnabled = false;
    chart.ctx.drawImage(cells.picture, left, top, wide, high);
    drawTerms(chart, {left, top, wide, high});
    drawStays(chart, {left, top, wide, high});
    if (cells.at) {
      const cell = {wide: wide / cells.bins, high: high / cells.groups.length};
      chart.ctx.strokeStyle = colours.ink;
      chart.ctx.lineWidth = 1.5;
      chart.ctx.strokeRect(left + cells.at.bin * cell.wide, top + cells.at.row * cell.high,
          cell.wide, cell.high);
    }
  },
  afterEvent(chart, {event, inChartArea}) {
    if (!chart.cells || (event.type !== 'mousemove' && event.type !== 'click')) {
      return;
    }
    const {x, y} = chart.scales;
    chart.cells.point(inChartArea ? {
      bin: Math.floor(x.getValueForPixel(event.x) / x.max * chart.cells.bins),
      row: Math.round(y.getValueForPixel(event.y)),
    } : null);
  },
};

// Shows below the chart, as text, the cell at the pointer or selected with the arrow keys.
class TimelineReader {
  constructor(card) {
    this.words = make('output', {class: 'readout', 'aria-live': 'polite'});
    this.order = 'rank';
    this.switch = makeSwitch('Order by', [['rank', 'Rank'], ['waiting', 'Waiting']], 'rank',
        (order) => {
          this.order = order;
          card.update(card.subject);
        });
    card.extra.append(this.words, this.switch);
    card.box.tabIndex = 0;
    card.box.setAttribute('role', 'group');
    card.box.setAttribute('aria-label',
        'Timeline: arrow keys go from worker to worker and through time');
    card.box.addEventListener('keydown', (event) => this.key(event));
    this.card = card;
    this.at = null;
  }

  read(run, cells) {
    this.run = run;
    this.cells = cells;
    this.switch.hidden = run.workerList.length < 3;
    cells.point = (at) => {
      this.point(at);
      this.card.chart.draw();
    };
    this.point(this.at);
  }

  point(at) {
    const {cells, run} = this;
    const inside = at && at.bin >= 0 && at.bin < cells.bins && at.row >= 0 &&
        at.row < cells.groups.length;
    this.at = inside ? at : null;
    cells.at = this.at;
    if (!inside) {
      setText(this.words, 'Point at a cell, or use the arrow keys, to read it.');
    } else {
      const [from, to] = [at.bin * run.binWidth, (at.bin + 1) * run.binWidth];
      const workers = rowWorkers(cells, at.row);
      const said = workers.some((worker) => isThere(run, worker, from, to)) ?
          partsAt(cells, at.row, at.bin).map((part, i) =>
              `${kDoingWords[kDoing[i]]} ${percent(part)}`).join(', ') : 'absent';
      setText(this.words, `${rowName(cells, at.row)}, ${number(from, 2)} to ${number(to, 2)} s: ` +
          said + eventWords(run, workers, from, to));
    }
  }

  key(event) {
    const ways = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
    const by = ways[event.key];
    if (!by || !this.cells) {
      return;
    }
    event.preventDefault();
    const {row, bin} = this.at || {row: -by[0], bin: -by[1]};  // the first key shows the first cell
    const within = (value, count) => Math.max(0, Math.min(count - 1, value));
    this.cells.point({row: within(row + by[0], this.cells.groups.length),
                      bin: within(bin + by[1], this.cells.bins)});
  }
}

function timelineSentence(run, cells) {
  const parts = partsOf(run.workerList);
  const waits = largest(run.workerList, waitOf);
  const size = cells.groups[0].last - cells.groups[0].first + 1;
  return `${plural(run.workerList.length, 'worker')} over ${duration(run.seconds)}: ` +
      `${percent(parts.compute)} computing, ${percent(parts.communicate)} communicating, ` +
      `${percent(parts.wait)} waiting` + (run.workerList.length > 1 ?
          `. Worker ${waits.rank} waits most, ${percent(waitOf(waits))} of its time.` : '.') +
      changesSentence(run) +
      (size > 1 ? ` Each row is the mean of ${size} workers.` : '');
}

// Divides the run into a few equal spans; the table says what each worker did in them.
function timelineTable(run) {
  const spans = groupsOf(run.binCount, 8);
  const moment = (bin) => number(bin * run.binWidth, 1);
  return {
    caption: 'Per cent of the time computing / communicating / waiting',
    columns: [{name: 'Worker'}, ...spans.map(({first, last}) =>
        ({name: `${moment(first)}–${moment(last + 1)} s`}))],
    rows: run.workerList.map((worker) => [String(worker.rank), ...spans.map(({first, last}) => {
      const seconds = kDoing.map((name) => worker[name].slice(first, last + 1)
          .reduce((sum, value) => sum + (value || 0), 0));
      const all = seconds.reduce((sum, value) => sum + value, 0);
      return all <= 0 ? kNothing : seconds.map((value) => number(100 * value / all)).join(' / ');
    })]),
  };
}

const kTimeline = {
  id: 'timeline', title: 'Timeline of the workers', wide: true, plugins: [cellsPlugin],
  draw(run, card) {
    if (run.binCount === 0 || run.binWidth <= 0 || run.workerList.length === 0 ||
        !run.workerList.some((worker) => worker.compute.length)) {
      return {absent: run.state === 'running' ? 'Nothing has been computed yet.' : ''};
    }
    card.reader = card.reader || new TimelineReader(card);
    const cells = timelineCells(run, card.reader.order);
    const unit = timeUnit(run.seconds || 0);
    cells.seconds = run.binCount * run.binWidth / unit.size;
    const rows = cells.groups.length;
    const slow = run.straggler ? cells.groups.findIndex((_, row) =>
        rowWorkers(cells, row).some((worker) => worker.rank === run.straggler.rank)) : -1;
    const yTitle = rows === run.workerList.length ? 'worker' :
        cells.order === 'rank' ? 'worker, from' : 'waiting';
    const rowHeight = Math.max(8, Math.min(30, 640 / rows));
    return {
      sentence: timelineSentence(run, cells),
      height: Math.round(rows * rowHeight) + 48,
      legend: [...kDoing.map((name) =>
          ({label: kDoingWords[name], area: true, backgroundColor: colours[name]})),
          ...termLegend(run)],
      config: {type: 'scatter', data: {datasets: [{label: '', data: []}]}, options: {
        events: ['mousemove', 'mouseout', 'click'],
        scales: {
          x: axis(unit.name, {min: 0, max: cells.seconds, grid: {display: false},
                              ticks: {callback: lastTickFits(cells.seconds)}}),
          y: axis(yTitle, {
            min: -0.5, max: rows - 0.5, reverse: true, grid: {display: false},
            afterBuildTicks: (scale) => {
              scale.ticks = cells.groups.map((_, row) => ({value: row}));
            },
            ticks: {autoSkip: true, autoSkipPadding: 4,
                    callback: (row) => cells.groups[row] ? rowLabel(cells, row) : '',
                    color: ({tick}) => tick && tick.value === slow ? colours.warn : colours.soft},
          }),
        },
      }},
      table: () => timelineTable(run),
      prepare: (chart) => {
        chart.cells = cells;
        card.reader.read(run, cells);
      },
    };
  },
};

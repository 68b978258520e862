// The timeline: one row per worker, one column per bin; a cell is filled from below with what part
// of the bin the worker computed, communicated and waited.
//
// Chart.js makes the axes; the cells are drawn by a plugin, once, onto a canvas of their own that is
// copied whenever the chart is drawn. A row never gets thinner than 5 pixels: with more than 128
// workers it is the mean of some neighbours. So any number of workers costs about the same to draw.

const kMostRows = 128;

// Parts of the bins, row after row: [row][bin][doing] in one array.
function timelineCells(run) {
  const groups = groupsOf(run.workerList.length, kMostRows);
  const bins = run.binCount;
  const parts = new Float32Array(groups.length * bins * kDoing.length);
  groups.forEach(({first, last}, row) => {
    const each = 1 / (run.binWidth * (last - first + 1));
    for (let i = first; i <= last; ++i) {
      kDoing.forEach((name, doing) => {
        const seconds = run.workerList[i][name];
        for (let bin = 0; bin < bins; ++bin) {
          parts[(row * bins + bin) * kDoing.length + doing] += (seconds[bin] || 0) * each;
        }
      });
    }
  });
  return {groups, bins, parts};
}

function partsAt(cells, row, bin) {
  const at = (row * cells.bins + bin) * kDoing.length;
  return kDoing.map((_, doing) => cells.parts[at + doing]);
}

// The cells as a picture of `width` times `height` pixels.
function drawCells(cells, width, height) {
  const picture = document.createElement('canvas');
  picture.width = width;
  picture.height = height;
  const context = picture.getContext('2d');
  const rows = cells.groups.length;
  const gap = height / rows >= 8 ? Math.max(1, Math.round(height / rows / 10)) : 0;
  const columns = Math.min(cells.bins, width);  // more bins than pixels: every so many-th is drawn
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
      bin: Math.floor(x.getValueForPixel(event.x) / x.max * chart.cells.axisBins),
      row: Math.round(y.getValueForPixel(event.y)),
    } : null);
  },
};

// What the pointer or the arrow keys are at, in words below the chart.
class TimelineReader {
  constructor(card) {
    this.words = make('output', {class: 'readout', 'aria-live': 'polite'});
    card.extra.append(this.words);
    card.box.tabIndex = 0;
    card.box.setAttribute('role', 'group');
    card.box.setAttribute('aria-label', 'Timeline: arrow keys go from worker to worker and in time');
    card.box.addEventListener('keydown', (event) => this.key(event));
    this.card = card;
    this.at = null;
  }

  read(run, cells) {
    this.run = run;
    this.cells = cells;
    cells.point = (at) => this.point(at);
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
      const [from, to] = [at.bin, at.bin + 1].map((bin) => number(bin * run.binWidth, 2));
      const said = partsAt(cells, at.row, at.bin).map((part, i) =>
          `${kDoingWords[kDoing[i]]} ${percent(part)}`);
      const name = groupName(run, cells.groups[at.row]);
      setText(this.words,
          `${name[0].toUpperCase()}${name.slice(1)}, ${from} to ${to} s: ${said.join(', ')}`);
    }
    if (this.card.chart) {
      this.card.chart.draw();
    }
  }

  key(event) {
    const by = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
    if (!by || !this.cells) {
      return;
    }
    event.preventDefault();
    const {row, bin} = this.at || {row: 0, bin: 0};
    const within = (value, count) => Math.max(0, Math.min(count - 1, value));
    this.point({row: within(row + by[0], this.cells.groups.length),
                bin: within(bin + by[1], this.cells.bins)});
  }
}

function timelineSentence(run, cells) {
  const parts = partsOf(run.workerList);
  const waits = largest(run.workerList, (worker) => partsOf([worker]).wait);
  const size = cells.groups[0].last - cells.groups[0].first + 1;
  return `${plural(run.workerList.length, 'worker')} over ${duration(run.seconds)}: ` +
      `${percent(parts.compute)} computing, ${percent(parts.communicate)} communicating, ` +
      `${percent(parts.wait)} waiting` + (run.workerList.length > 1 ?
          `. Worker ${waits.rank} waits most, ${percent(partsOf([waits]).wait)} of its time.` : '.') +
      (size > 1 ? ` Each row is the mean of ${size} workers.` : '');
}

// Some equal spans of the run, in which the table says what a worker did.
function timelineTable(run) {
  const spans = groupsOf(run.binCount, 8);
  return {
    caption: 'Per cent of the time computing / communicating / waiting',
    columns: [{name: 'Worker'}, ...spans.map(({first, last}) =>
        ({name: `${number(first * run.binWidth, 1)}–${number((last + 1) * run.binWidth, 1)} s`}))],
    rows: run.workerList.map((worker) => [String(worker.rank), ...spans.map(({first, last}) => {
      const seconds = kDoing.map((name) => worker[name].slice(first, last + 1)
          .reduce((sum, value) => sum + (value || 0), 0));
      const all = seconds.reduce((sum, value) => sum + value, 0);
      return all > 0 ? seconds.map((value) => number(100 * value / all)).join(' / ') : kNothing;
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
    const cells = timelineCells(run);
    const unit = timeUnit(run.seconds || 0);
    cells.seconds = run.binCount * run.binWidth / unit.size;
    cells.axisBins = run.binCount;
    const rows = cells.groups.length;
    const slow = run.straggler ? cells.groups.findIndex(({first, last}) =>
        run.workerList[first].rank <= run.straggler.rank &&
        run.straggler.rank <= run.workerList[last].rank) : -1;
    const rowHeight = Math.max(5, Math.min(30, 640 / rows));
    card.reader = card.reader || new TimelineReader(card);
    return {
      sentence: timelineSentence(run, cells),
      height: Math.round(rows * rowHeight) + 48,
      legend: kDoing.map((name) =>
          ({label: kDoingWords[name], area: true, backgroundColor: colours[name]})),
      config: {type: 'scatter', data: {datasets: [{label: '', data: []}]}, options: {
        events: ['mousemove', 'mouseout', 'click'],
        scales: {
          x: axis(unit.name, {min: 0, max: cells.seconds, grid: {display: false},
                              ticks: {callback: lastTickFits(cells.seconds)}}),
          y: axis(rows < run.workerList.length ? 'worker, from' : 'worker', {
            min: -0.5, max: rows - 0.5, reverse: true, grid: {display: false},
            afterBuildTicks: (scale) => {
              scale.ticks = cells.groups.map((_, row) => ({value: row}));
            },
            ticks: {autoSkip: true, autoSkipPadding: 4,
                    callback: (row) => cells.groups[row] ?
                        String(run.workerList[cells.groups[row].first].rank) : '',
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

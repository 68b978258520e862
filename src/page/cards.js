// A card: a chart, a sentence about it, its legend and the table behind it.
//
// A kind of chart is {id, title, draw(subject, card)}; `wide` if it takes the whole width, `paired`
// if it is placed left of the next one. draw returns
//   {sentence, config: {type, data, options}, table: () => table, legend, height, prepare}
// or {absent: why} if there is nothing to draw ('' if no reason needs to be shown). It is called
// again for every new document and every change of colours; the chart is kept and gets the new
// data.

// Chart.js merges these with the options of each kind of chart.
function commonOptions(narrow) {
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    normalized: true,
    interaction: {mode: 'nearest', axis: 'x', intersect: false},
    plugins: {
      legend: {display: false},
      tooltip: {
        backgroundColor: colours.ink, titleColor: colours.card, bodyColor: colours.card,
        footerColor: colours.card, padding: 8, boxPadding: 4, cornerRadius: 4, boxWidth: 8,
        boxHeight: 8, usePointStyle: false, bodyFont: {size: 12},
      },
    },
    layout: {padding: {top: 4, right: narrow ? 4 : 8}},
  };
}

function axis(title, more = {}) {
  const {ticks, grid, ...rest} = more;
  return {
    type: 'linear',
    title: {display: title !== '', text: title, color: colours.soft, font: {size: 11}},
    grid: {color: colours.line, borderColor: colours.line, tickColor: 'transparent', tickLength: 4,
           ...grid},
    ticks: {color: colours.soft, maxRotation: 0, autoSkipPadding: 12,
            callback: (value) => compactTick(value), ...ticks},
    ...rest,
  };
}

function compactTick(value) {
  return Math.abs(value) >= 10000 ? compact(value) :
      String(Number(Number(value).toPrecision(6)));
}

class ChartCard {
  constructor(kind) {
    this.kind = kind;
    this.chart = null;
    this.hiddenLabels = new Set();
    this.canvas = make('canvas', {role: 'img'});
    this.box = make('div', {class: 'canvas'}, this.canvas);
    this.sentence = make('p', {class: 'say'});
    this.legend = make('ul', {class: 'legend'});
    this.extra = make('div', {class: 'extra'});
    this.table = new TableBehind(kind.title.toLowerCase());
    this.element = make('figure', {id: kind.id, class: ['card', kind.wide ? 'wide' : '',
        kind.paired ? 'paired' : ''].join(' ')},
        make('figcaption', {}, make('h3', {}, kind.title), this.sentence),
        this.legend, this.box, this.extra, this.table.element);
  }

  update(subject) {
    this.subject = subject;
    const drawn = this.kind.draw(subject, this);
    const absent = drawn.absent !== undefined;
    this.element.hidden = absent && drawn.absent === '';
    for (const part of [this.box, this.legend, this.extra, this.table.element]) {
      part.hidden = absent;
    }
    setText(this.sentence, absent ? drawn.absent : drawn.sentence);
    this.element.classList.toggle('absent', absent);
    if (absent) {
      this.end();
      return;
    }
    this.canvas.setAttribute('aria-label', `${this.kind.title}. ${drawn.sentence}`);
    this.box.style.height = drawn.height ? `${drawn.height}px` : '';
    this.showLegend(drawn);
    this.table.update(drawn.table);
    this.show(drawn);
  }

  show(drawn) {
    const {type, data, options = {}} = drawn.config;
    const common = commonOptions(this.box.clientWidth < 500);
    const all = {...common, ...options, plugins: {
      ...common.plugins, ...options.plugins,
      tooltip: {...common.plugins.tooltip, ...(options.plugins || {}).tooltip}}};
    for (const dataset of data.datasets) {
      dataset.hidden = this.hiddenLabels.has(dataset.label);
    }
    if (this.chart) {
      this.chart.data = data;
      this.chart.options = all;
      if (drawn.prepare) {
        drawn.prepare(this.chart);
      }
      this.chart.update('none');
    } else {
      this.chart = new Chart(this.canvas, {type, data, options: all,
          plugins: this.kind.plugins || []});
      if (drawn.prepare) {
        drawn.prepare(this.chart);
        this.chart.draw();
      }
    }
  }

  // One line needs no legend. Lines can be toggled; `fixed` ones are only explained.
  showLegend(drawn) {
    const items = drawn.legend || drawn.config.data.datasets.filter((set) => !set.unlisted);
    this.legend.hidden = items.length < 2 && !drawn.legend;
    const key = JSON.stringify(items.map((item) =>
        [item.label, item.borderColor, item.backgroundColor, item.borderDash]));
    if (this.legendKey === key) {
      return;  // a focused button keeps the focus
    }
    this.legendKey = key;
    this.legend.replaceChildren(...items.map((item) => make('li', {},
        drawn.legend ? make('span', {class: 'item'}, swatch(item), item.label) :
            this.toggle(item))));
  }

  toggle(dataset) {
    const {label} = dataset;
    const button = make('button', {type: 'button', class: 'item',
        'aria-pressed': String(!this.hiddenLabels.has(label)), onclick: () => {
          const hide = !this.hiddenLabels.has(label);
          this.hiddenLabels[hide ? 'add' : 'delete'](label);
          button.setAttribute('aria-pressed', String(!hide));
          this.update(this.subject);
        }}, swatch(dataset), label);
    return button;
  }

  end() {
    if (this.chart) {
      this.chart.destroy();
      this.chart = null;
    }
  }
}

// Shows the style of the line or area.
function swatch(item) {
  const element = make('i', {class: item.area ? 'area' : 'stroke', 'aria-hidden': 'true'});
  if (item.area) {
    element.style.backgroundColor = item.backgroundColor;
  } else {
    element.style.borderTopColor = item.borderColor;
    element.style.borderTopStyle = (item.borderDash || []).length === 0 ? 'solid' :
        item.borderDash[0] > 4 ? 'dashed' : 'dotted';
  }
  return element;
}

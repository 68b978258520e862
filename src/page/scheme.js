// Light or dark colours: the system's choice or the reader's. All colours are variables of
// page.css; charts read them from there, so both schemes are defined in one place.

const scheme = {
  choice: 'auto',
  listeners: [],
  dark: window.matchMedia('(prefers-color-scheme: dark)'),

  apply() {
    const dark = this.choice === 'dark' || (this.choice === 'auto' && this.dark.matches);
    document.documentElement.dataset.scheme = dark ? 'dark' : 'light';
    colours.read();
    this.listeners.forEach((listener) => listener());
  },

  choose(choice) {
    this.choice = choice;
    try {
      localStorage.setItem('motley-scheme', choice);
    } catch {
      // If storage is disabled, the choice lasts as long as the page.
    }
    this.apply();
  },

  begin(place) {
    try {
      this.choice = localStorage.getItem('motley-scheme') || 'auto';
    } catch {
      this.choice = 'auto';
    }
    const switcher = makeSwitch('Colours', [['auto', 'Auto'], ['light', 'Light'], ['dark', 'Dark']],
        this.choice, (choice) => this.choose(choice));
    place.replaceWith(switcher);
    this.dark.addEventListener('change', () => this.apply());
    // Print in light colours.
    let before = null;
    window.addEventListener('beforeprint', () => {
      before = this.choice;
      this.choice = 'light';
      this.apply();
    });
    window.addEventListener('afterprint', () => {
      this.choice = before;
      this.apply();
    });
    this.apply();
  },
};

// A row of radio buttons.
let switches = 0;
function makeSwitch(label, choices, chosen, choose) {
  const name = `switch-${++switches}`;
  return make('fieldset', {class: 'switch'}, make('legend', {}, label),
      ...choices.map(([value, words]) => make('label', {},
          make('input', {type: 'radio', name, value, checked: value === chosen,
                         onchange: () => choose(value)}),
          make('span', {}, words))));
}

const colours = {
  read() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(`--${name}`).trim();
    for (const name of ['ink', 'soft', 'line', 'card', 'accent', 'compute', 'communicate', 'wait',
                        'good', 'bad', 'warn', 'band', 'band-deep']) {
      this[name] = value(name);
    }
    this.series = Array.from({length: 8}, (_, i) => value(`series-${i + 1}`));
    Chart.defaults.color = this.soft;
    Chart.defaults.borderColor = this.line;
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    Chart.defaults.font.size = 12;
  },
};

// Colours repeat after eight; dashes distinguish lines of the same colour, also for colour-blind
// readers.
const kDashes = [[], [7, 3], [2, 3], [9, 3, 2, 3]];
function seriesLook(index) {
  const count = colours.series.length;
  const dash = kDashes[(Math.floor(index / count) + index) % kDashes.length];
  return {borderColor: colours.series[index % count], borderDash: dash};
}

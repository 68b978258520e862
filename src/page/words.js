'use strict';
// Formats figures as text and makes elements for them. Text of a document becomes text nodes, never
// markup: make() cannot do anything else.

// make('p', {class: 'note'}, 'text', element, ...). Attributes that are null are left out.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) {
      element.addEventListener(name.slice(2), value);
    } else if (value !== null && value !== false) {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

function setText(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

const kNothing = '–';

function known(value) {
  return typeof value === 'number' && Number.isFinite(value);
}

const formats = new Map();
function number(value, digits = 0, least = digits) {
  if (!known(value)) {
    return kNothing;
  }
  const key = `${digits} ${least}`;
  if (!formats.has(key)) {
    formats.set(key, new Intl.NumberFormat('en-US',
        {minimumFractionDigits: least, maximumFractionDigits: digits}));
  }
  return formats.get(key).format(value);
}

// Three to four significant digits, without trailing zeros: 4,881 and 0.412.
function figure(value) {
  const size = Math.abs(value);
  return size >= 1e6 ? compact(value) :
      number(value, size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 4, 0);
}

const compactFormat = new Intl.NumberFormat('en-US',
    {notation: 'compact', maximumSignificantDigits: 3});
function compact(value) {
  return known(value) ? compactFormat.format(value) : kNothing;
}

function percent(part) {
  return known(part) ? `${number(100 * part)} %` : kNothing;
}

// The mean; null if there are no values.
function mean(values) {
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
}

function duration(seconds) {
  if (!known(seconds)) {
    return kNothing;
  }
  if (seconds >= 5400) {
    const minutes = Math.round(seconds / 60);
    return `${number(Math.floor(minutes / 60))} h ${minutes % 60} min`;
  }
  if (seconds >= 300) {
    const whole = Math.round(seconds);
    return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  }
  return `${seconds >= 100 ? number(seconds) : seconds >= 10 || seconds === 0 ?
      number(seconds, 1) : seconds >= 0.1 ? number(seconds, 2) :
      String(Number(seconds.toPrecision(2)))} s`;
}

function bytes(count) {
  if (!known(count)) {
    return kNothing;
  }
  const [unit, size] = [['TB', 1e12], ['GB', 1e9], ['MB', 1e6], ['KB', 1e3], ['B', 1]]
      .find(([, least]) => count >= least) || ['B', 1];
  const value = count / size;
  return `${number(value, unit === 'B' || value >= 100 ? 0 : 1, 0)} ${unit}`;
}

// The unit of a time axis that gives round ticks: seconds, minutes or hours.
function timeUnit(seconds) {
  return seconds >= 3 * 3600 ? {name: 'hours', size: 3600} :
      seconds >= 600 ? {name: 'minutes', size: 60} : {name: 'seconds', size: 1};
}

function plural(count, word) {
  return `${number(count)} ${word}${count === 1 ? '' : 's'}`;
}

// mean_group_size -> mean group size
function spaced(name) {
  return String(name).replaceAll('_', ' ');
}

// The last value of a device and topic: as a card, and as a line of text. A payload is hostile, and is only shown as
// text.

import { h, setAttribute, setText, svg } from './dom.mjs';
import { bytes, count, duration, figure, visible } from './format.mjs';

/** Units of a line of the last hour, whose minutes are its width; a younger value has at least so many minutes. */
const HEIGHT = 20;
const MINUTES = 59;
const LEAST_MINUTES = 10;
/** Members of an object that a card shows; the text of all of it is there for a pointer. */
const MOST_MEMBERS = 4;
/** Characters of a value in one line. */
const LINE_LENGTH = 160;

/** Identifies a value among others. */
export const keyOf = ({ device, topic }) => JSON.stringify([device, topic]);

/** Returns a value as one text. */
export function textOf(t, { payload, base64, size }) {
  if (payload !== undefined) return visible(payload);
  return t(base64 === undefined ? 'values.large' : 'values.binary', { size: bytes(size) });
}

/** Returns the beginning of a value, as one line. */
export function lineOf(t, value) {
  const text = textOf(t, value);
  return text.length > LINE_LENGTH ? `${text.slice(0, LINE_LENGTH)} …` : text;
}

/** Returns the members of an object as [name, value], those of objects in it, too. */
function leavesOf(object, prefix = '', depth = 2) {
  return Object.entries(object).flatMap(([name, value]) => {
    if (value === null || typeof value !== 'object') return [[prefix + name, value]];
    return depth > 1 && !Array.isArray(value) ? leavesOf(value, `${prefix}${name}.`, depth - 1) : [];
  });
}

/** Returns some members of an object as [name, text], numbers first; [] = it is none. */
function membersOf(payload = '') {
  if (!/^\s*\{/.test(payload)) return [];
  try {
    const leaves = leavesOf(JSON.parse(payload));
    const isNumber = ([, value]) => typeof value === 'number';
    const sorted = [...leaves.filter(isNumber), ...leaves.filter((each) => !isNumber(each))];
    return sorted.slice(0, MOST_MEMBERS).map((each) => each.map(visible));
  } catch {
    return [];
  }
}

export class ValueCard {
  #t;
  #topic = h('span', { class: 'topic' });
  #device = h('span', { class: 'device' });
  #reading = h('p', { class: 'reading' });
  #band = svg('path', { class: 'band' });
  #expected = svg('path', { class: 'expected' });
  #line = svg('path');
  #anomalies = svg('path', { class: 'anomalies' });
  #picture;
  #range = h('span', { class: 'unseen' });
  #outlook = h('p', { class: 'about' });
  #about = h('p', { class: 'about' });
  #faster;
  #value = null;
  #read = null;

  /** faster: a part that asks the device to send more often (faster.mjs) */
  constructor(t, faster) {
    this.#t = t;
    this.#faster = faster;
    const frame = { preserveAspectRatio: 'none', 'aria-hidden': 'true' };
    this.#picture = svg('svg', frame, this.#band, this.#expected, this.#line, this.#anomalies);
    this.element = h(
      'li',
      { class: 'value' },
      h('p', { class: 'names' }, this.#topic, this.#device),
      this.#reading,
      this.#picture,
      this.#range,
      this.#outlook,
      this.#about,
      faster.element
    );
  }

  /** engine: id of its node; now: ms since 1970, of the gateway */
  update(value, engine, now) {
    this.#value = value;
    setText(this.#topic, visible(value.topic));
    setAttribute(this.#topic, 'title', visible(value.topic));
    setText(this.#device, visible(value.device));
    this.#showReading(value);
    this.#showLine(value.line ?? [], value.forecast ?? {});
    const outlook = value.forecast ? outlookOf(this.#t, value.forecast) : '';
    setText(this.#outlook, outlook);
    this.#outlook.hidden = outlook === '';
    this.#faster.update(engine, value.device, value.demand);
    this.age(now);
  }

  age(now) {
    const t = this.#t;
    const { ts, class: number, restored } = this.#value;
    const parts = [
      t('tenants.ago', { time: duration(Math.max(0, now - ts)) }),
      t('values.class', { number })
    ];
    if (restored) parts.push(t('values.restored'));
    setText(this.#about, parts.join(' · '));
  }

  /** A new value with the same text is not drawn again, so that a selection in it stays. */
  #showReading(value) {
    const text = textOf(this.#t, value);
    if (text === this.#read) return;
    const isChange = this.#read !== null;
    this.#read = text;
    const members = membersOf(value.payload);
    const rows = members.map(([name, shown]) =>
      h('span', { class: 'member' }, h('span', { class: 'name' }, name), ' ', h('strong', {}, shown))
    );
    this.#reading.replaceChildren(...(rows.length > 0 ? rows : [h('strong', {}, text)]));
    setAttribute(this.#reading, 'data-size', rows.length > 0 || text.length > 14 ? 'long' : null);
    setAttribute(this.#reading, 'title', text);
    if (!isChange) return;
    this.element.classList.remove('fresh');
    // Reading the width makes the animation start again.
    void this.element.offsetWidth;
    this.element.classList.add('fresh');
  }

  #showLine(line, { bands = [], anomalies = [], from: start = 0, stepMs = 1 }) {
    const known = line.filter((each) => Number.isFinite(each));
    const also = [...bands.flat(), ...anomalies.map(({ value }) => value)].filter((each) => each !== null);
    const [lowest, highest] = [Math.min(...known, ...also), Math.max(...known, ...also)];
    const y = (each) =>
      highest === lowest
        ? HEIGHT / 2
        : (HEIGHT - 1.5 - ((each - lowest) / (highest - lowest)) * (HEIGHT - 3)).toFixed(1);
    setAttribute(this.#line, 'd', pathOf(line, y));
    const column = (index) => bands.map((band) => band[index]);
    setAttribute(this.#expected, 'd', pathOf(column(0), y));
    setAttribute(this.#band, 'd', areaOf(column(1), column(2), y));
    const dots = anomalies.map(({ ts, value }) => `M${((ts - start) / stepMs).toFixed(1)} ${y(value)}h0.01`);
    setAttribute(this.#anomalies, 'd', dots.join(''));
    const first = line.findIndex((each) => Number.isFinite(each));
    const from = Math.max(0, Math.min(first, MINUTES - LEAST_MINUTES));
    const to = Math.max(MINUTES, bands.length - 1);
    setAttribute(this.#picture, 'viewBox', `${from} 0 ${to - from} ${HEIGHT}`);
    const [least, most] = [Math.min(...known), Math.max(...known)];
    const told = known.length > 0 ? { least: count(least), most: count(most) } : null;
    setText(this.#range, told ? this.#t('values.hour', told) : '');
  }
}

/** Returns the path of numbers, one a minute, with gaps where there is none. */
function pathOf(numbers, y) {
  let path = '';
  for (const [index, each] of numbers.entries()) {
    if (!Number.isFinite(each)) continue;
    const isNext = index > 0 && Number.isFinite(numbers[index - 1]);
    // A minute alone is a dot.
    path += isNext ? `L${index} ${y(each)}` : `M${index} ${y(each)}h0.01`;
  }
  return path;
}

/** Returns the path around the area between two rows of numbers. */
function areaOf(lows, highs, y) {
  const points = [...highs.entries()].filter(([index, high]) => high !== null && lows[index] !== null);
  if (points.length === 0) return '';
  const above = points.map(([index, high]) => `${index} ${y(high)}`);
  const below = points.map(([index]) => `${index} ${y(lows[index])}`).reverse();
  return `M${[...above, ...below].join('L')}Z`;
}

/** Returns what is expected of a value, whether that is trusted, and why not. */
function outlookOf(t, { expected, low, high, trusted, doubt, anomalies = [], ...seen }) {
  const numbers = { expected: figure(expected), low: figure(low), high: figure(high) };
  const parts = [t(expected === null ? 'values.forecast.none' : 'values.forecast.expected', numbers)];
  const counts = { seasons: seen.seasons, seasonsNeeded: seen.seasonsNeeded };
  const slots = { slots: seen.slots, slotsNeeded: seen.slotsNeeded };
  parts.push(t(trusted ? 'values.forecast.trusted' : `values.forecast.${doubt}`, { ...counts, ...slots }));
  if (anomalies.length > 0) parts.push(t('values.forecast.anomalies', { n: count(anomalies.length) }));
  return parts.join(' · ');
}

// The last value of a device and topic: as a card, and as a line of text. A payload is hostile, and is only shown as
// text.

import { h, setAttribute, setText, svg } from './dom.mjs';
import { bytes, count, duration, visible } from './format.mjs';

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
  #line = svg('path');
  #picture;
  #range = h('span', { class: 'unseen' });
  #about = h('p', { class: 'about' });
  #value = null;
  #read = null;

  constructor(t) {
    this.#t = t;
    this.#picture = svg('svg', { preserveAspectRatio: 'none', 'aria-hidden': 'true' }, this.#line);
    this.element = h(
      'li',
      { class: 'value' },
      h('p', { class: 'names' }, this.#topic, this.#device),
      this.#reading,
      this.#picture,
      this.#range,
      this.#about
    );
  }

  /** now: ms since 1970, of the gateway */
  update(value, now) {
    this.#value = value;
    setText(this.#topic, visible(value.topic));
    setAttribute(this.#topic, 'title', visible(value.topic));
    setText(this.#device, visible(value.device));
    this.#showReading(value);
    this.#showLine(value.line ?? []);
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

  #showLine(line) {
    const known = line.filter((each) => Number.isFinite(each));
    const [lowest, highest] = [Math.min(...known), Math.max(...known)];
    const y = (each) =>
      highest === lowest
        ? HEIGHT / 2
        : (HEIGHT - 1.5 - ((each - lowest) / (highest - lowest)) * (HEIGHT - 3)).toFixed(1);
    let path = '';
    for (const [index, each] of line.entries()) {
      if (!Number.isFinite(each)) continue;
      const isNext = index > 0 && Number.isFinite(line[index - 1]);
      // A minute alone is a dot.
      path += isNext ? `L${index} ${y(each)}` : `M${index} ${y(each)}h0.01`;
    }
    setAttribute(this.#line, 'd', path);
    const first = line.findIndex((each) => Number.isFinite(each));
    const from = Math.max(0, Math.min(first, MINUTES - LEAST_MINUTES));
    setAttribute(this.#picture, 'viewBox', `${from} 0 ${MINUTES - from} ${HEIGHT}`);
    const told = known.length > 0 ? { least: count(lowest), most: count(highest) } : null;
    setText(this.#range, told ? this.#t('values.hour', told) : '');
  }
}

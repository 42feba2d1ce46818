'use strict';
// Axes of a plot: map values to pixels, and choose the tick labels.

/**
 * @typedef {object} Scale
 * @property {(value: number) => number} at pixel; NaN if the axis does not have the value
 * @property {{value: number, text: string}[]} ticks
 */

/** Formats a tick: 1,000 · 20k · 3M, rounded so that binary fractions do not show. @param {number} value */
function tickText(value) {
  const size = Math.abs(value);
  for (const [unit, name] of /** @type {const} */ ([
    [1e9, 'G'],
    [1e6, 'M'],
    [1e4, 'k']
  ])) {
    if (size >= unit)
      return `${Number((value / Math.min(unit, name === 'k' ? 1e3 : unit)).toPrecision(6))}${name}`;
  }
  if (size >= 1000) return Number(value.toPrecision(6)).toLocaleString('en-US');
  return String(Number(value.toPrecision(6)));
}

/**
 * Returns the step of 1, 2 or 5 times a power of ten that makes at most `most` ticks.
 * @param {number} span @param {number} most
 */
function niceStep(span, most) {
  const power = 10 ** Math.floor(Math.log10(span / most));
  return power * /** @type {number} */ ([1, 2, 5, 10].find((step) => span / (step * power) <= most));
}

/**
 * @param {number[]} values @param {[number, number]} pixels of the least and the greatest value
 * @param {{zero?: boolean, most?: number}} [options] zero: the axis begins at 0
 * @returns {Scale}
 */
function linearScale(values, pixels, { zero = false, most = 7 } = {}) {
  let [low, high] = range(values);
  if (zero && low > 0) low = 0;
  if (high === low) high = low + (Math.abs(low) || 1);
  const step = niceStep(high - low, most);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
  const at = between(ticks[0], ticks[ticks.length - 1], pixels);
  return { at, ticks: ticks.map((value) => ({ value, text: tickText(value) })) };
}

/**
 * Returns an axis with ticks at powers of ten, or at 1, 2 and 5 times each if there are few. Values must be positive.
 * @param {number[]} values @param {[number, number]} pixels @returns {Scale}
 */
function logScale(values, pixels) {
  const [low, high] = range(values.filter((value) => value > 0));
  const decades = Math.log10(high / low);
  const steps = decades > 3 ? [1] : [1, 2, 5];
  const from = Math.floor(Math.log10(low) + 1e-9);
  const to = Math.ceil(Math.log10(high) - 1e-9);
  const all = Array.from({ length: to - from + 2 }, (_, i) => from + i).flatMap((power) =>
    steps.map((step) => step * 10 ** power)
  );
  const first = all.filter((value) => value <= low * 1.000001).pop() ?? all[0];
  const last = all.find((value) => value >= high / 1.000001 && value > first) ?? all[all.length - 1];
  const ticks = all.filter((value) => value >= first && value <= last);
  const line = between(Math.log10(first), Math.log10(last), pixels);
  const at = (/** @type {number} */ value) => (value > 0 ? line(Math.log10(value)) : NaN);
  return { at, ticks: ticks.map((value) => ({ value, text: tickText(value) })) };
}

/**
 * Returns an axis of fractions from 0 to 1 with a stretched tail: each further nine takes the same length, so p99.9 is
 * as easy to read as p90. The value 1 is placed slightly beyond, because its number of nines is unknown.
 * @param {number} nines number of nines on the axis @param {[number, number]} pixels @returns {Scale}
 */
function tailScale(nines, pixels) {
  const line = between(0, nines + 0.4, pixels);
  const at = (/** @type {number} */ part) =>
    line(part >= 1 ? nines + 0.4 : Math.min(nines, -Math.log10(1 - part)));
  const percent = Array.from({ length: nines }, (_, i) => Number((100 - 100 / 10 ** (i + 1)).toPrecision(8)));
  return { at, ticks: [0, 50, ...percent, 100].map((p) => ({ value: p / 100, text: `${p} %` })) };
}

/** @param {number[]} values @returns {[number, number]} range of the finite values; 1 to 10 if there are none */
function range(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : [1, 10];
}

/** @param {number} low @param {number} high @param {[number, number]} pixels */
function between(low, high, [from, to]) {
  return (/** @type {number} */ value) => from + ((value - low) / (high - low)) * (to - from);
}

module.exports = { linearScale, logScale, tailScale, tickText };

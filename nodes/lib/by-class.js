'use strict';
// Reads settings that have one part for each class 1 to 4, such as 0,0,256,128 or 0,0,7d,1d.

const CLASSES = 4;
const SECONDS = { s: 1, m: 60, h: 3600, d: 86400 };
const MAX_SECONDS = 36500 * SECONDS.d;

/**
 * @param {unknown} value text, or an array of a flow file
 * @param {string} example
 * @param {(part: string) => number} read NaN for what is none
 * @param {string} what
 * @returns {number[]} by class; [0] is unused, zeros when nothing is given
 * @throws {RangeError} whose message completes "<label> …", without the full stop
 */
function byClass(value, example, read, what) {
  const text = String(value ?? '').trim();
  if (text === '') return new Array(CLASSES + 1).fill(0);
  const parts = text.split(',').map((part) => read(part.trim()));
  if (parts.length !== CLASSES || parts.some(Number.isNaN)) {
    throw new RangeError(`must be four ${what}, one for each class, such as ${example}, not "${text}"`);
  }
  return [0, ...parts];
}

/**
 * @param {unknown} value
 * @param {number} max
 * @returns {number[]} by class, 0 = no limit of its own
 */
function numbersByClass(value, max) {
  const read = (/** @type {string} */ part) =>
    /^\d+$/.test(part) && Number(part) <= max ? Number(part) : NaN;
  return byClass(value, '0,0,256,128', read, `whole numbers from 0 to ${max}`);
}

/**
 * @param {unknown} value
 * @returns {number[]} seconds by class, 0 = never
 */
function durationsByClass(value) {
  const read = (/** @type {string} */ part) => {
    const [, digits, unit] = /^(\d+)([smhd])$/.exec(part) ?? (part === '0' ? ['', '0', 's'] : []);
    const seconds = digits ? Number(digits) * SECONDS[/** @type {keyof typeof SECONDS} */ (unit)] : NaN;
    return seconds <= MAX_SECONDS ? seconds : NaN;
  };
  return byClass(value, '0,0,7d,1d', read, 'times of at most 100 years with a unit (s, m, h, d; 0 = never)');
}

module.exports = { numbersByClass, durationsByClass };

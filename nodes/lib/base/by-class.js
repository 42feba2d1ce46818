'use strict';
// Reads settings with one part for each class, beginning with class 1, such as 0,0,256,128 or 0,0,7d,1d. Classes
// missing at the end have 0.

const { CLASSES, zeroByClass } = require('./classes');
const { asText, shown } = require('./values');

const SECONDS = { s: 1, m: 60, h: 3600, d: 86400 };
const MAX_SECONDS = 36500 * SECONDS.d;
const DEFAULT_WEIGHTS = [0, 0, 8, 4, 1, 1, 1, 1, 1];
const MAX_WEIGHT = 1000;
const DEFAULT_PATIENCE = '0,100,1000,10000';
const MAX_PATIENCE_MS = 3600000;

/**
 * @param {unknown} value text, or an array of a flow file
 * @param {string} example
 * @param {(part: string, recordClass: number) => number} read NaN for a part that is not valid
 * @param {string} what
 * @returns {number[]} by class, [0] is unused; zeros for a blank value
 * @throws {RangeError} whose message completes "<label> …", without the period
 */
function byClass(value, example, read, what) {
  const text = (Array.isArray(value) ? value.map(asText).join(',') : asText(value)).trim();
  if (text === '') return zeroByClass();
  const parts = text.split(',').map((part, index) => read(part.trim(), index + 1));
  if (parts.length > CLASSES || parts.some(Number.isNaN)) {
    throw new RangeError(
      `must be one to eight ${what}, starting with class 1, such as ${example}, not "${shown(text)}"`
    );
  }
  return Object.assign(zeroByClass(), [0, ...parts]);
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

/**
 * Class 1 always goes first and has no weight. The list still has a place for it, so that all lists begin with class 1.
 * The default weight is 1.
 * @param {unknown} value
 * @returns {number[]} weights by class
 */
function weightsByClass(value) {
  if (value === undefined || value === null || (typeof value === 'string' && value.trim() === ''))
    return [...DEFAULT_WEIGHTS];
  const read = (/** @type {string} */ part, /** @type {number} */ recordClass) => {
    const weight = /^\d+$/.test(part) ? Number(part) : NaN;
    const fits = recordClass === 1 ? weight === 0 : weight >= 1 && weight <= MAX_WEIGHT;
    return fits ? weight : NaN;
  };
  const what = `weights: 0 for class 1, which goes first, then whole numbers from 1 to ${MAX_WEIGHT}`;
  const weights = byClass(value, '0,8,4,1', read, what);
  return weights.map((weight, c) => (c > 1 && weight === 0 ? 1 : weight));
}

/**
 * Class 1 never waits. The list still has a place for it, so that all lists begin with class 1.
 * @param {unknown} value blank: the default
 * @returns {number[]} ms by class, 0 = does not wait
 */
function patienceByClass(value) {
  const isBlank = value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
  const read = (/** @type {string} */ part, /** @type {number} */ recordClass) => {
    const ms = /^\d+$/.test(part) ? Number(part) : NaN;
    return ms <= (recordClass === 1 ? 0 : MAX_PATIENCE_MS) ? ms : NaN;
  };
  const what = `times in ms: 0 for class 1, which never waits, then whole numbers from 0 to ${MAX_PATIENCE_MS}`;
  return byClass(isBlank ? DEFAULT_PATIENCE : value, DEFAULT_PATIENCE, read, what);
}

module.exports = { DEFAULT_PATIENCE, numbersByClass, durationsByClass, patienceByClass, weightsByClass };

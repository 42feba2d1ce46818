'use strict';
// Settings of a filter node.

const { choice, decimal, integer, recordClass, text } = require('../base/options');
const { shown } = require('../base/values');
const { conditionProblem } = require('./rules');

/** @typedef {import('../../../native/index.js').FilterSettings} FilterSettings */

const MODES = /** @type {const} */ (['pass', 'block', 'change', 'rate', 'range', 'window']);
const UNITS = /** @type {const} */ (['absolute', 'percent']);
const AGGREGATES = /** @type {const} */ (['first', 'last', 'min', 'max', 'mean', 'sum', 'count']);
const MAX_S = 86400;
const MAX_RECORDS = 1000000;
const MAX_VALUES = 16;
/** Text between commas. A comma in quotes belongs to the name of a member. */
const BETWEEN_COMMAS = /(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^,])+/g;

const schema = {
  mode: choice(MODES, 'pass'),
  when: text(''),
  path: text('$'),
  band: decimal(0, 0),
  bandUnit: choice(UNITS, 'absolute'),
  everyS: integer(0, MAX_S, 0),
  records: integer(1, MAX_RECORDS, 1),
  periodS: integer(1, MAX_S, 60),
  low: decimal(-Infinity),
  high: decimal(Infinity),
  values: text(''),
  aggregates: text(''),
  windowS: integer(1, MAX_S, 60),
  windowRecords: integer(0, MAX_RECORDS, 0),
  windowStart: choice(/** @type {const} */ (['record', 'clock']), 'record'),
  windowClass: recordClass(0),
  acknowledge: choice(/** @type {const} */ (['atOnce', 'withWindow']), 'atOnce')
};

/**
 * @typedef {{ [K in keyof typeof schema]: ReturnType<(typeof schema)[K]> }} FilterValues
 */

/**
 * Returns the stage's settings: only those of its mode, so that a change of another one restarts nothing.
 * @param {FilterValues} values
 * @returns {FilterSettings}
 * @throws {RangeError} with a sentence
 */
function parseFilter(values) {
  const { mode, when, path, band, bandUnit, everyS, records, periodS, low, high } = values;
  if (mode === 'window') return parseWindow(values);
  if (mode === 'rate') return { mode, records, periodS };
  if (mode === 'pass' || mode === 'block') {
    if (!when) throw new RangeError('The filter has no condition. Enter one, such as value > 80.');
    const problem = conditionProblem([when]);
    if (problem) throw new RangeError(capitalized(problem.sentence));
    return { mode, when };
  }
  checkPath(path);
  if (mode === 'change') return { mode, path, band, percent: bandUnit === 'percent', everyS };
  if (low > high) throw new RangeError(`The range ends at ${high}, below its start at ${low}.`);
  return { mode, path, low, high };
}

/**
 * @param {FilterValues} values
 * @returns {FilterSettings}
 * @throws {RangeError} with a sentence
 */
function parseWindow({ windowS, windowRecords, windowStart, windowClass, acknowledge, ...lists }) {
  const values = (lists.values.match(BETWEEN_COMMAS) ?? []).map((path) => path.trim());
  if (values.length === 0) throw new RangeError('The window has no values. Enter paths, such as temp, rssi.');
  if (values.length > MAX_VALUES) {
    throw new RangeError(`A window has at most ${MAX_VALUES} values, not ${values.length}.`);
  }
  values.forEach(checkPath);
  const twice = values.find((path, index) => values.indexOf(path) !== index);
  if (twice !== undefined) throw new RangeError(`The window has the value "${shown(twice)}" twice.`);
  return {
    mode: 'window',
    values,
    aggregates: parseAggregates(lists.aggregates),
    windowS,
    windowRecords,
    aligned: windowStart === 'clock',
    windowClass,
    hold: acknowledge === 'withWindow'
  };
}

/**
 * @param {string} names separated by commas or spaces; '' = all
 * @returns {import('../../../native/index.js').Aggregate[]}
 */
function parseAggregates(names) {
  const chosen = names.split(/[\s,]+/).filter(Boolean);
  const unknown = chosen.find((name) => !AGGREGATES.some((known) => known === name));
  if (unknown !== undefined) {
    throw new RangeError(`"${shown(unknown)}" is not an aggregate. Choose from ${AGGREGATES.join(', ')}.`);
  }
  return AGGREGATES.filter((name) => chosen.length === 0 || chosen.includes(name));
}

/** @param {string} path */
function checkPath(path) {
  const reason = require('../../../native/index.js').checkPath(path);
  if (reason) throw new RangeError(`The value "${shown(path)}" is not a path (${reason}).`);
}

/** @param {string} sentence */
function capitalized(sentence) {
  return sentence[0].toUpperCase() + sentence.slice(1);
}

module.exports = { schema, parseFilter };

'use strict';
// Checks the parameters of HTTP requests. Pure. A wrong one is a RangeError with a sentence.

const { shown } = require('../base/values');
const { parsePath } = require('./json-path');

const DAY_MS = 86400000;
const DEFAULT_RANGE_MS = 3600000;
/** The latest time of a Date (ECMA-262, 21.4.1.1). */
const MAX_TIME_MS = 8.64e15;
const MAX_ROWS = 100000;
const DEFAULT_ROWS = 10000;
const MAX_RANGE_MS = 3660 * DAY_MS;
const MAX_TARGETS = 20;
const MAX_TEXT = 512;
/** @type {Record<string, number>} */
const UNITS = { ms: 1, s: 1000, m: 60000, h: 3600000, d: DAY_MS, w: 7 * DAY_MS };
/** A time without an offset. */
const LOCAL = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?$/;
const OPERATORS = /** @type {const} */ (['=', '!=', '<', '<=', '>', '>=']);

/** @typedef {Record<string, unknown>} Query */

/** @param {Query} query @param {readonly string[]} known */
function onlyKnown(query, known) {
  const unknown = Object.keys(query).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new RangeError(
      `There is no parameter "${shown(unknown)}". The parameters are ${known.join(', ')}.`
    );
}

/** @param {Query} query @param {string} name @returns {string} '' = not given */
function textOf(query, name) {
  const value = query[name] ?? '';
  if (typeof value !== 'string' || value.length > MAX_TEXT || value.includes('\0'))
    throw new RangeError(`${name} must be given once, with at most ${MAX_TEXT} characters.`);
  return value;
}

/**
 * @param {Query} query
 * @param {string} name
 * @param {{ min: number, max: number, fallback: number }} limits
 */
function numberOf(query, name, { min, max, fallback }) {
  const text = textOf(query, name);
  if (text === '') return fallback;
  const number = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (!(number >= min && number <= max))
    throw new RangeError(`${name} must be a whole number from ${min} to ${max}, not "${shown(text)}".`);
  return number;
}

/**
 * @param {string} name
 * @param {string} text such as 90s, 5m, 1h; a number without a unit is in ms
 * @returns {number} ms
 */
function durationOf(name, text) {
  const [, digits = '', unit = 'ms'] = /^(\d{1,12})(ms|s|m|h|d|w)?$/.exec(text) ?? [];
  const ms = Number(digits || NaN) * UNITS[unit];
  if (!(ms > 0 && ms <= MAX_RANGE_MS))
    throw new RangeError(`${name} must be a duration such as 90s, 5m, 1h or 7d, not "${shown(text)}".`);
  return ms;
}

/**
 * @param {string} name
 * @param {string} text ms since the epoch, ISO 8601 (UTC without an offset), now, or a time before now such as -1h
 * @param {number} now
 */
function timeOf(name, text, now) {
  if (text === 'now') return now;
  if (text.startsWith('-')) return Math.max(0, now - durationOf(name, text.slice(1)));
  // Date.parse() takes a date for UTC, and a time for that of the gateway's zone.
  const date = LOCAL.test(text) ? `${text.replace(' ', 'T')}Z` : text;
  const time = /^\d{1,16}$/.test(text) ? Number(text) : /^\d{4}-\d\d/.test(text) ? Date.parse(date) : NaN;
  if (time >= 0 && time <= MAX_TIME_MS) return time;
  throw new RangeError(
    `${name} must be a time: milliseconds since 1970, ISO 8601, or one before now such as -1h, not "${shown(text)}".`
  );
}

/** @param {number} from @param {number} to @param {number} step */
function checkRange(from, to, step) {
  if (from >= to) throw new RangeError('from must be before to.');
  if (to - from > MAX_RANGE_MS) throw new RangeError('A range covers at most 3,660 days.');
  if (step < 0) throw new RangeError('step must not be negative.');
}

/** @param {Query} query */
function readRange(query, now = Date.now()) {
  onlyKnown(query, ['device', 'name', 'from', 'to', 'step', 'limit', 'format']);
  const to = timeOf('to', textOf(query, 'to') || 'now', now);
  const given = textOf(query, 'from');
  const from = given ? timeOf('from', given, now) : Math.max(0, to - DEFAULT_RANGE_MS);
  const stepText = textOf(query, 'step');
  const step = stepText && stepText !== '0' ? durationOf('step', stepText) : 0;
  checkRange(from, to, step);
  const device = textOf(query, 'device');
  if (!device) throw new RangeError('device is missing.');
  const format = textOf(query, 'format') || 'ndjson';
  if (format !== 'ndjson' && format !== 'csv')
    throw new RangeError(`format must be ndjson or csv, not "${shown(format)}".`);
  const limit = numberOf(query, 'limit', { min: 1, max: MAX_ROWS, fallback: DEFAULT_ROWS });
  const name = textOf(query, 'name');
  return {
    wanted: [{ device, name }],
    range: { from, to, step, limit },
    format: /** @type {'csv' | 'ndjson'} */ (format)
  };
}

/** @param {Query} query @param {boolean} withValues */
function readPage(query, withValues) {
  onlyKnown(query, ['device', 'name', 'contains', 'after', 'limit']);
  return {
    device: textOf(query, 'device'),
    name: textOf(query, 'name'),
    contains: textOf(query, 'contains'),
    after: numberOf(query, 'after', { min: 0, max: Number.MAX_SAFE_INTEGER, fallback: 0 }),
    limit: numberOf(query, 'limit', { min: 1, max: 10000, fallback: 1000 }),
    withValues
  };
}

/** @param {Query} query @returns {import('./text-search').Question} */
function readQuestion(query) {
  onlyKnown(query, ['q', 'path', 'op', 'value', 'device', 'limit']);
  const words = textOf(query, 'q').trim();
  const path = textOf(query, 'path').trim();
  if (!words && !path) throw new RangeError('q (words) or path (a JSON path) is missing.');
  const given = textOf(query, 'op') || '=';
  const operator = OPERATORS.find((each) => each === given);
  if (!operator) throw new RangeError(`op must be one of ${OPERATORS.join(' ')}, not "${shown(given)}".`);
  const hasValue = query.value !== undefined;
  if (!path && (hasValue || query.op !== undefined)) throw new RangeError('op and value need a path.');
  return {
    words,
    keys: path ? parsePath(path) : null,
    operator,
    value: hasValue ? textOf(query, 'value') : null,
    device: textOf(query, 'device'),
    limit: numberOf(query, 'limit', { min: 1, max: 1000, fallback: 100 })
  };
}

/** @param {any} body of Grafana's /search @returns {string} the text that a target must contain */
function readGrafanaSearch(body) {
  const target = body?.target ?? body?.payload?.target ?? '';
  if (typeof target !== 'string' || target.length > MAX_TEXT)
    throw new RangeError(`target must be text of at most ${MAX_TEXT} characters.`);
  return target;
}

/** @param {any} body of Grafana's /query */
function readGrafanaQuery(body) {
  const { range, intervalMs = 0, maxDataPoints = 1000, targets } = body ?? {};
  const from = Date.parse(range?.from);
  const to = Date.parse(range?.to);
  if (!Number.isFinite(from) || !Number.isFinite(to))
    throw new RangeError('range must have from and to in ISO 8601.');
  if (!Number.isInteger(maxDataPoints) || maxDataPoints < 1)
    throw new RangeError('maxDataPoints must be a whole number from 1.');
  if (!(Number.isFinite(intervalMs) && intervalMs >= 0))
    throw new RangeError('intervalMs must be a number from 0.');
  if (!Array.isArray(targets) || targets.length > MAX_TARGETS)
    throw new RangeError(`targets must be a list of at most ${MAX_TARGETS}.`);
  const wanted = targets.flatMap((each) => {
    // A panel whose target was not chosen yet sends none.
    if (!each?.target || each.hide === true) return [];
    const bar = typeof each.target === 'string' ? each.target.lastIndexOf('|') : -1;
    if (bar < 1) throw new RangeError(`The target "${shown(each.target)}" is not like device|name.`);
    return [{ device: each.target.slice(0, bar), name: each.target.slice(bar + 1) }];
  });
  const points = Math.min(maxDataPoints, 10000);
  const step = Math.ceil(Math.max(intervalMs, (to - from) / points, 1));
  checkRange(from, to, step);
  // The first and the last step may be cut by the range.
  return { wanted, range: { from, to, step, limit: Math.min(MAX_ROWS, (points + 2) * MAX_TARGETS) } };
}

module.exports = { readGrafanaQuery, readGrafanaSearch, readPage, readQuestion, readRange };

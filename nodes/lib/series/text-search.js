'use strict';
// Finds records by words and by a value of their JSON.

const { shown } = require('../base/values');
const { sqlPath } = require('./json-path');

const MAX_WORDS = 10;
/** Letters and digits before a *. One would match a large part of all words, which are merged before the first row. */
const MIN_BEGIN = 2;

/**
 * @typedef {import('./text-store').Text & { value?: unknown }} Found value: of the path
 * @typedef {'=' | '!=' | '<' | '<=' | '>' | '>='} Operator
 * @typedef {{ words: string, keys: import('./json-path').Key[] | null, operator: Operator, value: string | null, device: string,
 *   limit: number }} Question words '' = none; keys null = none; value null = any; device '' = all
 */

/**
 * @param {import('node:sqlite').DatabaseSync} db of series
 * @param {Question} question
 * @param {number} ms after which the search ends with what it has found. It may take longer until the first row
 * @returns {{ records: Found[], isComplete: boolean }} the newest first; isComplete false: the time was not enough
 * @throws {RangeError} with a sentence for a wrong question
 */
function searchText(db, { words, keys, operator, value, device, limit }, ms) {
  const rows = rowsOf(db, words, keys ? sqlPath(keys) : '');
  const end = performance.now() + ms;
  /** @type {Found[]} */
  const records = [];
  for (const row of rows) {
    if (records.length >= limit) break;
    if (performance.now() > end) return { records, isComplete: false };
    if (device && row.device !== device) continue;
    const its = typeof row.value === 'bigint' ? Number(row.value) : row.value;
    if (keys && !matches(its, operator, value)) continue;
    const found = { device: row.device, topic: row.topic, ts: Number(row.ts), payload: row.payload };
    records.push(/** @type {Found} */ (keys ? { ...found, value: its } : found));
  }
  return { records, isComplete: true };
}

/**
 * REQUIRES: one of both.
 * @param {import('node:sqlite').DatabaseSync} db
 * @param {string} words '' = none
 * @param {string} path of SQLite, '' = none
 */
function rowsOf(db, words, path) {
  const value = path && ', CASE WHEN json_valid(r.payload) THEN json_extract(r.payload, ?) END AS value';
  const from = words
    ? `record_text JOIN record r ON r.id = record_text.rowid
       WHERE record_text MATCH ? ORDER BY record_text.rowid DESC`
    : 'latest JOIN record r ON r.id = latest.record ORDER BY latest.device, latest.topic';
  const match = words ? [matchOf(words)] : [];
  const statement = db.prepare(`SELECT r.device, r.topic, r.ts, r.payload${value} FROM ${from}`);
  // With it, a value beyond 2^53 is no error.
  statement.setReadBigInts(true);
  return statement.iterate(...(path ? [path] : []), ...match);
}

/**
 * Returns the words as a query of FTS5: all must occur, and one that ends with * is the begin of a word. In quotes,
 * nothing is an operator.
 * @param {string} words
 */
function matchOf(words) {
  const list = [...new Set(words.split(/\s+/).filter(Boolean))];
  if (list.length === 0) throw new RangeError('q has no word.');
  if (list.length > MAX_WORDS) throw new RangeError(`q has at most ${MAX_WORDS} words.`);
  const terms = list.map((word) => {
    const begin = word.replace(/\*+$/, '');
    if (!/[\p{L}\p{N}]/u.test(begin)) throw new RangeError(`q: "${shown(word)}" has no letter and no digit.`);
    if (begin === word) return quoted(begin);
    if (lastToken(begin) < MIN_BEGIN)
      throw new RangeError(
        `q: "${shown(word)}" has less than ${MIN_BEGIN} letters or digits before the *. Add some.`
      );
    return `${quoted(begin)}*`;
  });
  return terms.join(' ');
}

/** @param {string} text */
const quoted = (text) => `"${text.replaceAll('"', '""')}"`;

/** Returns the letters and digits of the last token of FTS5, to which a * belongs. @param {string} text */
function lastToken(text) {
  const tokens = text.match(/[\p{L}\p{M}\p{N}\p{Co}]+/gu) ?? [];
  return [...(tokens.at(-1) ?? '').replace(/\p{M}/gu, '')].length;
}

/**
 * @param {unknown} found
 * @param {Operator} operator
 * @param {string | null} value null = any
 */
function matches(found, operator, value) {
  if (found === null || found === undefined) return false;
  if (value === null) return true;
  // SQLite gives true and false as 1 and 0.
  const wanted = value === 'true' ? '1' : value === 'false' ? '0' : value;
  const isNumber = typeof found === 'number' && wanted.trim() !== '' && Number.isFinite(Number(wanted));
  const [left, right] = isNumber ? [found, Number(wanted)] : [String(found), wanted];
  switch (operator) {
    case '=':
      return left === right;
    case '!=':
      return left !== right;
    case '<':
      return left < right;
    case '<=':
      return left <= right;
    case '>':
      return left > right;
    default:
      return left >= right;
  }
}

module.exports = { matches, searchText };

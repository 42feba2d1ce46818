'use strict';
// Paths to a value in JSON: $.sensors.temp, radio["signal strength"], values[0]. Pure.

const MAX_PARTS = 16;
const MAX_LENGTH = 256;
const PART =
  /\.?([A-Za-z_\u0080-\uffff][\w\u0080-\uffff-]*)|\[(\d{1,9})\]|\["((?:\\.|[^"\\])*)"\]|\['((?:\\.|[^'\\])*)'\]/y;

/**
 * @param {string} path
 * @returns {string[]} the keys from the outside to the inside; an index is a key of digits
 * @throws {RangeError} with a sentence
 */
function parsePath(path) {
  const wrong = (/** @type {string} */ why) =>
    new RangeError(`The path "${path.slice(0, 60)}" ${why}. Write it like $.sensors.temp or values[0].`);
  if (path.length > MAX_LENGTH) throw wrong(`has more than ${MAX_LENGTH} characters`);
  /** @type {string[]} */
  const keys = [];
  let at = path.startsWith('$') ? 1 : 0;
  while (at < path.length) {
    PART.lastIndex = at;
    const found = PART.exec(path);
    // Only the first key may lack its dot.
    const isBare = found?.[1] !== undefined && found[0][0] !== '.';
    if (!found || (isBare && at > 0)) throw wrong(`is wrong at character ${at + 1}`);
    const [, name, index, double, single] = found;
    keys.push(name ?? index ?? (double ?? single).replace(/\\(.)/g, '$1'));
    at = PART.lastIndex;
  }
  if (keys.length > MAX_PARTS) throw wrong(`has more than ${MAX_PARTS} parts`);
  return keys;
}

/**
 * @param {unknown} value
 * @param {string[]} keys
 * @returns {unknown} undefined = there is none
 */
function valueAt(value, keys) {
  let found = value;
  for (const key of keys) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = /** @type {Record<string, unknown>} */ (found)[key];
  }
  return found;
}

/**
 * @param {string[]} keys
 * @returns {string} the path in the form of SQLite's JSON functions
 */
function sqlPath(keys) {
  // SQLite takes a key in quotes literally; it has no escape for a quote.
  if (keys.some((key) => key.includes('"')))
    throw new RangeError('A key of the path must not contain a quote.');
  return '$' + keys.map((key) => (/^\d+$/.test(key) ? `[${key}]` : `."${key}"`)).join('');
}

module.exports = { parsePath, sqlPath, valueAt };

'use strict';
// Paths to a value in JSON: $.sensors.temp, radio["signal strength"], values[0]. Pure.

const MAX_PARTS = 16;
const MAX_LENGTH = 256;
const PART =
  /\.?([A-Za-z_\u0080-\uffff][\w\u0080-\uffff-]*)|\[(\d{1,9})\]|\["((?:\\.|[^"\\])*)"\]|\['((?:\\.|[^'\\])*)'\]/y;

/** @typedef {string | number} Key a number is an index of a list, or a key of digits */

/**
 * @param {string} path
 * @returns {Key[]} from the outside to the inside
 * @throws {RangeError} with a sentence
 */
function parsePath(path) {
  const wrong = (/** @type {string} */ why) =>
    new RangeError(`The path "${path.slice(0, 60)}" ${why}. Write it like $.sensors.temp or values[0].`);
  if (path.length > MAX_LENGTH) throw wrong(`has more than ${MAX_LENGTH} characters`);
  /** @type {Key[]} */
  const keys = [];
  let at = path.startsWith('$') ? 1 : 0;
  while (at < path.length) {
    PART.lastIndex = at;
    const found = PART.exec(path);
    // Only the first key may lack its dot.
    const isBare = found?.[1] !== undefined && found[0][0] !== '.';
    if (!found || (isBare && at > 0)) throw wrong(`is wrong at character ${at + 1}`);
    const [, name, index, double, single] = found;
    if (index !== undefined) keys.push(Number(index));
    else keys.push(name ?? (double ?? single).replace(/\\(.)/g, '$1'));
    at = PART.lastIndex;
  }
  if (keys.length > MAX_PARTS) throw wrong(`has more than ${MAX_PARTS} parts`);
  return keys;
}

/**
 * @param {unknown} value
 * @param {Key[]} keys
 * @returns {unknown} undefined = there is none
 */
function valueAt(value, keys) {
  let found = value;
  for (const key of keys) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = /** @type {Record<Key, unknown>} */ (found)[key];
  }
  return found;
}

/**
 * @param {Key[]} keys
 * @returns {string} the path in the form of SQLite's JSON functions
 */
function sqlPath(keys) {
  // SQLite takes a key in quotes literally; it has no escape for a quote.
  if (keys.some((key) => String(key).includes('"')))
    throw new RangeError('A key of the path must not contain a quote.');
  return '$' + keys.map((key) => (typeof key === 'number' ? `[${key}]` : `."${key}"`)).join('');
}

module.exports = { parsePath, sqlPath, valueAt };

'use strict';
// JSON of devices and clouds: objects without a prototype, so that no key is special, and numbers that keep their
// digits. A number whose text is not the one that JavaScript writes is kept as text (JSON.rawJSON).

const { Refusal } = require('./refusal');

/** Deeper text is refused before a recursion could be too deep. */
const MAX_LEVELS = 64;
const MAX_KEY_BYTES = 1024;
const NUMBER = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

const { rawJSON, isRawJSON } = /** @type {any} */ (JSON);
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @typedef {{ [key: string]: any }} JsonObject without a prototype */

/**
 * @param {Uint8Array} bytes
 * @returns {string}
 * @throws {Refusal}
 */
function toText(bytes) {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Refusal(415, 'The document is not UTF-8.');
  }
}

/**
 * @param {string} text
 * @returns {any}
 * @throws {Refusal}
 */
function parse(text) {
  try {
    return JSON.parse(
      text,
      /** @type {any} */ (
        (
          /** @type {string} */ _key,
          /** @type {any} */ value,
          /** @type {{ source?: string }} */ { source }
        ) => {
          if (typeof value === 'number' && source !== undefined && String(value) !== source)
            return rawJSON(source);
          return isPlain(value) ? Object.assign(Object.create(null), value) : value;
        }
      )
    );
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep(MAX_LEVELS);
    throw new Refusal(400, 'The document is not JSON.');
  }
}

/** @param {any} value @returns {boolean} true for an object that is no array */
function isPlain(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawJSON(value);
}

/** @param {any} value */
const write = (value) => JSON.stringify(value);

/**
 * Checks the keys and the depth of a part of a shadow.
 * @param {any} value
 * @param {number} levels that are left
 * @param {number} maxDepth for the sentence
 * @throws {Refusal}
 */
function checkShape(value, levels, maxDepth) {
  const isList = Array.isArray(value);
  if (!isList && !isPlain(value)) return;
  if (levels === 0) throw tooDeep(maxDepth);
  for (const key of Object.keys(value)) {
    if (!isList && (key === '' || Buffer.byteLength(key) > MAX_KEY_BYTES || /\p{Cc}/u.test(key)))
      throw new Refusal(
        400,
        `A key must have 1 to ${MAX_KEY_BYTES} bytes and no control characters. This one has not: ${write(key.slice(0, 40))}.`
      );
    checkShape(value[key], levels - 1, maxDepth);
  }
}

/** @param {number} max */
function tooDeep(max) {
  return new Refusal(400, `The document has more than ${max} levels.`);
}

/**
 * True if two values mean the same: 21 and 21.0 do, 9007199254740993 and 9007199254740992 do not.
 * @param {any} a
 * @param {any} b
 * @returns {boolean}
 */
function isEqual(a, b) {
  if (isNumber(a) && isNumber(b)) return a === b || canonical(a) === canonical(b);
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((value, i) => isEqual(value, b[i]));
  }
  if (!isPlain(a) || !isPlain(b)) return a === b;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && isEqual(a[key], b[key]));
}

/** @param {any} value */
const isNumber = (value) => typeof value === 'number' || isRawJSON(value);

/** Returns a number as its digits and its exponent. @param {any} value */
function canonical(value) {
  const source = write(value);
  const [, whole, fraction = '', exponent = '0'] = NUMBER.exec(source) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  if (kept === '') return '0';
  // An exponent of any length is exact as a BigInt.
  const scale = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - kept.length);
  return `${source.startsWith('-') ? '-' : ''}${kept}e${scale}`;
}

module.exports = { checkShape, isEqual, isPlain, parse, toText, write };

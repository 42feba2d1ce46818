'use strict';
// Names of CoAP methods and codes (RFC 7252 12.1, RFC 8132).

/** Index: the code. @type {readonly string[]} */
const METHODS = ['', 'GET', 'POST', 'PUT', 'DELETE', 'FETCH', 'PATCH', 'iPATCH'];
const MOST_CLASS = 5;
const MOST_DETAIL = 31;
/** Texts that answerCode() has read: at most 4 classes of 32. @type {Map<string, number>} */
const KNOWN_CODES = new Map();

/** @typedef {'GET' | 'POST' | 'PUT' | 'DELETE' | 'FETCH' | 'PATCH' | 'iPATCH'} Method */

/** @param {number} code 1..7 @returns {Method} */
const methodOf = (code) => /** @type {Method} */ (METHODS[code]);

/**
 * @param {string} method
 * @returns {number}
 * @throws {TypeError}
 */
function methodCode(method) {
  const code = METHODS.indexOf(method);
  if (code < 1) throw new TypeError(`method must be one of ${METHODS.slice(1).join(', ')}`);
  return code;
}

/**
 * @param {number | string} code such as 0x45 or '2.05'
 * @returns {number} such as 0x45
 * @throws {TypeError}
 */
function answerCode(code) {
  if (typeof code === 'number') return code;
  const known = KNOWN_CODES.get(code);
  if (known !== undefined) return known;
  const [, upper, lower] = /^([2-5])\.(\d\d)$/.exec(code) ?? [];
  if (upper === undefined || Number(lower) > MOST_DETAIL) {
    throw new TypeError(`code must be a number or text such as '2.05' with a class of 2 to ${MOST_CLASS}`);
  }
  const number = Number(upper) * 32 + Number(lower);
  KNOWN_CODES.set(code, number);
  return number;
}

/** @param {number} code such as 0x45 @returns {string} such as '2.05' */
const dotted = (code) => `${code >> 5}.${String(code & 31).padStart(2, '0')}`;

module.exports = { methodOf, methodCode, answerCode, dotted };

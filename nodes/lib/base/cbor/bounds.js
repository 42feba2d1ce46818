'use strict';
// Checks the shape of CBOR before a decoder allocates anything for it. A few bytes can claim an array of 2^64 items or
// a nesting of thousands of levels.

const { CborError, Cursor, MAJOR } = require('./cursor');

/**
 * @typedef {object} Limits
 * @property {number} bytes of the whole item
 * @property {number} depth arrays, maps and tags around an item
 * @property {number} items also keys of maps, tags, and the pieces of open strings
 */

/** The limits of decode(). Callers that read network input have lower ones. */
const LIMITS = Object.freeze({ bytes: 64 * 1024 * 1024, depth: 64, items: 2 ** 24 });

/**
 * What a protocol leaves out of CBOR.
 * @typedef {object} Profile
 * @property {boolean} [textKeys] true: keys of maps are text
 * @property {boolean} [noTags] true: there are no tags
 */

/**
 * Returns what is wrong with the bytes, '' if they are one well-formed item within the limits. Does not find keys that
 * a map has twice; decode() does.
 * @param {Uint8Array} bytes
 * @param {Limits} [limits]
 * @param {Profile} [profile]
 * @returns {string} follows "The body "
 */
function problemOf(bytes, limits = LIMITS, profile = {}) {
  const problem = sizeProblemOf(bytes, limits);
  if (problem) return problem;
  try {
    const cursor = new Cursor(bytes, limits.items);
    pass(cursor, 0, limits.depth, profile);
    return cursor.left === 0 ? '' : 'has bytes after its end';
  } catch (error) {
    if (error instanceof CborError) return error.message;
    throw error;
  }
}

/** @param {Uint8Array} bytes @param {Limits} limits @returns {string} '' = none */
function sizeProblemOf({ length }, limits) {
  if (length === 0) return 'is empty';
  return length > limits.bytes ? `has more than ${limits.bytes} bytes` : '';
}

/** Passes one item. @param {Cursor} cursor @param {number} depth @param {number} most @param {Profile} profile */
function pass(cursor, depth, most, profile) {
  cursor.head();
  const { major, isOpen } = cursor;
  if (major === MAJOR.BYTES || major === MAJOR.TEXT) return void cursor.string();
  if (major === MAJOR.SIMPLE && isOpen) throw new CborError(WRONG_BREAK);
  if (major !== MAJOR.ARRAY && major !== MAJOR.MAP && major !== MAJOR.TAG) return undefined;
  if (major === MAJOR.TAG && profile.noTags) throw new CborError('has a tag');
  if (depth >= most) throw tooDeep(most);
  if (major === MAJOR.TAG) return pass(cursor, depth + 1, most, profile);
  // As many as claimed, not count(): the first fault in the order of the bytes is reported.
  const size = isOpen ? Infinity : cursor.argument;
  for (let i = 0; i < size && !(isOpen && cursor.atBreak()); i++) {
    if (major === MAJOR.MAP) passKey(cursor, depth + 1, most, profile);
    pass(cursor, depth + 1, most, profile);
  }
  return undefined;
}

/** @param {Cursor} cursor @param {number} depth @param {number} most @param {Profile} profile */
function passKey(cursor, depth, most, profile) {
  if (profile.textKeys && cursor.left > 0 && cursor.nextMajor !== MAJOR.TEXT)
    throw new CborError('has a map key that is not text');
  pass(cursor, depth, most, profile);
}

const WRONG_BREAK = 'has a break or an open number in a wrong place';

/** @param {number} most levels */
const tooDeep = (most) => new CborError(`is nested deeper than ${most} levels`);

module.exports = { LIMITS, WRONG_BREAK, problemOf, sizeProblemOf, tooDeep };

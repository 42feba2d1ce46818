'use strict';
// The queries for last values, and the rows of the answers.

const MAX_LIMIT = 1000;
const DEFAULT_LIMIT = 100;
const MAX_TEXT = 256;
/** A topic with a value has at most this many bytes. */
const MAX_TOPIC = 1024;
const MAX_AFTER = 4096;
/**
 * The levels in front of the first slashes of /a and //a have no name: their topics are / and //, and what is below
 * them begins with that.
 */
const ONLY_SLASHES = /^\/*$/;

/**
 * @typedef {import('../../../native/index.js').ValueQuery} NativeQuery
 * @typedef {import('../../../native/index.js').DeviceValue} DeviceValue
 * @typedef {import('../../../native/index.js').ValueKey} ValueKey
 * @typedef {{ engine: string, query: NativeQuery & { limit: number }, sinceMs: number | null, details: boolean }} ValueRequest
 *   engine: id, '' = the first; sinceMs: ms since 1970, null = all values; details: what capabilities know, too
 */

/**
 * @param {Record<string, unknown>} given query of the request
 * @returns {ValueRequest}
 * @throws {RangeError} with a sentence
 */
function parseValueQuery(given) {
  const text = (/** @type {string} */ name, /** @type {number} */ max) => textOf(given, name, max);
  const limit = text('limit', 4) || String(DEFAULT_LIMIT);
  if (!/^[1-9]\d*$/.test(limit) || Number(limit) > MAX_LIMIT)
    throw new RangeError(`limit must be a number from 1 to ${MAX_LIMIT}.`);
  const since = text('since', 16);
  if (!/^\d*$/.test(since)) throw new RangeError('since must be a time in ms since 1970.');
  return {
    engine: text('engine', 64),
    query: {
      after: keyOf(text('after', MAX_AFTER)),
      limit: Number(limit),
      device: text('device', MAX_TEXT),
      filter: text('topic', MAX_TOPIC),
      search: text('q', MAX_TEXT)
    },
    sinceMs: since === '' ? null : Number(since),
    details: text('details', 1) === '1'
  };
}

/**
 * @param {Record<string, unknown>} given
 * @returns {{ engine: string, prefix: string }} prefix: with which topics begin, '' or with a slash at its end
 * @throws {RangeError} with a sentence
 */
function parseTopicQuery(given) {
  const topic = textOf(given, 'prefix', MAX_TOPIC);
  const prefix = ONLY_SLASHES.test(topic) ? topic : `${topic}/`;
  return { engine: textOf(given, 'engine', 64), prefix };
}

/**
 * @param {Record<string, unknown>} given
 * @param {string} name
 * @param {number} max characters
 */
function textOf(given, name, max) {
  const value = given[name] ?? '';
  if (typeof value !== 'string' || value.length > max)
    throw new RangeError(`${name} must be a text of at most ${max} characters.`);
  return value;
}

/** @param {string} text `next` of an earlier answer, '' = none @returns {ValueKey | null} */
function keyOf(text) {
  if (text === '') return null;
  try {
    const [device, topic] = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (typeof device === 'string' && typeof topic === 'string') return { device, topic };
  } catch {
    // The next line says what is wrong.
  }
  throw new RangeError('after must be next of an earlier answer.');
}

/** Returns `next` of an answer. @param {ValueKey} key */
const cursorOf = ({ device, topic }) => Buffer.from(JSON.stringify([device, topic])).toString('base64url');

/**
 * @param {DeviceValue} value
 * @returns {object} as docs/use/status-page.md says
 */
function rowOf({ payload, line, restored, ...row }) {
  const bytes = Buffer.isBuffer(payload) ? { base64: payload.toString('base64') } : { payload };
  return {
    ...row,
    ...(payload === null ? { cut: true } : bytes),
    line: line ?? [],
    ...(restored && { restored })
  };
}

module.exports = { ONLY_SLASHES, cursorOf, parseTopicQuery, parseValueQuery, rowOf };

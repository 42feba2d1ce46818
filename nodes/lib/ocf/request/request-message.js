'use strict';
// Reads a message for an ocf request node.

const { asUuid, encode } = require('../cloud/bodies');
const { problemOf } = require('../cloud/cbor-bounds');
const { hrefProblem } = require('../cloud/href');

/** @typedef {import('../cloud/own-requests').OwnQuestion} OwnQuestion */
/** @typedef {'request' | 'observe' | 'stop'} Wish */

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'];
const LIMITS = { payloadBytes: 256 * 1024, query: 32, queryBytes: 255, depth: 16, items: 8192 };

/**
 * @param {any} msg
 * @param {{ timeoutMs: number, observe: boolean }} settings
 * @returns {{ question: OwnQuestion, wish: Wish }}
 * @throws {RangeError} with a sentence
 */
function readMessage(msg, { timeoutMs, observe }) {
  const di = typeof msg.deviceId === 'string' ? asUuid(msg.deviceId) : '';
  if (!di) throw new RangeError('msg.deviceId must be the UUID of a device.');
  const { href } = msg;
  const problem = hrefProblem(href);
  if (problem) throw new RangeError(`msg.href ${problem}.`);
  const method = methodOf(msg.method);
  const takesPayload = method === 'POST' || method === 'PUT';
  const question = {
    di,
    method,
    path: href.slice(1).split('/'),
    query: queryOf(msg.query),
    payload: takesPayload ? payloadOf(msg.payload) : Buffer.alloc(0),
    timeoutMs
  };
  return { question, wish: wishOf(msg.observe, method, observe) };
}

/** @param {unknown} value */
function methodOf(value) {
  if (value === undefined || value === null || value === '') return 'GET';
  const method = typeof value === 'string' ? value.toUpperCase() : '';
  if (!METHODS.includes(method)) throw new RangeError(`msg.method must be one of ${METHODS.join(', ')}.`);
  return method;
}

/** @param {unknown} value @param {string} method @param {boolean} usual @returns {Wish} */
function wishOf(value, method, usual) {
  if (value !== undefined && value !== null && typeof value !== 'boolean') {
    throw new RangeError('msg.observe must be true or false.');
  }
  if (method !== 'GET') {
    if (value === true) throw new RangeError('Only GET can observe.');
    return 'request';
  }
  if (value === false) return 'stop';
  return value || usual ? 'observe' : 'request';
}

/** @param {unknown} query @returns {string[]} */
function queryOf(query) {
  if (query === undefined || query === null || query === '') return [];
  if (typeof query !== 'object' || Array.isArray(query)) {
    throw new RangeError('msg.query must be an object, such as { if: "oic.if.baseline" }.');
  }
  const parts = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value.slice(0, LIMITS.query + 1) : [value]).map((each) => {
      if (!['string', 'number', 'boolean'].includes(typeof each)) {
        throw new RangeError(`msg.query.${name} must be text, a number, true or false, or a list of these.`);
      }
      return `${name}=${each}`;
    })
  );
  if (parts.length > LIMITS.query || parts.some((part) => Buffer.byteLength(part) > LIMITS.queryBytes)) {
    throw new RangeError(`msg.query may have ${LIMITS.query} values of at most ${LIMITS.queryBytes} bytes.`);
  }
  return parts;
}

/** @param {unknown} payload @returns {Buffer} */
function payloadOf(payload) {
  if (payload === undefined || payload === null) return Buffer.alloc(0);
  if (payload instanceof Uint8Array) {
    if (payload.length > LIMITS.payloadBytes) {
      throw new RangeError(`msg.payload has more than ${LIMITS.payloadBytes} bytes.`);
    }
    return Buffer.from(payload);
  }
  if (typeof payload !== 'object') throw new RangeError('msg.payload must be an object or a Buffer.');
  let items = LIMITS.items;
  // Before it is encoded: the object may contain itself.
  const check = (/** @type {unknown} */ value, /** @type {number} */ depth) => {
    if (--items < 0) throw new RangeError(`msg.payload has more than ${LIMITS.items} items.`);
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
    if (depth === 0) throw new RangeError(`msg.payload is nested deeper than ${LIMITS.depth} levels.`);
    for (const each of Object.values(value)) check(each, depth - 1);
  };
  check(payload, LIMITS.depth);
  const bytes = encoded(payload);
  const problem = problemOf(bytes, {
    bytes: LIMITS.payloadBytes,
    depth: LIMITS.depth,
    items: 2 * LIMITS.items
  });
  if (problem) throw new RangeError(`msg.payload as CBOR ${problem}.`);
  return bytes;
}

/** @param {object} payload @returns {Buffer} */
function encoded(payload) {
  try {
    return encode(payload);
  } catch (cause) {
    const { message } = /** @type {Error} */ (cause);
    throw new RangeError(`msg.payload cannot become CBOR. ${message}`, { cause });
  }
}

module.exports = { readMessage, LIMITS };

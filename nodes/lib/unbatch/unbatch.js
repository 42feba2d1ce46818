'use strict';
// Splits an envelope of any format into records, see docs/messages.md. Pure. The envelope is network input, so each
// record is checked, and an invalid one does not affect the others.

const { CLASSES } = require('../base/classes');
const { traceFields, traceOf } = require('../base/trace-context');
const { EnvelopeError, MAX_BYTES } = require('./envelope-error');
const { itemsOf } = require('./items');
const { parseKey } = require('./record-key');

/** Without groups, which overflow the regular expression engine's stack at several MiB. */
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * @typedef {import('./record-key').Key} Key
 *
 * @typedef {object} EnvelopeRecord
 * @property {number} index of the record in the envelope, from 0
 * @property {string} topic
 * @property {string} deviceId
 * @property {number} priority
 * @property {number} ts
 * @property {number} seq
 * @property {unknown} payload parsed JSON, or a Buffer
 * @property {string} [traceparent] trace context (W3C), if the record has one
 * @property {string} [tracestate]
 *
 * @typedef {object} Envelope
 * @property {Key | null} key null if the gateway sends none
 * @property {EnvelopeRecord[]} records
 * @property {'line' | 'record'} noun what is numbered
 * @property {{ line: number, reason: string }[]} faults invalid lines or records, from 1
 * @property {number} count records, with the invalid ones
 */

/**
 * @param {unknown} payload Buffer or text; an object is a parsed envelope of one line, an array a parsed one in JSON
 * @returns {Envelope}
 * @throws {EnvelopeError} with a sentence
 */
function readEnvelope(payload) {
  const { noun, items } = itemsOf(payload);
  return collect(noun, items);
}

/**
 * Checks each record.
 * @param {Envelope['noun']} noun
 * @param {Iterable<import('./items').Item>} items
 * @param {Key | null} [known] key of the envelope, if its first record has none
 * @returns {Envelope}
 */
function collect(noun, items, known = null) {
  /** @type {Envelope} */
  const envelope = { key: known, records: [], noun, faults: [], count: 0 };
  for (const { number, fields, reason } of items) {
    const index = envelope.count++;
    try {
      if (reason !== undefined) throw new TypeError(reason);
      const given = /** @type {Record<string, unknown>} */ (fields);
      if (index === 0) envelope.key ??= parseKey(given?.k);
      envelope.records.push({ index, ...recordOf(given) });
    } catch (error) {
      envelope.faults.push({ line: number, reason: /** @type {Error} */ (error).message });
    }
  }
  return envelope;
}

/**
 * @typedef {object} Opened
 * @property {Key | null} key
 * @property {boolean} historical
 * @property {Envelope | null} envelope null for a single record
 * @property {{ traceparent?: string, tracestate?: string }} trace properties for the message of a single record
 */

/**
 * Parses a message from the cloud's broker, which is an envelope or a single record.
 * @param {Record<string, any>} msg from the core mqtt in node
 * @param {string} historySuffix end of the topics of historical records; '' = none
 * @returns {Opened}
 * @throws {EnvelopeError} with a sentence
 */
function open({ payload, topic, userProperties = {} }, historySuffix) {
  const key = parseKey(first(userProperties['seganet-key']));
  const suffixed = historySuffix !== '' && String(topic ?? '').endsWith(historySuffix);
  const historical = first(userProperties['seganet-history']) === '1' || suffixed;
  if (!key) {
    const envelope = readEnvelope(payload);
    if (envelope.count === 0) throw new EnvelopeError('The envelope is empty.');
    return { key: envelope.key, historical, envelope, trace: {} };
  }
  const envelope = envelopeOf(key, payload);
  const { traceparent, tracestate } = userProperties;
  return { key, historical, envelope, trace: traceFields(traceOf(first(traceparent), first(tracestate))) };
}

/**
 * Tells an envelope from a single record. In MQTT 5 each message has a key, and an envelope has the same key in its
 * first line. A payload with another key, or none, is a record that a device sent.
 * @param {Key} key of the message
 * @param {unknown} payload
 * @returns {Envelope | null}
 */
function envelopeOf({ key }, payload) {
  try {
    const envelope = readEnvelope(payload);
    const damaged = envelope.noun === 'line' && envelope.faults[0]?.line === 1 && envelope.records.length > 0;
    return envelope.key?.key === key || damaged ? envelope : null;
  } catch {
    return null;
  }
}

/** @param {unknown} value of a user property, which may occur several times */
function first(value) {
  return Array.isArray(value) ? value[0] : value;
}

/**
 * @param {Record<string, unknown>} fields of an NDJSON line; `b` may be a Buffer
 * @returns {Omit<EnvelopeRecord, 'index'>}
 */
function recordOf(fields) {
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
    throw new TypeError('is not an object');
  const { d, t, ts, s, c, b, traceparent, tracestate } = fields;
  if (typeof d !== 'string' || d === '') throw new TypeError('has no device (d)');
  if (typeof t !== 'string') throw new TypeError('has no topic (t)');
  if (typeof ts !== 'number' || !Number.isFinite(ts)) throw new TypeError('has no time (ts)');
  if (!isWhole(s, 0, 0xffffffff)) throw new TypeError('has no sequence number (s)');
  if (!isWhole(c, 1, CLASSES)) throw new TypeError(`has no class from 1 to ${CLASSES} (c)`);
  const isJson = Object.hasOwn(fields, 'p');
  if (isJson === Object.hasOwn(fields, 'b')) throw new TypeError('needs a payload: either p or b');
  const payload = isJson ? fields.p : bytesOf(b);
  const trace = traceFields(traceOf(traceparent, tracestate));
  return { topic: t, deviceId: d, priority: Number(c), ts, seq: Number(s), payload, ...trace };
}

/** @param {unknown} b @returns {Buffer} */
function bytesOf(b) {
  if (Buffer.isBuffer(b)) return b;
  if (typeof b !== 'string' || b.length % 4 !== 0 || !BASE64.test(b))
    throw new TypeError('has a payload that is not base64 (b)');
  return Buffer.from(b, 'base64');
}

/**
 * @param {unknown} value
 * @param {number} min
 * @param {number} max
 */
function isWhole(value, min, max) {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

/**
 * @param {Pick<Envelope, 'faults' | 'records' | 'noun'>} envelope with at least one fault
 * @returns {string} a sentence
 */
function faultSentence({ faults, records, noun }) {
  const [{ line, reason }] = faults;
  if (records.length === 0) return `The envelope contains no record: ${noun} ${line} ${reason}.`;
  const all = faults.length > 1 ? ` ${faults.length} ${noun}s are not records.` : '';
  const start = noun === 'line' ? 'Line' : 'Record';
  return `${start} ${line} of the envelope ${reason}.${all} The other ${noun}s were passed on.`;
}

module.exports = { collect, open, readEnvelope, faultSentence, EnvelopeError, MAX_BYTES };

'use strict';
// Splits an envelope of any format into records, see docs/reference/messages.md. Pure. The envelope is network input,
// so each record is checked, and an invalid one does not affect the others.

const { CLASSES } = require('../base/classes');
const { traceFields, traceOf } = require('../base/trace-context');
const { EnvelopeError, MAX_BYTES, MAX_RECORDS } = require('./envelope-error');
const { itemsOf } = require('./items');
const { parseKey } = require('./record-key');

/** Without groups, which overflow the regular expression engine's stack at several MiB. */
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** Behind this many faults, an envelope is not read any further. */
const MAX_FAULTS = 100;

/**
 * @typedef {import('./record-key').Key} Key
 * @typedef {import('./items').Item} Item
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
 * @property {boolean} isCut the rest was not read, because there are too many faults
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
 * @param {Iterable<Item>} items
 * @param {Key | null} [known] key of the envelope, if its first record has none
 * @returns {Envelope}
 * @throws {EnvelopeError} if there are too many records
 */
function collect(noun, items, known = null) {
  /** @type {Envelope} */
  const envelope = { key: known, records: [], noun, faults: [], count: 0, isCut: false };
  for (const { number, fields, reason } of items) {
    if (envelope.faults.length === MAX_FAULTS) {
      envelope.isCut = true;
      break;
    }
    const index = envelope.count++;
    if (index === MAX_RECORDS)
      throw new EnvelopeError(
        `The envelope has more than ${MAX_RECORDS} records; it is refused. Let its sender make smaller ones.`
      );
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
 * @property {string} [publisher] who has published it, if that is not the gateway of the key
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
 * @throws {EnvelopeError} it is an envelope with too many records
 */
function envelopeOf({ key }, payload) {
  const read = begin(payload);
  if (!read) return null;
  const { noun, head } = read;
  const isOurs = keyOf(head)?.key === key;
  // A damaged first line may have lost the key.
  const mayBeDamaged = noun === 'line' && head.number === 1 && !isRecord(head);
  if (!isOurs && !mayBeDamaged) return null;
  const envelope = collect(noun, whole(read));
  return isOurs || envelope.records.length > 0 ? envelope : null;
}

/**
 * Reads no more than necessary.
 * @param {unknown} payload
 * @returns {Key | null} the key in the first record of an envelope
 */
function keyIn(payload) {
  const read = begin(payload);
  return read && keyOf(read.head);
}

/**
 * Reads the first record, or what is in its place.
 * @param {unknown} payload
 * @returns {{ noun: Envelope['noun'], head: Item, rest: Iterator<Item> } | null} null = it is empty, or has no format
 *   of an envelope
 */
function begin(payload) {
  try {
    const { noun, items } = itemsOf(payload);
    const rest = items[Symbol.iterator]();
    const { done, value } = rest.next();
    return done ? null : { noun, head: value, rest };
  } catch {
    return null;
  }
}

/** @param {{ head: Item, rest: Iterator<Item> }} read @returns {Generator<Item>} */
function* whole({ head, rest }) {
  yield head;
  for (let next = rest.next(); !next.done; next = rest.next()) yield next.value;
}

/** @param {Item} item */
function keyOf({ fields }) {
  return parseKey(/** @type {Record<string, unknown> | null | undefined} */ (fields)?.k);
}

/** @param {Item} item */
function isRecord({ fields, reason }) {
  try {
    return reason === undefined && recordOf(/** @type {Record<string, unknown>} */ (fields)) !== null;
  } catch {
    return false;
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
 * @param {Pick<Envelope, 'faults' | 'records' | 'noun'> & { isCut?: boolean }} envelope with at least one fault
 * @returns {string} a sentence
 */
function faultSentence({ faults, records, noun, isCut = false }) {
  const [{ line, reason }] = faults;
  const rest = isCut ? ` The rest was not read, because of ${faults.length} such ${noun}s.` : '';
  if (records.length === 0) return `The envelope contains no record: ${noun} ${line} ${reason}.${rest}`;
  const all = faults.length > 1 && !isCut ? ` ${faults.length} ${noun}s are not records.` : '';
  const start = noun === 'line' ? 'Line' : 'Record';
  return `${start} ${line} of the envelope ${reason}.${all} The other ${noun}s were passed on.${rest}`;
}

module.exports = { collect, keyIn, open, readEnvelope, faultSentence, EnvelopeError, MAX_BYTES };

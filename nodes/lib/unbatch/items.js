'use strict';
// The records of an envelope in any format, as the fields of NDJSON lines. The first byte names the format: no two
// begin alike.

const { types } = require('node:util');
const { EnvelopeError, MAX_BYTES } = require('./envelope-error');
const { textOf } = require('./formats/utf8');
const { cborItems } = require('./formats/cbor-sequence');
const { MAX_PACK, readSenmlCbor, senmlItems } = require('./formats/senml');

const NEWLINE = 0x0a;
const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [0x5b, 0x5d, 0x7b, 0x7d];
/** [RFC 8949 3] Most significant bits of the first byte of a CBOR array or map. */
const CBOR_ARRAY = 0b100;
const CBOR_MAP = 0b101;

/**
 * @typedef {object} Item one record, or why it cannot be read
 * @property {number} number from 1: line, or record of the envelope
 * @property {unknown} [fields] of an NDJSON line; `b` may be a Buffer
 * @property {string} [reason] ends the sentence "Record 2 of the envelope …"
 */

/**
 * @param {unknown} payload Buffer or text; an object is a parsed envelope of one line, an array one in JSON
 * @returns {{ noun: 'line' | 'record', items: Iterable<Item> }}
 * @throws {EnvelopeError} with a sentence
 */
function itemsOf(payload) {
  const bytes = typeof payload === 'string' ? Buffer.from(payload, 'utf8') : payload;
  if (Array.isArray(bytes)) return { noun: 'record', items: arrayItems(bytes) };
  if (!types.isUint8Array(bytes)) {
    if (typeof bytes === 'object' && bytes !== null)
      return { noun: 'line', items: [{ number: 1, fields: bytes }] };
    throw new EnvelopeError(
      'msg.payload is not an envelope: it must be a Buffer or a string with a JSON line for each record, or of another format of the uplink.'
    );
  }
  if (bytes.length > MAX_BYTES) {
    throw new EnvelopeError(`The envelope has ${bytes.length} bytes; at most ${MAX_BYTES} are accepted.`);
  }
  return itemsOfBytes(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
}

/**
 * @param {Buffer} bytes
 * @returns {ReturnType<typeof itemsOf>}
 */
function itemsOfBytes(bytes) {
  if (bytes[0] === BRACKET) {
    // To parse 16 MiB of [{},{},… takes seconds and hundreds of MiB.
    if (hasMoreElements(bytes, MAX_PACK))
      throw new EnvelopeError(`The envelope has more than ${MAX_PACK} elements; it is refused.`);
    return { noun: 'record', items: arrayItems(whole(() => parse(bytes))) };
  }
  if (bytes[0] >> 5 === CBOR_MAP) return { noun: 'record', items: cborItems(bytes) };
  if (bytes[0] >> 5 === CBOR_ARRAY)
    return { noun: 'record', items: senmlItems(whole(() => readSenmlCbor(bytes))) };
  return { noun: 'line', items: lineItems(bytes) };
}

/**
 * @template T
 * @param {() => T} read
 * @returns {T}
 * @throws {EnvelopeError} if no record can be read
 */
function whole(read) {
  try {
    return read();
  } catch (error) {
    throw new EnvelopeError(`The envelope ${/** @type {Error} */ (error).message}.`);
  }
}

/**
 * True if an array in JSON has more elements.
 * @param {Uint8Array} bytes if they are not JSON, the result has no meaning
 * @param {number} most
 */
function hasMoreElements(bytes, most) {
  let count = 1;
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === BRACKET || byte === BRACE) depth++;
    else if (byte === BRACKET_END || byte === BRACE_END) depth--;
    else if (byte === COMMA && depth === 1 && ++count > most) return true;
    else if (byte === QUOTE)
      for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
  }
  return false;
}

/** @param {any[]} array of records, or of SenML records @returns {Generator<Item>} */
function* arrayItems(array) {
  const isSenml = typeof array[0] === 'object' && array[0] !== null && Object.hasOwn(array[0], 'bn');
  if (isSenml) yield* senmlItems(array);
  else for (const [index, fields] of array.entries()) yield { number: index + 1, fields };
}

/** @param {Buffer} bytes @returns {Generator<Item>} */
function* lineItems(bytes) {
  let number = 0;
  for (let at = 0; at < bytes.length;) {
    if (bytes[at] === NEWLINE) {
      at++;
      number++;
      continue;
    }
    const found = bytes.indexOf(NEWLINE, at);
    const end = found < 0 ? bytes.length : found;
    const line = bytes.subarray(at, end);
    at = end + 1;
    number++;
    let fields;
    try {
      fields = parse(line);
    } catch (error) {
      yield { number, reason: /** @type {Error} */ (error).message };
      continue;
    }
    yield { number, fields };
  }
}

/** @param {Uint8Array} json */
function parse(json) {
  const text = textOf(json);
  if (text === null) throw new TypeError('is not UTF-8');
  try {
    return JSON.parse(text);
  } catch {
    throw new TypeError('is not JSON');
  }
}

module.exports = { itemsOf };

'use strict';
// The records of an envelope in any format, as the fields of NDJSON lines. The first byte names the format: no two
// begin alike.

const { types } = require('node:util');
const { EnvelopeError, MAX_BYTES } = require('./envelope-error');
const { JsonReader } = require('./formats/json-reader');
const { textOf } = require('./formats/utf8');
const { cborItems } = require('./formats/cbor-sequence');
const { MAX_PACK, readSenmlCbor, senmlItems } = require('./formats/senml');

const NEWLINE = 0x0a;
const BRACKET = 0x5b;
/** Arrays and objects around the payload of a record. */
const IN_LINE = 1;
const IN_ARRAY = 2;
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
  if (Array.isArray(bytes)) return { noun: 'record', items: arrayItems(bytes, new JsonReader(MAX_BYTES)) };
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
  const json = new JsonReader(bytes.length);
  if (bytes[0] === BRACKET) {
    const limits = { around: IN_ARRAY, maxElements: MAX_PACK };
    return {
      noun: 'record',
      items: arrayItems(
        whole(() => parse(bytes, json, limits)),
        json
      )
    };
  }
  if (bytes[0] >> 5 === CBOR_MAP) return { noun: 'record', items: cborItems(bytes, json) };
  if (bytes[0] >> 5 === CBOR_ARRAY)
    return {
      noun: 'record',
      items: senmlItems(
        whole(() => readSenmlCbor(bytes)),
        json
      )
    };
  return { noun: 'line', items: lineItems(bytes, json) };
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

/** @param {any[]} array of records, or of SenML records @param {JsonReader} json @returns {Generator<Item>} */
function* arrayItems(array, json) {
  const isSenml = typeof array[0] === 'object' && array[0] !== null && Object.hasOwn(array[0], 'bn');
  if (isSenml) yield* senmlItems(array, json);
  else for (const [index, fields] of array.entries()) yield { number: index + 1, fields };
}

/** @param {Buffer} bytes @param {JsonReader} json @returns {Generator<Item>} */
function* lineItems(bytes, json) {
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
      fields = parse(line, json, { around: IN_LINE });
    } catch (error) {
      yield { number, reason: /** @type {Error} */ (error).message };
      continue;
    }
    yield { number, fields };
  }
}

/**
 * @param {Uint8Array} bytes
 * @param {JsonReader} json
 * @param {Parameters<JsonReader['parse']>[1]} limits
 */
function parse(bytes, json, limits) {
  const text = textOf(bytes);
  if (text === null) throw new TypeError('is not UTF-8');
  return json.parse(text, limits);
}

module.exports = { itemsOf };

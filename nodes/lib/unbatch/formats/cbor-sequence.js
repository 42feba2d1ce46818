'use strict';
// An envelope as a CBOR sequence (RFC 8742): one map with integer keys per record, see docs/reference/messages.md.

const { CborReader } = require('./cbor-reader');

/** @typedef {import('../items').Item} Item */
/** @typedef {import('./json-reader').JsonReader} JsonReader */

/** Names of the fields as in NDJSON, by key. `later` and `text` exist only here. */
const FIELDS = ['k', 'd', 't', 'ts', 's', 'c', 'p', 'b', 'text', 'traceparent', 'tracestate', 'later'];
/** A record without them has those of the record before it. */
const INHERITED = /** @type {const} */ (['d', 't', 'c']);

/**
 * Reads the records. A damaged one is the last: the next one's start is unknown.
 * @param {Buffer} bytes
 * @param {JsonReader} json for payloads that are JSON text
 * @returns {Generator<Item>}
 */
function* cborItems(bytes, json) {
  const reader = new CborReader(bytes);
  /** @type {Record<string, unknown>} */
  let last = {};
  for (let number = 1; !reader.atEnd; number++) {
    try {
      last = recordOf(fieldsOf(reader), last, json);
    } catch (error) {
      yield { number, reason: /** @type {Error} */ (error).message };
      return;
    }
    yield { number, fields: last };
  }
}

/** @param {import('./cbor-reader').CborReader} reader @returns {Record<string, unknown>} */
function fieldsOf(reader) {
  /** @type {Record<string, unknown>} */
  const fields = {};
  for (let left = reader.mapSize(); left > 0; left--) {
    const key = reader.key();
    const value = reader.value();
    const name = FIELDS[/** @type {number} */ (key)];
    // A later version may have more keys.
    if (name !== undefined) fields[name] = value;
  }
  return fields;
}

/**
 * @param {Record<string, unknown>} given
 * @param {Record<string, unknown>} last the record before it
 * @param {JsonReader} json
 * @returns {Record<string, unknown>} the fields of an NDJSON line; `b` is a Buffer
 */
function recordOf({ later, text, ...fields }, last, json) {
  for (const name of INHERITED) fields[name] ??= last[name];
  if (later !== undefined) fields.ts = Number(last.ts) + Number(later);
  if (text !== undefined) fields.p = parse(text, json);
  return fields;
}

/** @param {unknown} text @param {JsonReader} json */
function parse(text, json) {
  return json.parse(String(text), { wrong: 'has a payload that is not JSON' });
}

module.exports = { cborItems };

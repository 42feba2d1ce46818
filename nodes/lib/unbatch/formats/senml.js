'use strict';
// An envelope as a SenML pack (RFC 8428) in JSON or CBOR, as native/core/encoding/senml.h describes it.

const { CborReader, setMember } = require('./cbor-reader');
const { textOf } = require('./utf8');

/** @typedef {import('../items').Item} Item */
/** @typedef {import('./json-reader').JsonReader} JsonReader */
/** @typedef {Record<string, any>} Fields */

/** [RFC 8428 12.2] Labels by their numbers in CBOR. @type {Map<number | string, string>} */
const LABELS = new Map([
  [-1, 'bver'],
  [-2, 'bn'],
  [-3, 'bt'],
  [-4, 'bu'],
  [-5, 'bv'],
  [-6, 'bs'],
  [0, 'n'],
  [1, 'u'],
  [2, 'v'],
  [3, 'vs'],
  [4, 'vb'],
  [5, 's'],
  [6, 't'],
  [7, 'ut'],
  [8, 'vd']
]);
const JSON_FORMAT = '50';
/**
 * SenML records of a pack, and elements of an array in JSON. More than members that 1 MiB of JSON can have, which is
 * the largest envelope.
 */
const MAX_PACK = 262144;
const BASE64URL = /^[A-Za-z0-9_-]*$/;

/**
 * @param {Buffer} bytes
 * @returns {Fields[]} the SenML records, with the labels of JSON
 */
function readSenmlCbor(bytes) {
  const reader = new CborReader(bytes);
  const records = [];
  const size = reader.arraySize();
  if (size > MAX_PACK) throw new TypeError(`has more than ${MAX_PACK} SenML records`);
  for (let left = size; left > 0; left--) {
    /** @type {Fields} */
    const record = {};
    for (let members = reader.mapSize(); members > 0; members--) {
      const label = reader.key();
      setMember(record, LABELS.get(label) ?? String(label), reader.value());
    }
    records.push(record);
  }
  if (!reader.atEnd) throw new TypeError('has bytes behind its end');
  return records;
}

/**
 * Joins the SenML records of each record. The first one of a group has a sequence number.
 * @param {unknown[]} pack
 * @param {JsonReader} json for payloads that are JSON text
 * @returns {Generator<Item>}
 */
function* senmlItems(pack, json) {
  /** What the records so far have set. @type {{ name?: unknown, time?: unknown, class?: unknown }} */
  const base = {};
  let number = 0;
  for (let at = 0; at < pack.length;) {
    const first = at++;
    while (at < pack.length && continues(pack[at])) at++;
    number++;
    try {
      yield { number, fields: recordOf(pack.slice(first, at), base, json) };
    } catch (error) {
      yield { number, reason: /** @type {Error} */ (error).message };
    }
  }
}

/** @param {unknown} record @returns {boolean} true if it belongs to the group before it */
function continues(record) {
  return isFields(record) && !Object.hasOwn(record, 'sq');
}

/** @param {unknown} value @returns {value is Fields} */
function isFields(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * @param {unknown[]} group
 * @param {{ name?: unknown, time?: unknown, class?: unknown }} base changed by the group
 * @param {JsonReader} json
 * @returns {Fields} the fields of an NDJSON line; `b` is a Buffer
 */
function recordOf(group, base, json) {
  const [first] = group;
  if (!isFields(first)) throw new TypeError('is not an object');
  if (Object.hasOwn(first, 'bn')) base.name = first.bn;
  if (Object.hasOwn(first, 'bt')) base.time = first.bt;
  if (Object.hasOwn(first, 'cl')) base.class = first.cl;
  const records = /** @type {Fields[]} */ (group);
  // [RFC 8428 4.4] Such a field changes the meaning of the record.
  const strange = records.flatMap((each) => Object.keys(each)).find((label) => label.endsWith('_'));
  if (strange !== undefined) throw new TypeError(`has the field "${strange}", which must be understood`);
  const isObject = Object.hasOwn(first, 'n');
  if (!isObject && records.length > 1) throw new TypeError('has several values without a name');
  const { key: k, sq: s, ms, traceparent, tracestate } = first;
  return {
    ...(k !== undefined && { k }),
    ...addressOf(first, base.name, isObject),
    ts: ms ?? Math.round(Number(base.time) * 1000),
    s,
    c: base.class,
    ...(traceparent !== undefined && { traceparent }),
    ...(tracestate !== undefined && { tracestate }),
    ...(isObject ? { p: objectOf(records) } : payloadOf(first, json))
  };
}

/** @param {Fields} first @param {unknown} name @param {boolean} isObject */
function addressOf({ dev, top }, name, isObject) {
  if (dev !== undefined) return { d: dev, t: top };
  if (typeof name !== 'string') throw new TypeError('has no base name (bn)');
  const slash = name.indexOf('/');
  const isWhole = slash > 0 && (!isObject || (name.endsWith('/') && name.length - 1 > slash));
  if (!isWhole) throw new TypeError('has a base name (bn) that is not device/topic');
  return { d: name.slice(0, slash), t: name.slice(slash + 1, isObject ? -1 : undefined) };
}

/** @param {Fields[]} records */
function objectOf(records) {
  const object = {};
  for (const record of records) {
    if (typeof record.n !== 'string') throw new TypeError('has a value without a name (n)');
    setMember(object, record.n, scalarOf(record));
  }
  return object;
}

/** @param {Fields} record @param {JsonReader} json */
function payloadOf(record, json) {
  if (!Object.hasOwn(record, 'vd')) return { p: scalarOf(record) };
  const { vd, ct } = record;
  const isText = typeof vd === 'string' && BASE64URL.test(vd) && vd.length % 4 !== 1;
  if (!isText && !Buffer.isBuffer(vd)) throw new TypeError('has data that is not base64 (vd)');
  const data = Buffer.isBuffer(vd) ? vd : Buffer.from(vd, 'base64url');
  if (ct === undefined) return { b: data };
  if (ct !== JSON_FORMAT) throw new TypeError(`has data of an unknown content format (ct)`);
  return { p: json.parse(textOf(data) ?? '', { wrong: 'has a payload that is not JSON' }) };
}

/** @param {Fields} record @returns {number | string | boolean} */
function scalarOf({ v, vs, vb, vd }) {
  const given = [v, vs, vb, vd].filter((value) => value !== undefined);
  const isTyped =
    typeof (v ?? 0) === 'number' && typeof (vs ?? '') === 'string' && typeof (vb ?? true) === 'boolean';
  if (given.length !== 1 || !isTyped || vd !== undefined)
    throw new TypeError('needs one value: v, vs, vb or vd');
  return given[0];
}

module.exports = { MAX_PACK, readSenmlCbor, senmlItems };

'use strict';
// Reads payloads of Sparkplug B (Eclipse Sparkplug 3.0, chapter 6) in the encoding of Protocol Buffers. The bytes are
// network input.

/**
 * @typedef {object} Metric
 * @property {string} name '' = none
 * @property {number} alias 0 = none
 * @property {number} timestamp ms since 1970
 * @property {number} datatype 0 = none
 * @property {boolean} isHistorical
 * @property {unknown} value null; a number, of a signed integer if it has 64 bits; a boolean; a string; a Buffer;
 *   undefined for a value of another type, such as a data set
 * @property {Map<string, unknown>} properties strings, numbers and booleans
 *
 * @typedef {object} Payload
 * @property {number} timestamp
 * @property {number} seq -1 = none
 * @property {string} uuid '' = none
 * @property {Metric[]} metrics
 */

const MAX_METRICS = 1000000;
const MAX_PROPERTIES = 1000;

/** Wire types. */
const [VARINT, FIXED64, DELIMITED, FIXED32] = [0, 1, 2, 5];
const LENGTHS = new Map([
  [FIXED64, 8],
  [FIXED32, 4]
]);
const CUT_OFF = 'ends within a field of its payload';

class Reader {
  #bytes;
  #at = 0;
  #low = 0;
  #high = 0;

  /** @param {Buffer} bytes */
  constructor(bytes) {
    this.#bytes = bytes;
    this.field = 0;
    this.wireType = 0;
  }

  /** Reads the next field's number and wire type. @returns {boolean} false: there is no other field */
  next() {
    if (this.#at === this.#bytes.length) return false;
    const tag = this.number();
    this.field = Math.floor(tag / 8);
    this.wireType = tag % 8;
    if (this.field === 0) throw new TypeError('has a field without a number');
    return true;
  }

  /** Reads a varint. @returns {number} the nearest one from 2^53 on */
  number() {
    this.#varint();
    return this.#high * 2 ** 32 + this.#low;
  }

  /** Reads a varint as a signed integer of 64 bits. @returns {number} the nearest one beyond 2^53 */
  signed() {
    this.#varint();
    return (this.#high | 0) * 2 ** 32 + this.#low;
  }

  #varint() {
    this.#low = 0;
    this.#high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.#at === this.#bytes.length) throw new TypeError(CUT_OFF);
      const byte = this.#bytes[this.#at++];
      const bits = byte & 0x7f;
      if (shift < 28) this.#low |= bits << shift;
      else if (shift === 28) {
        this.#low |= bits << 28;
        this.#high = bits >> 4;
      } else if (shift < 63) this.#high |= bits << (shift - 32);
      else this.#high |= (bits & 1) << 31;
      if (byte < 0x80) {
        this.#low >>>= 0;
        this.#high >>>= 0;
        return;
      }
    }
    throw new TypeError('has a number of more than 10 bytes');
  }

  /** @returns {Buffer} the bytes of a delimited field */
  bytes() {
    this.expect(DELIMITED);
    return this.#take(this.number());
  }

  /** @returns {string} */
  text() {
    const bytes = this.bytes();
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch (error) {
      throw new TypeError('has text that is not UTF-8', { cause: error });
    }
  }

  /** @returns {number} */
  double() {
    this.expect(FIXED64);
    return this.#take(8).readDoubleLE();
  }

  /** @returns {number} */
  float() {
    this.expect(FIXED32);
    return this.#take(4).readFloatLE();
  }

  /** @param {number} wireType */
  expect(wireType) {
    if (this.wireType !== wireType)
      throw new TypeError(`has the field ${this.field} with the wire type ${this.wireType}`);
  }

  /** Skips the field's value. */
  skip() {
    if (this.wireType === VARINT) this.#varint();
    else if (this.wireType === DELIMITED) this.#take(this.number());
    else {
      const length = LENGTHS.get(this.wireType);
      if (length === undefined)
        throw new TypeError(`has the field ${this.field} with the wire type ${this.wireType}`);
      this.#take(length);
    }
  }

  /** @param {number} length */
  #take(length) {
    if (length > this.#bytes.length - this.#at) throw new TypeError(CUT_OFF);
    const taken = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return taken;
  }
}

/**
 * Reads a field of varints.
 * @param {Reader} reader
 */
function numberOf(reader) {
  reader.expect(VARINT);
  return reader.number();
}

/**
 * @param {Buffer} bytes
 * @returns {Payload}
 * @throws {TypeError} that ends the sentence "The payload …"
 */
function readPayload(bytes) {
  /** @type {Payload} */
  const payload = { timestamp: 0, seq: -1, uuid: '', metrics: [] };
  const reader = new Reader(bytes);
  while (reader.next()) {
    if (reader.field === 1) payload.timestamp = numberOf(reader);
    else if (reader.field === 2) {
      if (payload.metrics.length === MAX_METRICS) throw new TypeError(`has more than ${MAX_METRICS} metrics`);
      payload.metrics.push(readMetric(reader.bytes()));
    } else if (reader.field === 3) payload.seq = numberOf(reader);
    else if (reader.field === 4) payload.uuid = reader.text();
    else reader.skip();
  }
  return payload;
}

/** @param {Buffer} bytes @returns {Metric} */
function readMetric(bytes) {
  /** @type {Metric} */
  const metric = {
    name: '',
    alias: 0,
    timestamp: 0,
    datatype: 0,
    isHistorical: false,
    value: undefined,
    properties: NO_PROPERTIES
  };
  const reader = new Reader(bytes);
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        metric.name = reader.text();
        break;
      case 2:
        metric.alias = numberOf(reader);
        break;
      case 3:
        reader.expect(VARINT);
        metric.timestamp = reader.signed();
        break;
      case 4:
        metric.datatype = numberOf(reader);
        break;
      case 5:
        metric.isHistorical = numberOf(reader) !== 0;
        break;
      case 7:
        if (numberOf(reader) !== 0) metric.value = null;
        break;
      case 9:
        metric.properties = readProperties(reader.bytes());
        break;
      default:
        readValue(reader, metric, 10);
    }
  }
  return metric;
}

/** @type {Map<string, unknown>} */
const NO_PROPERTIES = new Map();

/**
 * Reads the value of a metric or of a property, whose fields have the same order.
 * @param {Reader} reader
 * @param {{ value: unknown }} to
 * @param {number} first number of the field int_value
 */
function readValue(reader, to, first) {
  switch (reader.field - first) {
    case 0:
      to.value = numberOf(reader);
      break;
    case 1:
      reader.expect(VARINT);
      to.value = reader.signed();
      break;
    case 2:
      to.value = reader.float();
      break;
    case 3:
      to.value = reader.double();
      break;
    case 4:
      to.value = numberOf(reader) !== 0;
      break;
    case 5:
      to.value = reader.text();
      break;
    case 6:
      // A property has no bytes but a set of properties here.
      if (first === 10) to.value = reader.bytes();
      else reader.skip();
      break;
    default:
      reader.skip();
  }
}

/** @param {Buffer} bytes of a property set */
function readProperties(bytes) {
  /** @type {string[]} */
  const keys = [];
  /** @type {unknown[]} */
  const values = [];
  const reader = new Reader(bytes);
  while (reader.next()) {
    if (reader.field === 1) keys.push(reader.text());
    else if (reader.field === 2) values.push(readProperty(reader.bytes()));
    else reader.skip();
    if (keys.length > MAX_PROPERTIES || values.length > MAX_PROPERTIES)
      throw new TypeError(`has a metric with more than ${MAX_PROPERTIES} properties`);
  }
  return new Map(keys.map((key, i) => [key, values[i]]));
}

/** @param {Buffer} bytes */
function readProperty(bytes) {
  /** @type {{ value: unknown }} */
  const property = { value: undefined };
  const reader = new Reader(bytes);
  while (reader.next()) readValue(reader, property, 3);
  return property.value;
}

module.exports = { readPayload };

'use strict';
// Parses PUBLISH and PUBREL packets of a broker (MQTT 3.1.1 and 5, sections 3.3 and 3.6).

/**
 * @typedef {object} Publish
 * @property {string} topic
 * @property {Buffer} payload a view of the bytes read
 * @property {0 | 1 | 2} qos
 * @property {number} id 0 for QoS 0
 * @property {boolean} dup
 * @property {boolean} retain
 * @property {[string, string][]} userProperties in order; MQTT 5
 */

/** The broker violated the protocol, so the connection must be closed. */
class MalformedError extends Error {
  /** @param {string} what */
  constructor(what) {
    super(`The broker sent invalid MQTT: ${what}.`);
    this.code = 'MALFORMED';
  }
}

/**
 * [MQTT 2.2.2.2] Types of the properties that a PUBLISH may have.
 * @type {Record<number, 'byte' | 'u32' | 'u16' | 'number' | 'text' | 'data' | 'pair'>}
 */
const KINDS = {
  0x01: 'byte',
  0x02: 'u32',
  0x03: 'text',
  0x08: 'text',
  0x09: 'data',
  0x0b: 'number',
  0x23: 'u16',
  0x26: 'pair'
};
const USER_PROPERTY = 0x26;
const SUBSCRIPTION_ID = 0x0b;
const TOPIC_ALIAS = 0x23;
/** Properties that may occur more than once. */
const REPEATED = [USER_PROPERTY, SUBSCRIPTION_ID];

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads a packet's body. Throws MalformedError if it ends too early. */
class Reader {
  /** @param {Buffer} bytes @param {number} at @param {number} end */
  constructor(bytes, at, end) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  /** @param {number} length @returns {number} where the bytes begin */
  take(length) {
    const at = this.at;
    if (at + length > this.end) throw new MalformedError('a packet that ends too early');
    this.at += length;
    return at;
  }

  u16() {
    return this.bytes.readUInt16BE(this.take(2));
  }

  data() {
    const length = this.u16();
    const at = this.take(length);
    return this.bytes.subarray(at, at + length);
  }

  /** [MQTT-1.5.4-1], [MQTT-1.5.4-2] @returns {string} */
  text() {
    const bytes = this.data();
    let text;
    try {
      text = utf8.decode(bytes);
    } catch {
      throw new MalformedError('text that is not UTF-8');
    }
    if (text.includes('\0')) throw new MalformedError('text with NUL');
    return text;
  }

  /** [MQTT 1.5.5] */
  number() {
    let value = 0;
    for (let i = 0; i < 4; i++) {
      const byte = this.bytes[this.take(1)];
      value += (byte & 0x7f) * 128 ** i;
      if (byte < 0x80) return value;
    }
    throw new MalformedError('a length of more than four bytes');
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} at where the packet begins
 * @param {number} body where its body begins
 * @param {number} end
 * @param {number} protocolVersion 4 or 5
 * @returns {Publish}
 */
function parsePublish(bytes, at, body, end, protocolVersion) {
  const head = bytes[at];
  const qos = (head >> 1) & 3;
  const dup = (head & 8) !== 0;
  if (qos === 3) throw new MalformedError('a PUBLISH of QoS 3'); // [MQTT-3.3.1-4]
  if (dup && qos === 0) throw new MalformedError('a PUBLISH of QoS 0 with the DUP flag'); // [MQTT-3.3.1-2]
  const reader = new Reader(bytes, body, end);
  const topic = reader.text();
  // [MQTT-3.3.2-2]. An empty topic requires a topic alias, which we do not allow.
  if (topic === '' || /[+#]/.test(topic)) throw new MalformedError('a PUBLISH without a topic');
  const id = qos === 0 ? 0 : reader.u16();
  if (qos > 0 && id === 0) throw new MalformedError('a PUBLISH without an identifier'); // [MQTT-2.2.1-3]
  const userProperties = protocolVersion === 5 ? readProperties(reader) : [];
  const payload = bytes.subarray(reader.at, end);
  return {
    topic,
    payload,
    qos: /** @type {0 | 1 | 2} */ (qos),
    id,
    dup,
    retain: (head & 1) !== 0,
    userProperties
  };
}

/** @param {Reader} reader @returns {[string, string][]} */
function readProperties(reader) {
  const length = reader.number();
  const end = reader.at + length;
  reader.take(length);
  const inner = new Reader(reader.bytes, end - length, end);
  /** @type {[string, string][]} */
  const pairs = [];
  /** @type {Set<number>} */
  const seen = new Set();
  while (inner.at < end) {
    const id = inner.number();
    if (!(id in KINDS)) throw new MalformedError(`property ${id} in a PUBLISH`);
    if (seen.has(id) && !REPEATED.includes(id)) throw new MalformedError(`property ${id} twice`);
    seen.add(id);
    if (id === TOPIC_ALIAS) throw new MalformedError('a topic alias, although none is allowed'); // [MQTT-3.1.2-26]
    if (KINDS[id] === 'pair') pairs.push([inner.text(), inner.text()]);
    else skip(inner, KINDS[id]);
  }
  return pairs;
}

/** @param {Reader} reader @param {string} kind */
function skip(reader, kind) {
  if (kind === 'byte') reader.take(1);
  else if (kind === 'u16') reader.take(2);
  else if (kind === 'u32') reader.take(4);
  else if (kind === 'number') reader.number();
  else if (kind === 'text') reader.text();
  else reader.data();
}

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @param {number} body
 * @param {number} end
 * @returns {number} the identifier
 */
function parsePubrel(bytes, at, body, end) {
  if ((bytes[at] & 15) !== 2) throw new MalformedError('a PUBREL with wrong flags'); // [MQTT-3.6.1-1]
  const id = new Reader(bytes, body, end).u16();
  if (id === 0) throw new MalformedError('a PUBREL without an identifier');
  return id;
}

module.exports = { parsePublish, parsePubrel, MalformedError };

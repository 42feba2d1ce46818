'use strict';

const { copyBytes, keyBytes, writeKey } = require('./record-keys');
const { MAX_TOPIC_BYTES, topicBytes, topicIsValid, writeTopic } = require('../../base/topic-template');

/** @typedef {import('./taken-batch').TakenBatch} TakenBatch */
/** @typedef {import('../../base/topic-template').Part} Piece */

/** @typedef {import('./uplink-stage').Stage} Stage */

const RETAIN_FLAG = 2; // Flag.RETAIN of the engine
const ENVELOPE_KIND = 1;
const OPEN = 0x7b; // {
const CLOSE = 0x7d; // }
const QUOTE = 0x22;
const COMMA = 0x2c;
const LAST_BLANK = 0x20;
const NONE = Buffer.alloc(0);

// [MQTT 3.3.2.3.7] A user property: its identifier, and two strings with their lengths.
const KEY_PROPERTY = Buffer.from('\x26\0\x0bseganet-key');
const HISTORY_PROPERTY = Buffer.from('\x26\0\x0fseganet-history\0\x011');
const KEY_FIELD = Buffer.from('"k":"');

/**
 * The next PUBLISH [MQTT 3.3]: prepare() measures it, write() writes it. The object is reused for all packets, so
 * nothing is allocated.
 */
class Publish {
  constructor() {
    /** Size of the whole packet in bytes. */
    this.size = 0;
    this.remaining = 0;
    this.topicLength = 0;
    this.isV5 = false;
    this.retain = false;
    this.propertiesLength = 0;
    this.keyLength = 0;
    /** Bytes of the key's field in the first line, 0 = there is no field. */
    this.fieldLength = 0;
    this.fieldHasComma = false;
    /** @type {Piece[]} */
    this.topic = [];
    /** @type {Buffer} */
    this.suffix = NONE;
    this.isHistory = false;
    /** @type {TakenBatch} */
    this.batch = /** @type {any} */ (null);
    /** @type {Stage} */
    this.stage = /** @type {any} */ (null);
  }

  /**
   * Measures a packet.
   * @param {TakenBatch} batch
   * @param {number} packet
   * @param {Stage} stage
   * @param {import('./feeder').Link} link
   * @returns {boolean} false when its topic is not valid in a PUBLISH
   */
  prepare(batch, packet, stage, link) {
    batch.locate(packet);
    this.batch = batch;
    this.stage = stage;
    this.isV5 = link.protocolVersion === 5;
    this.retain = (batch.flags & RETAIN_FLAG) !== 0 && link.retainAvailable;
    this.topic = (batch.kind === ENVELOPE_KIND ? stage.topic : stage.recordTopic).parts[batch.class];
    this.topicLength = topicBytes(this.topic, batch);
    if (this.topicLength === 0) {
      // A record without a topic of its own uses the topic of envelopes.
      this.topic = stage.topic.parts[batch.class];
      this.topicLength = topicBytes(this.topic, batch);
    }
    if (this.topicLength === 0 || !topicIsValid(batch)) return false;
    this.suffix = batch.isBacklog && stage.history === 'suffix' ? stage.historySuffix : NONE;
    this.topicLength += this.suffix.length;
    if (this.topicLength > MAX_TOPIC_BYTES) return false;
    this.#measureField();
    this.#measureProperties();
    const payload = batch.payloadEnd - batch.payloadAt + this.fieldLength;
    this.remaining = 2 + this.topicLength + (stage.qos ? 2 : 0) + payload;
    if (this.isV5) this.remaining += lengthBytes(this.propertiesLength) + this.propertiesLength;
    this.size = 1 + lengthBytes(this.remaining) + this.remaining;
    return true;
  }

  /** Returns the topic for display. REQUIRES: prepare() */
  topicText() {
    return this.#topicBytes().toString();
  }

  /** Returns the topic as a key for tables, or null when it contains nothing from the device. REQUIRES: prepare() */
  deviceTopic() {
    return this.topic.some((part) => typeof part === 'symbol') ? this.#topicBytes().toString('latin1') : null;
  }

  #topicBytes() {
    const bytes = Buffer.allocUnsafe(this.topicLength);
    const at = writeTopic(this.topic, this.batch, bytes, 0);
    copyBytes(this.suffix, this.suffix.length, bytes, at);
    return bytes;
  }

  /** Measures the key as the first field of an envelope's first line. */
  #measureField() {
    const { batch, stage } = this;
    this.fieldLength = 0;
    const { buffer, payloadAt, payloadEnd } = batch;
    if (!batch.isEnvelope || payloadAt === payloadEnd || buffer[payloadAt] !== OPEN) return;
    let next = payloadAt + 1;
    while (next < payloadEnd && buffer[next] <= LAST_BLANK) next++;
    // Bytes behind the end are left over from an earlier batch.
    this.fieldHasComma = next === payloadEnd || buffer[next] !== CLOSE;
    this.fieldLength = KEY_FIELD.length + keyBytes(stage.key.json, batch) + (this.fieldHasComma ? 2 : 1);
  }

  #measureProperties() {
    const { batch, stage } = this;
    if (!this.isV5) return;
    this.keyLength = keyBytes(stage.key.raw, batch);
    this.isHistory = batch.isBacklog && stage.history === 'property';
    this.propertiesLength =
      KEY_PROPERTY.length + 2 + this.keyLength + (this.isHistory ? HISTORY_PROPERTY.length : 0);
  }

  /**
   * Writes the prepared packet, with QoS 0 when id is 0.
   * @param {Buffer} out
   * @param {number} at
   * @param {number} id packet identifier
   * @param {boolean} dup
   * @returns {number} where the packet ends
   */
  write(out, at, id, dup) {
    const { batch, suffix } = this;
    const qos = id ? 1 : 0;
    // [MQTT-3.3.1-2] DUP is 0 for QoS 0.
    out[at++] = 0x30 | (dup && qos ? 0x08 : 0) | (qos << 1) | (this.retain ? 1 : 0);
    at = writeLength(this.remaining, out, at);
    out[at++] = this.topicLength >>> 8;
    out[at++] = this.topicLength & 0xff;
    at = writeTopic(this.topic, batch, out, at);
    at = copyBytes(suffix, suffix.length, out, at);
    if (qos) {
      out[at++] = id >>> 8;
      out[at++] = id & 0xff;
    }
    if (this.isV5) at = this.#writeProperties(out, at);
    let from = batch.payloadAt;
    if (this.fieldLength > 0) {
      at = this.#writeField(out, at);
      from++;
    }
    batch.buffer.copy(out, at, from, batch.payloadEnd);
    return at + batch.payloadEnd - from;
  }

  /** @param {Buffer} out @param {number} at */
  #writeProperties(out, at) {
    at = writeLength(this.propertiesLength, out, at);
    at = copyBytes(KEY_PROPERTY, KEY_PROPERTY.length, out, at);
    out[at++] = this.keyLength >>> 8;
    out[at++] = this.keyLength & 0xff;
    at = writeKey(this.stage.key.raw, this.batch, out, at);
    return this.isHistory ? copyBytes(HISTORY_PROPERTY, HISTORY_PROPERTY.length, out, at) : at;
  }

  /** @param {Buffer} out @param {number} at */
  #writeField(out, at) {
    out[at++] = OPEN;
    at = copyBytes(KEY_FIELD, KEY_FIELD.length, out, at);
    at = writeKey(this.stage.key.json, this.batch, out, at);
    out[at++] = QUOTE;
    if (this.fieldHasComma) out[at++] = COMMA;
    return at;
  }
}

/** Returns the size in bytes of a variable byte integer [MQTT 1.5.5]. @param {number} value */
function lengthBytes(value) {
  if (value < 128) return 1;
  if (value < 16384) return 2;
  return value < 2097152 ? 3 : 4;
}

/**
 * @param {number} value
 * @param {Buffer} out
 * @param {number} at
 */
function writeLength(value, out, at) {
  while (value > 127) {
    out[at++] = (value & 0x7f) | 0x80;
    value >>>= 7;
  }
  out[at++] = value;
  return at;
}

exports.Publish = Publish;

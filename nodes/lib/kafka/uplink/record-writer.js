'use strict';
// Turns the packets of a batch into Kafka records. The same batch and packet always give the same record.

const { META } = require('../../uplink/sending/batch-meta');
const { escapeName, isTopicName } = require('../settings/kafka-names');
const { PacketPlace, TRACEPARENT_BYTES } = require('../../uplink/sending/packet-place');

/** @typedef {import('../../uplink/sending/taken-batch').TakenBatch} TakenBatch */
/** @typedef {import('./stage').Stage} Stage */

/**
 * A record for Kafka.
 * @typedef {object} Message
 * @property {Buffer} key
 * @property {Buffer} value
 * @property {Buffer[]} headers names and values in turn
 * @property {number} timestamp ms since 1970
 */

const BRACE = 0x7b;
/** Bytes of a record that are not its value: key, headers, lengths. */
const OVERHEAD = 160;
const EMPTY = Buffer.alloc(0);
const ONE = Buffer.from('1');
const NAMES = {
  topic: Buffer.from('topic'),
  ts: Buffer.from('ts'),
  lastTs: Buffer.from('lastTs'),
  seq: Buffer.from('seq'),
  class: Buffer.from('class'),
  count: Buffer.from('count'),
  source: Buffer.from('source'),
  key: Buffer.from('key'),
  history: Buffer.from('history'),
  traceparent: Buffer.from('traceparent'),
  tracestate: Buffer.from('tracestate')
};
const CLASSES = Array.from({ length: 9 }, (_, i) => Buffer.from(String(i)));

/** Makes the records of one gateway. */
class RecordWriter {
  /** @param {string} gateway */
  constructor(gateway) {
    this.gateway = gateway;
    this.gatewayKey = Buffer.from(gateway);
    this.place = new PacketPlace();
    /** The batch that `head` belongs to, and its order: each class counts its batches on its own. */
    this.batch = /** @type {TakenBatch | null} */ (null);
    this.order = -1;
    this.head = { key: '', ts: EMPTY, lastTs: EMPTY, count: EMPTY, timestamp: 0 };
    /** The latest time of a record: many records have the same one. */
    this.time = { timestamp: -1, ts: EMPTY };
    /** Sources by name. @type {Map<string, Buffer>} */
    this.sources = new Map();
  }

  /** Returns the cost of a record in bytes. @param {TakenBatch} batch @param {number} packet */
  bytesOf(batch, packet) {
    const { value, topic } = this.place.find(batch, packet);
    return value.length + topic.length + OVERHEAD;
  }

  /**
   * Returns the name of the topic of a packet; '' = there is no valid one.
   * @param {TakenBatch} batch
   * @param {number} packet
   * @param {Stage} stage
   */
  topicOf(batch, packet, stage) {
    const place = this.place.find(batch, packet);
    // A flow that made the envelope may have chosen its topic.
    if (place.isEnvelope && place.topic.length > 0) return checked(place.topic.toString());
    let name = '';
    for (const part of (place.isEnvelope ? stage.envelopeTopic : stage.topic)[batch.class])
      name += typeof part === 'string' ? part : escapeName(part.of === 'device' ? place.device : place.topic);
    return checked(name);
  }

  /**
   * Returns the key of a packet, which decides the partition: the device, so that its records stay in order. An
   * envelope has several devices and the gateway's key, so that all envelopes of a topic stay in order.
   * @param {TakenBatch} batch
   * @param {number} packet
   * @returns {Buffer}
   */
  keyOf(batch, packet) {
    const { isEnvelope, device } = this.place.find(batch, packet);
    return isEnvelope || device.length === 0 ? this.gatewayKey : device;
  }

  /**
   * @param {TakenBatch} batch
   * @param {number} packet
   * @param {Stage} stage
   * @returns {Message} refers to the bytes of the batch
   */
  write(batch, packet, stage) {
    if (this.batch !== batch || this.order !== batch.order) this.#readHead(batch);
    const { head } = this;
    const place = this.place.find(batch, packet);
    const { isEnvelope, device } = place;
    /** @type {Buffer[]} */
    const headers = [];
    if (place.topic.length > 0) headers.push(NAMES.topic, place.topic);
    const isStamped = place.ts >= 0;
    if (isStamped) {
      this.#readTime(place.ts);
      headers.push(NAMES.ts, this.time.ts);
      headers.push(NAMES.seq, Buffer.from(String(place.seq)));
    } else {
      headers.push(NAMES.ts, head.ts);
      if (!head.lastTs.equals(head.ts)) headers.push(NAMES.lastTs, head.lastTs);
    }
    if (isEnvelope)
      headers.push(NAMES.count, place.count < 0 ? head.count : Buffer.from(String(place.count)));
    headers.push(NAMES.class, CLASSES[batch.class]);
    const recordKey = place.part < 0 ? head.key : `${head.key}.${place.part}`;
    headers.push(NAMES.key, Buffer.from(recordKey));
    // The sources of an earlier run are not known.
    if (batch.isBacklog) headers.push(NAMES.history, ONE);
    else if (stage.source !== '') headers.push(NAMES.source, this.#source(stage.source));
    if (place.trace.length > 0) {
      headers.push(NAMES.traceparent, place.trace.subarray(0, TRACEPARENT_BYTES));
      if (place.trace.length > TRACEPARENT_BYTES)
        headers.push(NAMES.tracestate, place.trace.subarray(TRACEPARENT_BYTES));
    }
    const key = isEnvelope || device.length === 0 ? this.gatewayKey : device;
    const value = isEnvelope ? withKey(place.value, recordKey) : place.value;
    const { timestamp } = isStamped ? this.time : head;
    return { key, value, headers, timestamp };
  }

  /** @param {TakenBatch} batch */
  #readHead(batch) {
    const { meta } = batch;
    this.batch = batch;
    this.order = batch.order;
    this.head = {
      key: `${this.gateway}/${meta[META.epoch].toString(36)}/${batch.class}/${meta[META.sequence]}`,
      ts: Buffer.from(String(meta[META.firstTs])),
      lastTs: Buffer.from(String(meta[META.lastTs])),
      count: Buffer.from(String(batch.records)),
      timestamp: Math.round(meta[META.firstTs])
    };
  }

  /** @param {number} at ms since 1970 */
  #readTime(at) {
    if (this.time.timestamp !== at) this.time = { timestamp: at, ts: Buffer.from(String(at)) };
  }

  /** @param {string} name */
  #source(name) {
    const known = this.sources.get(name) ?? Buffer.from(name);
    this.sources.set(name, known);
    return known;
  }
}

/**
 * Returns an envelope with its key as the first field of its first line, as an MQTT uplink sends it.
 * @param {Buffer} lines
 * @param {string} recordKey
 */
function withKey(lines, recordKey) {
  if (lines[0] !== BRACE) return lines;
  const isEmpty = /^\{\s*\}/.test(lines.toString('latin1', 0, 64));
  const field = `{"k":${JSON.stringify(recordKey)}${isEmpty ? '' : ','}`;
  return Buffer.concat([Buffer.from(field), lines.subarray(1)]);
}

/** @param {string} name */
function checked(name) {
  return isTopicName(name) ? name : '';
}

exports.RecordWriter = RecordWriter;

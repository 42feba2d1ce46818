'use strict';
// Turns the packets of a batch into rows. The same batch always gives the same rows, so that copies have equal keys.

const { readEnvelope } = require('../../unbatch/unbatch');
const { META } = require('../../uplink/sending/batch-meta');
const { PacketPlace } = require('../../uplink/sending/packet-place');
const { valueAt } = require('../../series/json-path');

/** @typedef {import('../../uplink/sending/taken-batch').TakenBatch} TakenBatch */
/** @typedef {import('../files/row').Row} Row */
/** @typedef {import('./stage').Stage} Stage */

/** A larger payload is not parsed: value and unit are empty. */
const MAX_PARSED = 1 << 20;
const MAX_UNIT = 64;
/** The longest text that is a number, with spaces. */
const MAX_NUMBER = 64;
const NUMBER = /^\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?\s*$/i;
/** Most ms from 1970 that a date may have. */
const MAX_TS = 8640000000000000;
const NOTHING = { value: null, unit: null };

/** Reads the records of one gateway. */
class RecordReader {
  /** @param {string} gateway */
  constructor(gateway) {
    this.gateway = gateway;
    this.place = new PacketPlace();
  }

  /**
   * @param {TakenBatch} batch
   * @param {Stage} stage
   * @returns {Row[]} its own bytes, not those of the batch
   */
  read(batch, stage) {
    const { meta } = batch;
    const key = {
      gateway: this.gateway,
      boot: meta[META.epoch].toString(36),
      class: batch.class,
      sequence: meta[META.sequence]
    };
    /** @type {Row[]} */
    const rows = [];
    for (let packet = 0; packet < batch.count; packet++) {
      const { isEnvelope, device, topic, value, ts, seq, part } = this.place.find(batch, packet);
      const lines = isEnvelope ? readLines(value) : null;
      if (lines) {
        for (const { index, deviceId, topic: ofLine, ts: at, seq: number, payload } of lines)
          rows.push({
            ...key,
            part: index,
            device: deviceId,
            topic: ofLine,
            ts: timeOf(at),
            seq: number,
            ...found(payload, stage),
            payload: bytesOf(payload)
          });
        continue;
      }
      const payload = Uint8Array.from(value);
      rows.push({
        ...key,
        part,
        device: device.toString('utf8'),
        topic: topic.toString('utf8'),
        ts: timeOf(ts >= 0 ? ts : meta[META.firstTs]),
        seq: ts >= 0 ? seq : null,
        ...found(value, stage),
        payload
      });
    }
    return rows;
  }
}

/**
 * Returns the records of an envelope; null if it has anything else in it: it becomes one row, so that nothing is lost.
 * @param {Buffer} bytes
 */
function readLines(bytes) {
  try {
    const { records, faults, count } = readEnvelope(bytes);
    return faults.length === 0 && count > 0 ? records : null;
  } catch {
    return null;
  }
}

/** @param {number} ts */
const timeOf = (ts) => Math.max(-MAX_TS, Math.min(MAX_TS, Math.round(ts)));

/** @param {unknown} payload JSON of a line, or bytes @returns {Uint8Array} */
function bytesOf(payload) {
  return payload instanceof Uint8Array ? Uint8Array.from(payload) : Buffer.from(JSON.stringify(payload));
}

/**
 * @param {unknown} payload bytes of a record, or JSON of a line
 * @param {Stage} stage
 * @returns {{ value: number | null, unit: string | null }}
 */
function found(payload, { valueKeys, unitKeys }) {
  const isPlain = valueKeys.length === 0 && unitKeys.length === 0;
  const read = payload instanceof Uint8Array ? parse(payload, isPlain) : payload;
  if (read === undefined) return NOTHING;
  const value = valueAt(read, valueKeys);
  const unit = unitKeys.length === 0 ? undefined : valueAt(read, unitKeys);
  return {
    value:
      typeof value === 'number' && Number.isFinite(value)
        ? value
        : typeof value === 'boolean'
          ? Number(value)
          : null,
    unit: typeof unit === 'string' && unit.length <= MAX_UNIT ? unit : null
  };
}

/**
 * @param {Uint8Array} payload
 * @param {boolean} isPlain only a payload that is a number counts
 * @returns {unknown} undefined = it is neither JSON nor a number
 */
function parse(payload, isPlain) {
  if (payload.length === 0 || payload.length > (isPlain ? MAX_NUMBER : MAX_PARSED)) return undefined;
  const text = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString('utf8');
  if (text.length <= MAX_NUMBER && NUMBER.test(text)) return Number(text);
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

exports.RecordReader = RecordReader;

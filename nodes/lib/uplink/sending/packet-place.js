'use strict';

const { META } = require('./batch-meta');
const { STAMP_BYTES, STAMP_FLAG } = require('../../base/stored-payload');

/** @typedef {import('./taken-batch').TakenBatch} TakenBatch */

const RECORDS_KIND = 2;
const ENVELOPE_KIND = 1;
/** Bytes before the strings of an entry of a batch of records. */
const ENTRY_HEAD = 8;
/** Flag: trace and its 2-byte length follow the payload of the record (docs/reference/log-format.md). */
const TRACE_FLAG = 8;
const WORD = 2 ** 32;
const TRACEPARENT_BYTES = 55;
const EMPTY = Buffer.alloc(0);

/** Where a packet is in the bytes of its batch. */
class PacketPlace {
  constructor() {
    this.isEnvelope = false;
    this.part = -1;
    /** Lines of a piece of an envelope; -1 = it is whole. */
    this.count = -1;
    /** @type {Buffer} */
    this.device = EMPTY;
    /** @type {Buffer} */
    this.topic = EMPTY;
    /** @type {Buffer} */
    this.value = EMPTY;
    /** @type {Buffer} traceparent and tracestate */
    this.trace = EMPTY;
    /** Own time of the record, ms since 1970; -1 = only its batch has times. */
    this.ts = -1;
    this.seq = 0;
    /** The record that was found last; none after a piece of an envelope. @type {TakenBatch | null} */
    this.batch = null;
    this.order = -1;
    this.packet = -1;
  }

  /** @param {TakenBatch} batch @param {number} packet */
  find(batch, packet) {
    const { buffer, kind, meta, starts, order } = batch;
    // Objects are reused, and each class counts its batches on its own.
    if (batch === this.batch && order === this.order && packet === this.packet) return this;
    // An envelope may be cut, which changes its pieces.
    this.batch = kind === ENVELOPE_KIND || batch.isEnvelope ? null : batch;
    this.order = order;
    this.packet = packet;
    this.isEnvelope = batch.isEnvelope;
    this.part = this.count = -1;
    this.trace = EMPTY;
    this.ts = -1;
    if (kind === RECORDS_KIND) {
      const at = starts[packet] + ENTRY_HEAD;
      const deviceEnd = at + buffer[starts[packet] + 1] + 1;
      const topicEnd = deviceEnd + buffer.readUInt16LE(starts[packet] + 2);
      this.device = buffer.subarray(at, deviceEnd);
      this.topic = buffer.subarray(deviceEnd, topicEnd);
      this.value = buffer.subarray(topicEnd, starts[packet + 1]);
      this.part = packet;
      this.#cutTail(buffer[starts[packet]]);
      return this;
    }
    const deviceBytes = kind === ENVELOPE_KIND ? 0 : meta[META.deviceBytes];
    const topicBytes = kind === ENVELOPE_KIND ? 0 : meta[META.topicBytes];
    const piece = batch.parts?.[packet];
    this.device = buffer.subarray(0, deviceBytes);
    this.topic = buffer.subarray(deviceBytes, deviceBytes + topicBytes);
    this.value = piece
      ? buffer.subarray(piece.from, piece.to)
      : buffer.subarray(batch.payloadAt, batch.payloadEnd);
    if (piece) {
      this.part = piece.number;
      this.count = piece.end - piece.first;
    } else if (kind !== ENVELOPE_KIND) this.#cutTail(meta[META.flags]);
    return this;
  }

  /** @param {number} flags of the record */
  #cutTail(flags) {
    if (flags & STAMP_FLAG) this.#cutStamp();
    if (flags & TRACE_FLAG) this.#cutTrace();
  }

  #cutStamp() {
    const { value } = this;
    const at = value.length - STAMP_BYTES;
    if (at < 0) return;
    this.ts = value.readUInt32LE(at) + value.readInt32LE(at + 4) * WORD;
    this.seq = value.readUInt32LE(at + 8);
    this.value = value.subarray(0, at);
  }

  #cutTrace() {
    const { value } = this;
    const end = value.length - 2;
    const start = end < 0 ? -1 : end - value.readUInt16LE(end);
    if (start < 0 || end - start < TRACEPARENT_BYTES) return;
    this.trace = value.subarray(start, end);
    this.value = value.subarray(0, start);
  }
}

module.exports = { PacketPlace, TRACEPARENT_BYTES };

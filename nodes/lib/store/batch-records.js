'use strict';
// Splits a batch into its records: kind 0 is one record, kind 1 lines of NDJSON, kind 2 entries
// (docs/reference/log-format.md).

const { splitStored } = require('../base/stored-payload');
const { asBuffer } = require('./log-chunk');

const KIND = /** @type {const} */ ({ SINGLE: 0, ENVELOPE: 1, RECORDS: 2 });
const RECORD_HEAD_BYTES = 8;
const NEWLINE = 10;

/**
 * A record of kind 0 or 2; the buffers are views into the batch. trace: as traceOf() of trace-context.js returns it.
 * @typedef {{ device: Buffer, topic: Buffer, flags: number } & import('../base/stored-payload').Stored} Parts
 */

/**
 * @param {{ bytes: Uint8Array, topicBytes: number, deviceBytes: number, flags: number }} batch of kind 0
 * @returns {Parts}
 */
function splitSingle(batch) {
  const bytes = asBuffer(batch.bytes);
  const topicAt = batch.deviceBytes;
  const payloadAt = topicAt + batch.topicBytes;
  if (payloadAt > bytes.length) throw new RangeError('A record is shorter than its names');
  return {
    device: bytes.subarray(0, topicAt),
    topic: bytes.subarray(topicAt, payloadAt),
    ...splitStored(bytes.subarray(payloadAt), batch.flags),
    flags: batch.flags
  };
}

/**
 * Yields the lines of a batch of kind 1, without their line ends. The last one needs none.
 * @param {Uint8Array} lines
 */
function* splitLines(lines) {
  const bytes = asBuffer(lines);
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, at);
    const stop = end === -1 ? bytes.length : end;
    if (stop > at) yield bytes.subarray(at, stop);
    at = stop + 1;
  }
}

/**
 * Yields the records of a batch of kind 2.
 * @param {Uint8Array} entries
 * @returns {Generator<Parts>}
 * @throws {RangeError} if an entry does not end within the batch
 */
function* splitEntries(entries) {
  const bytes = asBuffer(entries);
  for (let at = 0; at < bytes.length;) {
    const deviceAt = at + RECORD_HEAD_BYTES;
    if (deviceAt > bytes.length) throw new RangeError(`The record at byte ${at} of the batch is truncated`);
    const topicAt = deviceAt + bytes[at + 1] + 1;
    const payloadAt = topicAt + bytes.readUInt16LE(at + 2);
    const end = payloadAt + bytes.readUInt32LE(at + 4);
    if (end > bytes.length) throw new RangeError(`The record at byte ${at} of the batch is truncated`);
    yield {
      device: bytes.subarray(deviceAt, topicAt),
      topic: bytes.subarray(topicAt, payloadAt),
      ...splitStored(bytes.subarray(payloadAt, end), bytes[at]),
      flags: bytes[at]
    };
    at = end;
  }
}

/**
 * Returns the de-duplication key of a batch, without the gateway's name that precedes it when it is sent.
 * @param {{ epoch: bigint | number, class: number }} head
 * @param {{ sequence: bigint | number }} entry
 */
function batchKey(head, entry) {
  return `${head.epoch.toString(36)}/${head.class}/${entry.sequence}`;
}

module.exports = { KIND, splitSingle, splitLines, splitEntries, batchKey };

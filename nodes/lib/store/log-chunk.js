'use strict';
// Chunks of format 1: batches that were written to the log together (docs/reference/log-format.md). The engine's reader
// and writer are in native/core/log/chunk.cc; these functions serve the command `seganet-log` and tests.

const { CLASSES } = require('../base/classes');
const { crc32c } = require('./crc32c');

const MAGIC = 0x31434753; // "SGC1", read as a little-endian word
const VERSION = 1;
const HEAD_BYTES = 32;
const ENTRY_BYTES = 56;
const HEAD_CRC = 28;
const ENTRY_CRC = 52;
const KINDS = 3;

/**
 * @typedef {object} Head
 * @property {number} class
 * @property {number} batches
 * @property {number} records
 * @property {number} bytes of all entries
 * @property {bigint} epoch the run of the engine that sealed the batches
 */
/**
 * A batch. It occupies the bytes `at` to `end` of the chunk, including its 56 bytes of numbers.
 * @typedef {object} Entry
 * @property {bigint} sequence
 * @property {number} firstTs
 * @property {number} lastTs
 * @property {number} oldestUs
 * @property {number} records
 * @property {number} recordBytes
 * @property {number} topicBytes
 * @property {number} deviceBytes
 * @property {number} kind 0 single, 1 envelope, 2 records
 * @property {number} reason
 * @property {number} flags
 * @property {Buffer} bytes a view into the chunk
 * @property {number} at
 * @property {number} end
 */
/** @typedef {'too short' | 'not a chunk' | 'of a newer version' | 'damaged head' | 'damaged batch' | 'wrong counts'} Fault */
/**
 * @typedef {object} Reading
 * @property {'' | Fault} error '' = intact
 * @property {Head | null} head null = it cannot be trusted
 * @property {Entry[]} entries the intact ones
 */

/** @param {Uint8Array} bytes @returns {Buffer} the same memory */
function asBuffer(bytes) {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Reads the fields of a head without checking its checksum.
 * @param {Buffer} bytes at least HEAD_BYTES
 * @returns {Head} whatever its checksum says
 */
function headFields(bytes) {
  return {
    class: bytes[5],
    batches: bytes.readUInt16LE(6),
    records: bytes.readUInt32LE(8),
    bytes: bytes.readUInt32LE(12),
    epoch: bytes.readBigUInt64LE(16)
  };
}

/** @param {Buffer} bytes @returns {Reading['error']} */
function headError(bytes) {
  if (bytes.length < HEAD_BYTES) return 'too short';
  if (bytes.readUInt32LE(0) !== MAGIC) return 'not a chunk';
  if (crc32c(bytes, 0, HEAD_CRC) !== bytes.readUInt32LE(HEAD_CRC)) return 'damaged head';
  if (bytes[4] !== VERSION) return 'of a newer version';
  const { class: cls, batches } = headFields(bytes);
  return cls < 1 || cls > CLASSES || batches === 0 || bytes.readUInt32LE(24) !== 0 ? 'damaged head' : '';
}

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @param {number} end
 * @returns {number} where this entry would end, 0 = not before `end`
 */
function entryEnd(bytes, at, end) {
  if (end - at < ENTRY_BYTES) return 0;
  const entry = at + ENTRY_BYTES + bytes.readUInt32LE(at + 40);
  return entry <= end ? entry : 0;
}

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @returns {boolean} true if the numbers are possible for an entry
 */
function isPlausible(bytes, at) {
  const records = bytes.readUInt32LE(at + 32);
  const kind = bytes[at + 48];
  const names = bytes.readUInt16LE(at + 44) + bytes.readUInt16LE(at + 46);
  const countFits = kind === 0 ? records === 1 : records > 0;
  return kind < KINDS && countFits && names <= bytes.readUInt32LE(at + 40) && bytes[at + 51] === 0;
}

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @param {number} end as entryEnd() returned it
 * @returns {boolean}
 */
function isSound(bytes, at, end) {
  if (!isPlausible(bytes, at)) return false;
  const crc = crc32c(bytes, at + ENTRY_BYTES, end, crc32c(bytes, at, at + ENTRY_CRC));
  return crc === bytes.readUInt32LE(at + ENTRY_CRC);
}

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @param {number} end
 * @returns {Entry}
 */
function readEntry(bytes, at, end) {
  return {
    sequence: bytes.readBigUInt64LE(at),
    firstTs: Number(bytes.readBigInt64LE(at + 8)),
    lastTs: Number(bytes.readBigInt64LE(at + 16)),
    oldestUs: Number(bytes.readBigInt64LE(at + 24)),
    records: bytes.readUInt32LE(at + 32),
    recordBytes: bytes.readUInt32LE(at + 36),
    topicBytes: bytes.readUInt16LE(at + 44),
    deviceBytes: bytes.readUInt16LE(at + 46),
    kind: bytes[at + 48],
    reason: bytes[at + 49],
    flags: bytes[at + 50],
    bytes: bytes.subarray(at + ENTRY_BYTES, end),
    at,
    end
  };
}

/**
 * Checks a whole chunk. Returns the same result as ReadChunk() of the engine.
 * @param {Uint8Array} chunk
 * @returns {Reading}
 */
function readChunk(chunk) {
  const bytes = asBuffer(chunk);
  let error = headError(bytes);
  const head = error === '' ? headFields(bytes) : null;
  /** @type {Entry[]} */
  const entries = [];
  if (bytes.length < HEAD_BYTES || error === 'of a newer version') return { error, head, entries };
  const expected = head ? HEAD_BYTES + head.bytes : bytes.length;
  if (expected > bytes.length) error = 'too short';
  else if (expected < bytes.length) error = 'wrong counts';
  const limit = Math.min(expected, bytes.length);
  let damaged = false;
  for (let at = HEAD_BYTES; at < limit;) {
    const end = entryEnd(bytes, at, limit);
    if (end === 0) {
      damaged = true;
      break;
    }
    // A damaged entry may have an intact length. If not, the entry behind it fails its checksum.
    if (isSound(bytes, at, end)) entries.push(readEntry(bytes, at, end));
    else damaged = true;
    at = end;
  }
  if (error === '' && damaged) error = 'damaged batch';
  if (error === '' && head) {
    const records = entries.reduce((sum, entry) => sum + entry.records, 0);
    if (entries.length !== head.batches || records !== head.records) error = 'wrong counts';
  }
  return { error, head, entries };
}

/**
 * @param {{ class: number, epoch: bigint | number, records: number, batches: number }} head
 * @param {Uint8Array[]} entries in the format of a chunk
 * @returns {Buffer}
 */
function joinChunk(head, entries) {
  const fields = Buffer.alloc(HEAD_BYTES);
  fields.writeUInt32LE(MAGIC, 0);
  fields[4] = VERSION;
  fields[5] = head.class;
  fields.writeUInt16LE(head.batches, 6);
  fields.writeUInt32LE(head.records, 8);
  fields.writeUInt32LE(
    entries.reduce((sum, entry) => sum + entry.length, 0),
    12
  );
  fields.writeBigUInt64LE(BigInt(head.epoch), 16);
  fields.writeUInt32LE(crc32c(fields, 0, HEAD_CRC), HEAD_CRC);
  return Buffer.concat([fields, ...entries]);
}

/**
 * @param {{ sequence: bigint | number, bytes: Uint8Array } & Partial<Omit<Entry, 'sequence' | 'bytes'>>} entry
 * @returns {Buffer}
 */
function writeEntry(entry) {
  const fields = Buffer.alloc(ENTRY_BYTES);
  fields.writeBigUInt64LE(BigInt(entry.sequence), 0);
  fields.writeBigInt64LE(BigInt(entry.firstTs ?? 0), 8);
  fields.writeBigInt64LE(BigInt(entry.lastTs ?? entry.firstTs ?? 0), 16);
  fields.writeBigInt64LE(BigInt(entry.oldestUs ?? 0), 24);
  fields.writeUInt32LE(entry.records ?? 1, 32);
  fields.writeUInt32LE(entry.recordBytes ?? entry.bytes.length, 36);
  fields.writeUInt32LE(entry.bytes.length, 40);
  fields.writeUInt16LE(entry.topicBytes ?? 0, 44);
  fields.writeUInt16LE(entry.deviceBytes ?? 0, 46);
  fields[48] = entry.kind ?? 0;
  fields[49] = entry.reason ?? 0;
  fields[50] = entry.flags ?? 0;
  const crc = crc32c(entry.bytes, 0, entry.bytes.length, crc32c(fields, 0, ENTRY_CRC));
  fields.writeUInt32LE(crc, ENTRY_CRC);
  return Buffer.concat([fields, entry.bytes]);
}

/**
 * @param {number} cls
 * @param {bigint | number} epoch
 * @param {Parameters<typeof writeEntry>[0][]} entries
 * @returns {Buffer}
 */
function writeChunk(cls, epoch, entries) {
  const records = entries.reduce((sum, entry) => sum + (entry.records ?? 1), 0);
  return joinChunk({ class: cls, epoch, records, batches: entries.length }, entries.map(writeEntry));
}

module.exports = {
  HEAD_BYTES,
  ENTRY_BYTES,
  readChunk,
  writeChunk,
  joinChunk,
  headFields,
  entryEnd,
  isPlausible,
  isSound,
  readEntry,
  asBuffer
};

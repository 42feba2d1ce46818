'use strict';
// The points of one series in a span of time, as one value of the database. Pure. docs/use/series.md describes the
// format.
//
//   byte 0      version, 1
//   bytes 1..4  CRC-32 of all bytes that follow, little-endian
//   varint      number of points
//   varints     the first time minus the start of the span, then the first difference of two times, then the changes of
//               that difference (zigzag). Milliseconds.
//   byte        0: each value is a float64, little-endian. 1 to 7: the values are whole multiples of 10^-(byte - 1)
//   …           the values; multiples as zigzag varints: the first, then the differences

const { crc32 } = require('node:zlib');

const VERSION = 1;
const HEAD = 5;
const MAX_DIGITS = 6;
/** A double holds each whole number up to 2^53, so the difference of two multiples below is exact. */
const MAX_MULTIPLE = 2 ** 51;
const MAX_VARINT = Number.MAX_SAFE_INTEGER;
const POWERS = [1, 10, 100, 1000, 1e4, 1e5, 1e6];

/**
 * Points in the order of their times; no two have the same time.
 * @typedef {{ times: Float64Array, values: Float64Array }} Points times: whole ms since the epoch; values: finite
 */

/** A block that is not one of ours, or was changed. */
class BlockError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = 'BlockError';
  }
}

/** Scratch space for the block that is made; it grows. */
let scratch = Buffer.alloc(4096);
let at = 0;

/** @param {number} value 0..2^53-1 */
function putVarint(value) {
  let rest = value;
  while (rest > 0x7fffffff) {
    scratch[at++] = (rest % 128) | 0x80;
    rest = Math.floor(rest / 128);
  }
  while (rest > 0x7f) {
    scratch[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  scratch[at++] = rest;
}

/** @param {number} value whole, within ±2^52 */
const zigzag = (value) => (value < 0 ? -2 * value - 1 : 2 * value);

/** @param {number} value */
function unzigzag(value) {
  if (value <= 0x7fffffff) return (value >>> 1) ^ -(value & 1);
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

/**
 * Returns the digits after the decimal point that write all values exactly, -1 = there are more than six, or a value is
 * too large.
 * @param {ArrayLike<number>} values
 */
function digitsOf(values) {
  let digits = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    while (!isMultiple(value, digits)) if (++digits > MAX_DIGITS) return -1;
  }
  for (let i = 0; i < values.length; i++) if (!isMultiple(values[i], digits)) return -1;
  return digits;
}

/** True if decoding gives the same double, including the sign of zero. @param {number} value @param {number} digits */
function isMultiple(value, digits) {
  const multiple = Math.round(value * POWERS[digits]);
  // A difference of multiples has no negative zero.
  if (multiple === 0) return Object.is(value, 0);
  return Math.abs(multiple) < MAX_MULTIPLE && multiple / POWERS[digits] === value;
}

/**
 * @param {Points} points at least one; REQUIRES: times ascend, and none is below `start`
 * @param {number} start of the span, ms since the epoch
 * @returns {Buffer}
 */
function encodeBlock({ times, values }, start) {
  const count = times.length;
  const most = HEAD + 20 + count * 18;
  if (scratch.length < most) scratch = Buffer.alloc(most * 2);
  at = HEAD;
  putVarint(count);
  let time = start;
  let step = 0;
  for (let i = 0; i < count; i++) {
    const next = times[i] - time;
    putVarint(i === 0 ? next : zigzag(next - step));
    if (i > 0) step = next;
    time = times[i];
  }
  putValues(values);
  scratch[0] = VERSION;
  scratch.writeUInt32LE(crc32(scratch.subarray(HEAD, at)), 1);
  return Buffer.from(scratch.subarray(0, at));
}

/** @param {Float64Array} values */
function putValues(values) {
  const begin = at;
  const digits = digitsOf(values);
  if (digits >= 0) {
    scratch[at++] = digits + 1;
    let before = 0;
    for (let i = 0; i < values.length; i++) {
      const multiple = Math.round(values[i] * POWERS[digits]);
      putVarint(zigzag(multiple - before));
      before = multiple;
    }
    if (at - begin <= 1 + 8 * values.length) return;
    at = begin;
  }
  scratch[at++] = 0;
  for (let i = 0; i < values.length; i++) at = scratch.writeDoubleLE(values[i], at);
}

/** Reads the varints of one block. */
class Reader {
  /** @param {Buffer} body */
  constructor(body) {
    this.body = body;
    this.at = HEAD;
  }

  varint() {
    const { body } = this;
    let byte = body[this.at++];
    if (byte < 0x80) return byte;
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      // Reading beyond the end gives undefined.
      if (byte === undefined) throw new BlockError('the block ends early');
      value += (byte & 0x7f) * scale;
      if (value > MAX_VARINT) throw new BlockError('the block has a number that is too large');
      if (byte < 0x80) return value;
      byte = body[this.at++];
    }
  }
}

/**
 * @param {Uint8Array} bytes
 * @param {number} start of the span, ms since the epoch
 * @returns {Points}
 * @throws {BlockError}
 */
function decodeBlock(bytes, start) {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (body.length <= HEAD) throw new BlockError('the block is too short');
  if (body[0] !== VERSION) throw new BlockError(`the block has version ${body[0]}, not ${VERSION}`);
  if (crc32(body.subarray(HEAD)) !== body.readUInt32LE(1)) throw new BlockError('the checksum is wrong');
  const reader = new Reader(body);
  const count = reader.varint();
  // A point has at least one byte for its time and one for its value.
  if (!(count > 0) || count * 2 > body.length) throw new BlockError('the block has a wrong number of points');
  return { times: readTimes(reader, count, start), values: readValues(reader, count) };
}

/** @param {Reader} reader @param {number} count @param {number} start */
function readTimes(reader, count, start) {
  const times = new Float64Array(count);
  let time = start + reader.varint();
  let step = 0;
  times[0] = time;
  for (let i = 1; i < count; i++) {
    step += unzigzag(reader.varint());
    if (!(step > 0)) throw new BlockError('the times do not ascend');
    time += step;
    times[i] = time;
  }
  if (!(time <= MAX_VARINT)) throw new BlockError('a time is too large');
  return times;
}

/** @param {Reader} reader @param {number} count */
function readValues(reader, count) {
  const { body } = reader;
  const mode = body[reader.at++];
  const values = new Float64Array(count);
  if (mode === 0) {
    if (reader.at + count * 8 !== body.length) throw new BlockError('the block has a wrong length');
    // The engine runs on little-endian machines only, so the bytes are those of a Float64Array.
    new Uint8Array(values.buffer).set(body.subarray(reader.at));
  } else {
    if (!(mode <= MAX_DIGITS + 1)) throw new BlockError('the block has an unknown form of values');
    const power = POWERS[mode - 1];
    let multiple = 0;
    for (let i = 0; i < count; i++) {
      multiple += unzigzag(reader.varint());
      values[i] = multiple / power;
    }
    if (reader.at !== body.length) throw new BlockError('the block has a wrong length');
  }
  for (let i = 0; i < count; i++)
    if (!Number.isFinite(values[i])) throw new BlockError('a value is not a number');
  return values;
}

/**
 * Merges points of several sources. Of points with the same time, the one of the last source, and in it the last one,
 * stays.
 * @param {{ times: number[] | Float64Array, values: number[] | Float64Array }[]} sources typed arrays: of a block, in
 *   their order; lists: in any order
 * @returns {Points & { doubled: number }} doubled: points that gave way
 */
function mergePoints(sources) {
  const [only] = sources;
  // Points of a block have their order.
  if (sources.length === 1 && only.times instanceof Float64Array && only.values instanceof Float64Array)
    return { times: only.times, values: only.values, doubled: 0 };
  const size = sources.reduce((sum, { times }) => sum + times.length, 0);
  let times = new Float64Array(size);
  let values = new Float64Array(size);
  let length = 0;
  let isAscending = true;
  for (const source of sources) {
    for (let i = 0; i < source.times.length; i++) {
      if (length > 0 && source.times[i] <= times[length - 1]) isAscending = false;
      times[length] = source.times[i];
      values[length++] = source.values[i];
    }
  }
  if (isAscending) return { times, values, doubled: 0 };
  const order = new Uint32Array(size).map((_, index) => index);
  const given = times;
  order.sort((a, b) => given[a] - given[b] || a - b);
  const [sortedTimes, sortedValues] = [new Float64Array(size), new Float64Array(size)];
  let kept = 0;
  for (const index of order) {
    if (kept > 0 && sortedTimes[kept - 1] === times[index]) kept--;
    sortedTimes[kept] = times[index];
    sortedValues[kept++] = values[index];
  }
  times = sortedTimes.slice(0, kept);
  values = sortedValues.slice(0, kept);
  return { times, values, doubled: size - kept };
}

exports.BlockError = BlockError;
exports.decodeBlock = decodeBlock;
exports.encodeBlock = encodeBlock;
exports.mergePoints = mergePoints;

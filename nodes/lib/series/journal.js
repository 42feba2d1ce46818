'use strict';
// The points of one commit, before they are in blocks. Pure.
//
//   bytes 0..3  CRC-32 of all bytes that follow, little-endian
//   20 bytes a point: uint32 series, float64 time (ms), float64 value, little-endian

const { crc32 } = require('node:zlib');

const HEAD = 4;
const POINT = 20;
/** Points of one row: 1 MB. */
const MAX_POINTS = 50000;

/** Points that wait for their commit. */
class Staged {
  constructor() {
    /** @type {import('./open-blocks').Series[]} */
    this.series = [];
    /** @type {number[]} */
    this.times = [];
    /** @type {number[]} */
    this.values = [];
  }

  /** @param {import('./open-blocks').Series} series @param {number} time @param {number} value */
  add(series, time, value) {
    this.series.push(series);
    this.times.push(time);
    this.values.push(value);
  }

  /** @returns {Iterable<Buffer>} the rows of the journal */
  *rows() {
    for (let from = 0; from < this.series.length; from += MAX_POINTS) yield this.#row(from);
  }

  /** @param {number} from */
  #row(from) {
    const count = Math.min(MAX_POINTS, this.series.length - from);
    const body = Buffer.allocUnsafe(HEAD + count * POINT);
    const view = new DataView(body.buffer, body.byteOffset, body.length);
    for (let i = 0, at = HEAD; i < count; i++, at += POINT) {
      view.setUint32(at, this.series[from + i].id, true);
      view.setFloat64(at + 4, this.times[from + i], true);
      view.setFloat64(at + 12, this.values[from + i], true);
    }
    body.writeUInt32LE(crc32(body.subarray(HEAD)), 0);
    return body;
  }
}

/**
 * @param {Uint8Array} bytes
 * @param {(series: number, time: number, value: number) => void} visit
 * @returns {boolean} false if the row is damaged; then no point was visited
 */
function readJournal(bytes, visit) {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (body.length < HEAD || (body.length - HEAD) % POINT !== 0) return false;
  if (crc32(body.subarray(HEAD)) !== body.readUInt32LE(0)) return false;
  for (let at = HEAD; at < body.length; at += POINT)
    visit(body.readUInt32LE(at), body.readDoubleLE(at + 4), body.readDoubleLE(at + 12));
  return true;
}

exports.Staged = Staged;
exports.readJournal = readJournal;

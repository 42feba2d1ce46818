'use strict';

const NEWLINE = 0x0a;
const OPEN = 0x7b; // {
const CLOSE = 0x7d; // }
/** How the engine begins a line, and what follows the device in it. Quotes in a device are escaped. */
const BEFORE_DEVICE = '{"d":"';
const AFTER_DEVICE = '","t":"';
/** A piece of a division has at least this number, which no envelope that is cut into halves reaches. */
const FIRST_DIVISION = 4096;

/**
 * A run of lines of an envelope that fits into a packet.
 * @typedef {object} Piece
 * @property {number} first line
 * @property {number} end line after its last
 * @property {number} from byte
 * @property {number} to byte after its last
 * @property {number} number position in the tree of halves: the whole has 1, the halves of n have 2n and 2n + 1. -1 =
 *   not cut
 * @property {number} lines of the whole envelope
 * @property {boolean} [isDivided] its lines are of one device
 */

/**
 * Returns a whole envelope as one piece. If some line is not an object, the envelope cannot be cut, and its lines count
 * as one.
 * @param {Buffer} bytes
 * @param {number} from
 * @param {number} to
 * @returns {Piece[]}
 */
function readPieces(bytes, from, to) {
  let lines = 0;
  for (let at = from; at < to;) {
    const end = lineEnd(bytes, at, to);
    const last = bytes[end - 1] === NEWLINE ? end - 2 : end - 1;
    if (bytes[at] !== OPEN || bytes[last] !== CLOSE) {
      lines = 1;
      break;
    }
    lines++;
    at = end;
  }
  return [{ first: 0, end: lines, from, to, number: -1, lines }];
}

/**
 * Cuts a piece into two halves with the same number of lines, regardless of their size. A piece number therefore means
 * the same lines each time the batch is sent, even under another Maximum Packet Size: a receiver that knows a key has
 * all records of that piece.
 * @param {Buffer} bytes
 * @param {Piece} part
 * @returns {[Piece, Piece] | null} null for a single line
 */
function cut(bytes, part) {
  if (part.end - part.first < 2) return null;
  const middle = (part.first + part.end) >> 1;
  let at = part.from;
  for (let line = part.first; line < middle; line++) at = lineEnd(bytes, at, part.to);
  const number = 2 * Math.max(1, part.number);
  return [
    { ...part, end: middle, to: at, number },
    { ...part, first: middle, from: at, number: number + 1 }
  ];
}

/**
 * Divides a piece by devices. The lines of a device become neighbors in `bytes`, in their order. The same piece always
 * gives the same pieces with the same numbers.
 * @param {Buffer} bytes
 * @param {Piece} part
 * @param {number[]} numbers of the lines, in the order of `bytes`; changed as the lines are
 * @returns {Piece[]} the piece alone if it is of one device, or cannot be divided
 */
function divide(bytes, part, numbers) {
  const whole = [{ ...part, isDivided: true }];
  // Without the last line's end, the lines cannot change places.
  const devices = bytes[part.to - 1] === NEWLINE ? linesByDevice(bytes, part) : [];
  const count = devices.reduce((sum, lines) => sum + lines.length, 0);
  if (devices.length < 2 || count !== part.end - part.first) return whole;
  const base = Math.max(1, part.number) * Math.max(FIRST_DIVISION, 2 ** Math.ceil(Math.log2(devices.length)));
  const copy = Buffer.from(bytes.subarray(part.from, part.to));
  const order = numbers.slice(part.first, part.end);
  let at = part.from;
  let line = part.first;
  return devices.map((lines, i) => {
    const piece = { ...part, first: line, from: at, number: base + i, isDivided: true };
    for (const { index, from, to } of lines) {
      at += copy.copy(bytes, at, from - part.from, to - part.from);
      numbers[line++] = order[index];
    }
    return { ...piece, end: line, to: at };
  });
}

/**
 * @param {Buffer} bytes
 * @param {Piece} part
 * @returns {{ index: number, from: number, to: number }[][]} its lines by device, in the order of their first lines
 */
function linesByDevice(bytes, part) {
  /** @type {Map<string, { index: number, from: number, to: number }[]>} */
  const devices = new Map();
  let from = part.from;
  for (let index = 0; from < part.to; index++) {
    const to = lineEnd(bytes, from, part.to);
    const device = deviceOf(bytes, from, to);
    const lines = devices.get(device);
    if (lines) lines.push({ index, from, to });
    else devices.set(device, [{ index, from, to }]);
    from = to;
  }
  return [...devices.values()];
}

/**
 * @param {Buffer} bytes
 * @param {number} from
 * @param {number} to
 * @returns {string} the device of a line as it is in JSON, its bytes as characters; '' = the line is not the engine's
 */
function deviceOf(bytes, from, to) {
  const at = from + BEFORE_DEVICE.length;
  if (bytes.toString('latin1', from, at) !== BEFORE_DEVICE) return '';
  const end = bytes.indexOf(AFTER_DEVICE, at, 'latin1');
  return end < 0 || end >= to ? '' : bytes.toString('latin1', at, end);
}

/**
 * Returns the end of the line that begins at `at`.
 * @param {Buffer} bytes
 * @param {number} at
 * @param {number} to
 */
function lineEnd(bytes, at, to) {
  const newline = bytes.indexOf(NEWLINE, at);
  return newline < 0 || newline >= to ? to : newline + 1;
}

module.exports = { cut, divide, readPieces };

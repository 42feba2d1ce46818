'use strict';

const NEWLINE = 0x0a;
const OPEN = 0x7b; // {
const CLOSE = 0x7d; // }

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
 * Returns the end of the line that begins at `at`.
 * @param {Buffer} bytes
 * @param {number} at
 * @param {number} to
 */
function lineEnd(bytes, at, to) {
  const newline = bytes.indexOf(NEWLINE, at);
  return newline < 0 || newline >= to ? to : newline + 1;
}

module.exports = { cut, readPieces };

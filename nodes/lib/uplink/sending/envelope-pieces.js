'use strict';

const NEWLINE = 0x0a;
const OPEN = 0x7b; // {
const CLOSE = 0x7d; // }

/**
 * A run of lines of an envelope that fits into a packet.
 * @typedef {object} Part
 * @property {number} first line @property {number} end line after its last
 * @property {number} from byte @property {number} to byte after its last
 * @property {number} number place in the tree of halves: the whole has 1, the halves of n have 2n and 2n + 1. -1 = not cut
 * @property {number} lines of the whole envelope
 */

/**
 * An envelope as the one part that it is. Lines that are not each an object cannot be cut: they count as one line.
 * @param {Buffer} bytes @param {number} from @param {number} to @returns {Part[]}
 */
function readParts(bytes, from, to) {
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
 * Cuts a part into two with half of its lines each, whatever they weigh. So a number means the same lines whenever the batch is
 * sent again, under another Maximum Packet Size too: a receiver that knows a key has all that it stands for.
 * @param {Buffer} bytes @param {Part} part @returns {[Part, Part] | null} null for a single line
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

/** Behind the line that begins at `at`. @param {Buffer} bytes @param {number} at @param {number} to */
function lineEnd(bytes, at, to) {
  const newline = bytes.indexOf(NEWLINE, at);
  return newline < 0 || newline >= to ? to : newline + 1;
}

module.exports = { cut, readParts };

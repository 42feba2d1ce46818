'use strict';

/** Bytes before each part of output: stream, three zeros, length. */
const HEADER = 8;

/**
 * Returns the text of a container's output, which the engine sends in frames of stdout and stderr.
 * @param {Buffer} bytes an incomplete last frame is allowed
 * @returns {string}
 */
function textOfFrames(bytes) {
  /** @type {Buffer[]} */
  const parts = [];
  let at = 0;
  while (at + HEADER <= bytes.length) {
    // A terminal's output has no frames.
    if (bytes[at] > 2 || bytes.readUIntBE(at + 1, 3) !== 0) return bytes.toString();
    const size = bytes.readUInt32BE(at + 4);
    parts.push(bytes.subarray(at + HEADER, at + HEADER + size));
    at += HEADER + size;
  }
  return Buffer.concat(parts).toString();
}

module.exports = { textOfFrames };

'use strict';
// Separates the payload of a stored record from what follows it (docs/reference/log-format.md);
// native/core/record/stored_payload.h has the same rules.

const { splitTrace } = require('./trace-context');

/** Flag of a stored record that ends with its stamp: ts in eight bytes, and seq in four. */
const STAMP_FLAG = 16;
const STAMP_BYTES = 12;

/**
 * The payload is a view. trace: as traceOf() returns it; stamp: null if only the batch has times.
 * @typedef {{ payload: Buffer, trace: string, stamp: { ts: number, seq: number } | null }} Stored
 */

/**
 * @param {Buffer} stored payload and what follows it
 * @param {number} flags of the record
 * @returns {Stored}
 */
function splitStored(stored, flags) {
  const at = stored.length - STAMP_BYTES;
  if ((flags & STAMP_FLAG) === 0 || at < 0) return { ...splitTrace(stored, flags), stamp: null };
  const stamp = { ts: Number(stored.readBigInt64LE(at)), seq: stored.readUInt32LE(at + 8) };
  return { ...splitTrace(stored.subarray(0, at), flags), stamp };
}

module.exports = { splitStored, STAMP_BYTES, STAMP_FLAG };

'use strict';

// The de-duplication key of a batch is <gateway>/<epoch>/<class>/<sequence>. Its bytes are the same each time the batch
// is sent. The gateway belongs to the uplink node. The rest belongs to the batch, which keeps it in `tail`.

const MAX_TAIL_BYTES = 48;
const SLASH = 0x2f;
const DOT = 0x2e;
const ZERO = 0x30;

/**
 * The gateway as it appears in a property, and as it appears in a JSON string.
 * @typedef {{raw: Buffer, json: Buffer}} KeyPrefix
 */

/** @param {string} gateway @returns {KeyPrefix} */
function keyPrefix(gateway) {
  return { raw: Buffer.from(gateway), json: Buffer.from(JSON.stringify(gateway).slice(1, -1)) };
}

let lastEpoch = NaN;
let epochText = Buffer.alloc(0);

/**
 * Writes /<epoch>/<class>/<sequence> at offset 0.
 * @param {Buffer} out of MAX_TAIL_BYTES
 * @param {number} epoch
 * @param {number} recordClass
 * @param {number} sequence
 * @returns {number} its length
 */
function writeTail(out, epoch, recordClass, sequence) {
  if (epoch !== lastEpoch) {
    // Each start of the gateway has one epoch. New batches have the current one; only batches from the log change it.
    lastEpoch = epoch;
    epochText = Buffer.from(epoch.toString(36));
  }
  let at = 0;
  out[at++] = SLASH;
  at = copyBytes(epochText, epochText.length, out, at);
  out[at++] = SLASH;
  out[at++] = ZERO + recordClass;
  out[at++] = SLASH;
  return writeNumber(sequence, out, at);
}

/** @param {number} number @returns {number} number of decimal digits of a whole number */
function digits(number) {
  let count = 1;
  for (let limit = 10; number >= limit; limit *= 10) count++;
  return count;
}

/**
 * @param {number} number
 * @param {Buffer} out
 * @param {number} at
 * @returns {number} where the number ends
 */
function writeNumber(number, out, at) {
  const end = at + digits(number);
  let rest = number;
  for (let k = end - 1; k >= at; k--) {
    const next = Math.floor(rest / 10);
    out[k] = ZERO + (rest - next * 10);
    rest = next;
  }
  return end;
}

/**
 * Copies a short text. A call of Buffer.copy() would cost more.
 * @param {Uint8Array} from
 * @param {number} length
 * @param {Buffer} out
 * @param {number} at
 */
function copyBytes(from, length, out, at) {
  for (let k = 0; k < length; k++) out[at + k] = from[k];
  return at + length;
}

/**
 * Returns the length of one packet's key in bytes.
 * @param {Buffer} prefix
 * @param {import('./taken-batch').TakenBatch} batch after locate()
 */
function keyBytes(prefix, batch) {
  const { number } = batch;
  return prefix.length + batch.tailLength + (number < 0 ? 0 : 1 + digits(number));
}

/**
 * Writes the key of one packet.
 * @param {Buffer} prefix
 * @param {import('./taken-batch').TakenBatch} batch after locate()
 * @param {Buffer} out
 * @param {number} at
 * @returns {number} where the key ends
 */
function writeKey(prefix, batch, out, at) {
  at = copyBytes(prefix, prefix.length, out, at);
  at = copyBytes(batch.tail, batch.tailLength, out, at);
  if (batch.number < 0) return at;
  out[at++] = DOT;
  return writeNumber(batch.number, out, at);
}

module.exports = { MAX_TAIL_BYTES, copyBytes, keyBytes, keyPrefix, writeKey, writeTail };

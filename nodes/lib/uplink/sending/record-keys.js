'use strict';

// The de-duplication key of a batch, <gateway>/<epoch>/<class>/<sequence>: the same bytes whenever the batch is sent again. The
// gateway is the uplink node's; the rest is the batch's and kept in its slot (`tail`).

const MAX_TAIL_BYTES = 48;
const SLASH = 0x2f;
const DOT = 0x2e;
const ZERO = 0x30;

/** The gateway as it stands in a property, and as it stands in a JSON string. @typedef {{raw: Buffer, json: Buffer}} KeyPrefix */

/** @param {string} gateway @returns {KeyPrefix} */
function keyPrefix(gateway) {
  return { raw: Buffer.from(gateway), json: Buffer.from(JSON.stringify(gateway).slice(1, -1)) };
}

let lastEpoch = NaN;
let epochText = Buffer.alloc(0);

/**
 * Writes /<epoch>/<class>/<sequence> at 0. @param {Buffer} out of MAX_TAIL_BYTES
 * @param {number} epoch @param {number} recordClass @param {number} sequence @returns {number} its length
 */
function writeTail(out, epoch, recordClass, sequence) {
  if (epoch !== lastEpoch) {
    // One for each start of the gateway: what is sent now, and now and then one from the log.
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

/** @param {number} number @returns {number} digits of a whole number */
function digits(number) {
  let count = 1;
  for (let limit = 10; number >= limit; limit *= 10) count++;
  return count;
}

/** @param {number} number @param {Buffer} out @param {number} at @returns {number} where it ends */
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

/** Short texts: a call of copy() would cost more. @param {Uint8Array} from @param {number} length @param {Buffer} out @param {number} at */
function copyBytes(from, length, out, at) {
  for (let k = 0; k < length; k++) out[at + k] = from[k];
  return at + length;
}

/**
 * Bytes of the key of one packet. @param {Buffer} prefix @param {import('./taken-batch').Slot} slot located
 */
function keyBytes(prefix, slot) {
  const { number } = slot;
  return prefix.length + slot.tailLength + (number < 0 ? 0 : 1 + digits(number));
}

/**
 * Writes the key of one packet. @param {Buffer} prefix @param {import('./taken-batch').Slot} slot located
 * @param {Buffer} out @param {number} at @returns {number} where it ends
 */
function writeKey(prefix, slot, out, at) {
  at = copyBytes(prefix, prefix.length, out, at);
  at = copyBytes(slot.tail, slot.tailLength, out, at);
  if (slot.number < 0) return at;
  out[at++] = DOT;
  return writeNumber(slot.number, out, at);
}

module.exports = { MAX_TAIL_BYTES, copyBytes, keyBytes, keyPrefix, writeKey, writeTail };

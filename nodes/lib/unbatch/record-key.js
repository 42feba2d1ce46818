'use strict';
// The de-duplication key of a batch: <gateway>/<epoch in base 36>/<class>/<sequence>, and .<part> of a part of it.
// The epoch differs at each start of the engine; the sequence counts its batches. Described in docs/messages.md.

const KEY = /^([^/+#\0]{1,128})\/([0-9a-z]{1,11})\/([1-8])\/(\d{1,16})(?:\.(\d{1,9}))?$/;
/** Most characters of epoch, class and sequence, and what stands around them: "k":"gateway/<11>/<1>/<16>", */
const FIELD_BYTES = '"k":"///",'.length + 11 + 1 + 16;

/**
 * @typedef {object} Key
 * @property {string} key as it came
 * @property {string} gateway
 * @property {string} epoch base 36
 * @property {number} lane its class
 * @property {number} sequence
 * @property {number | null} part null for a whole batch
 */

/**
 * @param {unknown} text
 * @returns {Key | null} null for what is no key
 */
function parseKey(text) {
  const match = typeof text === 'string' ? KEY.exec(text) : null;
  if (!match) return null;
  const [key, gateway, epoch, lane, sequence, part] = match;
  // Beyond this two numbers could look like one.
  if (!Number.isSafeInteger(Number(sequence))) return null;
  return {
    key,
    gateway,
    epoch,
    lane: Number(lane),
    sequence: Number(sequence),
    part: part === undefined ? null : Number(part)
  };
}

/**
 * What the key adds to an envelope, at most. A batch node's limit leaves it out of the records, so that the envelope
 * stays within the bytes that the user gave.
 * @param {string} gatewayId
 * @returns {number} bytes
 */
function keyBytes(gatewayId) {
  return FIELD_BYTES + Buffer.byteLength(JSON.stringify(gatewayId)) - 2;
}

module.exports = { parseKey, keyBytes };

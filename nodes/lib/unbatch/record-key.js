'use strict';
// The deduplication key of a batch: <gateway>/<epoch in base 36>/<class>/<sequence>, and .<part> for a part of it.
// The epoch differs at each start of the engine; the sequence counts its batches. Described in
// docs/reference/messages.md.

const KEY = /^([^/+#\0]{1,128})\/([0-9a-z]{1,11})\/([1-8])\/(\d{1,16})(?:\.(\d{1,9}))?$/;
/** Most characters of the key's JSON field without the gateway id: "k":"gateway/<11>/<1>/<16>", */
const FIELD_BYTES = '"k":"///",'.length + 11 + 1 + 16;

/**
 * @typedef {object} Key
 * @property {string} key the whole key
 * @property {string} gateway
 * @property {string} epoch base 36
 * @property {number} lane its class
 * @property {number} sequence
 * @property {number | null} part null for a whole batch
 */

/**
 * @param {unknown} text
 * @returns {Key | null} null if the text is not a key
 */
function parseKey(text) {
  const match = typeof text === 'string' ? KEY.exec(text) : null;
  if (!match) return null;
  const [key, gateway, epoch, lane, sequence, part] = match;
  // Larger integers are not exact, so two sequences could be equal.
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
 * Returns the most bytes that the key adds to an envelope. A batch node subtracts them from its limit, so that the
 * envelope does not exceed the configured size.
 * @param {string} gatewayId
 * @returns {number} bytes
 */
function keyBytes(gatewayId) {
  return FIELD_BYTES + Buffer.byteLength(JSON.stringify(gatewayId)) - 2;
}

module.exports = { parseKey, keyBytes };

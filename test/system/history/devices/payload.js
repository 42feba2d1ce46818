'use strict';
// Self-describing payloads, the same for the same seed, so that a changed one shows.

const crypto = require('node:crypto');

/** @param {string | Buffer} bytes */
const hashOf = (bytes) => crypto.createHash('sha1').update(bytes).digest('hex').slice(0, 16);

/**
 * @typedef {{seed: number, minPad: number, maxPad: number, bigEvery: number, bigPad: number}} Shape bigEvery: one
 *  record in this many has a pad of bigPad bytes; 0 = none
 */

/**
 * @param {Shape} shape @param {string} device @param {number} recordClass @param {number} n
 * @returns {string} JSON, as JSON.stringify writes it
 */
function payloadOf({ seed, minPad, maxPad, bigEvery, bigPad }, device, recordClass, n) {
  const random = crypto.createHash('sha1').update(`${seed} ${device} ${recordClass} ${n}`).digest('hex');
  const draw = parseInt(random.slice(0, 8), 16);
  const isBig = bigEvery > 0 && parseInt(random.slice(8, 16), 16) % bigEvery === 0;
  const length = isBig ? bigPad : minPad + (draw % (maxPad - minPad + 1));
  const pad = random.repeat(Math.ceil(length / random.length)).slice(0, length);
  const hash = hashOf(`${device} ${recordClass} ${n} ${pad}`);
  return JSON.stringify({ device, class: recordClass, n, pad, hash });
}

/** @param {any} value @returns {boolean} true if this is one of these payloads, whole */
function isOurs(value) {
  if (value === null || typeof value !== 'object') return false;
  const { device, class: recordClass, n, pad, hash } = value;
  return (
    typeof device === 'string' &&
    Number.isInteger(n) &&
    hash === hashOf(`${device} ${recordClass} ${n} ${pad}`)
  );
}

module.exports = { payloadOf, hashOf, isOurs };

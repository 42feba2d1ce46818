'use strict';

// The token by which Prometheus reads the metrics of a gateway with a password. Node-RED's own tokens end after a week,
// and each gateway has others.

const crypto = require('crypto');

/** @param {string} text */
const hashOf = (text) => crypto.createHash('sha256').update(text).digest();

/**
 * Returns the function `adminAuth.tokens` of Node-RED's settings.
 * @param {string} token
 * @returns {(given: string) => Promise<{ username: string, permissions: string } | null>} null: another token
 */
function readerWith(token) {
  const hash = hashOf(token);
  return async (given) =>
    crypto.timingSafeEqual(hashOf(String(given)), hash)
      ? { username: 'metrics', permissions: 'seganet.read' }
      : null;
}

module.exports = { readerWith };

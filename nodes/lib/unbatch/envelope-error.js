'use strict';

/** Largest envelope, also when decompressed. */
const MAX_BYTES = 16 * 1024 * 1024;

/** The payload is not an envelope. */
class EnvelopeError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = 'EnvelopeError';
    this.code = 'SEGANET_BAD_ENVELOPE';
  }
}

module.exports = { EnvelopeError, MAX_BYTES };

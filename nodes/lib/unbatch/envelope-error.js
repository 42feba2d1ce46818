'use strict';

/** Largest envelope, also when decompressed. */
const MAX_BYTES = 16 * 1024 * 1024;
/**
 * Most records of an envelope. A batch node makes at most 1 MiB of NDJSON, in which a line has at least 42 bytes, so
 * fewer than 25,000.
 */
const MAX_RECORDS = 65536;

/** The payload is not an envelope. */
class EnvelopeError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = 'EnvelopeError';
    this.code = 'SEGANET_BAD_ENVELOPE';
  }
}

module.exports = { EnvelopeError, MAX_BYTES, MAX_RECORDS };

'use strict';

/** Exit code for an unusable configuration (EX_CONFIG of sysexits.h): a supervisor should not retry. */
const EXIT_CONFIG = 78;

/**
 * A mistake in the configuration, described in sentences with a remedy. It has no stack, which would not help the user.
 */
class ConfigError extends Error {
  /** @param {string[]} sentences */
  constructor(sentences) {
    super(sentences.join('\n'));
    this.stack = this.message;
  }
}

module.exports = { ConfigError, EXIT_CONFIG };

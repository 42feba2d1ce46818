'use strict';

/** Exit code for a configuration that cannot work (EX_CONFIG of sysexits.h): a supervisor need not try again. */
const EXIT_CONFIG = 78;

/** A mistake of the user, told in sentences with a remedy. Its stack would tell nothing more, so there is none. */
class ConfigError extends Error {
  /** @param {string[]} sentences */
  constructor(sentences) {
    super(sentences.join('\n'));
    this.stack = this.message;
  }
}

module.exports = { ConfigError, EXIT_CONFIG };

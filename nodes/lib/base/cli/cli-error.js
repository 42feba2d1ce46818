'use strict';

/** An error that ends a command: a sentence with a remedy, and the exit code. */
class CliError extends Error {
  /** @param {string} message @param {number} [exitCode] */
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

exports.CliError = CliError;

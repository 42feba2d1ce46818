'use strict';

/** What ends a command: a sentence with a remedy, and the exit code. */
class Trouble extends Error {
  /** @param {string} message @param {number} exitCode */
  constructor(message, exitCode) {
    super(message);
    this.exitCode = exitCode;
  }
}

exports.Trouble = Trouble;

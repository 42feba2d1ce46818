'use strict';

const EXIT = /** @type {const} */ ({ OK: 0, DAMAGE: 1, USAGE: 2, CANNOT: 3 });

/** What ends the command: a sentence with a remedy, and the exit code. */
class Trouble extends Error {
  /** @param {string} message @param {number} exitCode */
  constructor(message, exitCode) {
    super(message);
    this.exitCode = exitCode;
  }
}

module.exports = { EXIT, Trouble };

'use strict';

/** NOT_OK: the set-up is not there, was refused or failed. CANNOT: a tool or the right is missing, so nobody can tell. */
const EXIT = /** @type {const} */ ({ OK: 0, NOT_OK: 1, USAGE: 2, CANNOT: 3 });

/** What ends the command: a sentence with a remedy, and the exit code. */
class Trouble extends Error {
  /** @param {string} message @param {number} exitCode */
  constructor(message, exitCode) {
    super(message);
    this.exitCode = exitCode;
  }
}

module.exports = { EXIT, Trouble };

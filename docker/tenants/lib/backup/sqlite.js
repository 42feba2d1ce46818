'use strict';

const { CliError } = require('../base/errors');

/**
 * Loads node:sqlite without its warning that it is experimental, which would appear with each command.
 * @returns {typeof import('node:sqlite')}
 * @throws {CliError} if this Node was built without it
 */
function loadSqlite() {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return require('node:sqlite');
  } catch {
    throw new CliError('This Node.js has no node:sqlite. Use Node.js 22.16 or newer.');
  } finally {
    process.emitWarning = emitWarning;
  }
}

module.exports = { loadSqlite };

'use strict';
// A tenant must not start while its volume or its flow is replaced, or the tenant is removed, because its process would
// use a folder that is about to be removed. The hold is a lock beside the tenant's state. It ends with the process that
// took it.

const fs = require('node:fs');
const path = require('node:path');
const { CliError } = require('../base/errors');
const { isLocked, takeLock } = require('../base/lock');

/** @param {string} state folder of the tenants' states @param {string} name */
const fileOf = (state, name) => path.join(state, `${name}.hold`);

/**
 * @param {string} state
 * @param {string} name
 * @returns {() => void} ends the hold
 * @throws {CliError} if another process has it
 */
function hold(state, name) {
  fs.mkdirSync(state, { recursive: true, mode: 0o700 });
  const lock = takeLock(fileOf(state, name));
  if ('owner' in lock)
    throw new CliError(`Process ${lock.owner} is restoring, updating or removing ${name}.`);
  return lock.release;
}

/** @param {string} state @param {string} name @returns {boolean} true if the tenant must not start now */
function isHeld(state, name) {
  return isLocked(fileOf(state, name));
}

module.exports = { hold, isHeld };

'use strict';
// The names of the devices behind this gateway, which the certificate of a join must contain.

const fs = require('node:fs');

/** Bytes of a table of devices, as the program limits it. */
const MAX_BYTES = 64 << 10;

/**
 * @param {string} file table of devices, '' = none
 * @returns {string[]} none if the file cannot be read: the program explains what is wrong with it when it starts
 */
function deviceNames(file) {
  if (!file) return [];
  try {
    if (fs.statSync(file).size > MAX_BYTES) return [];
    const { devices } = JSON.parse(fs.readFileSync(file, 'utf8'));
    return devices
      .map((/** @type {any} */ device) => device?.name)
      .filter(
        (/** @type {unknown} */ name) => typeof name === 'string' && /^[a-z0-9][a-z0-9-]{0,62}$/.test(name)
      );
  } catch {
    return [];
  }
}

exports.deviceNames = deviceNames;

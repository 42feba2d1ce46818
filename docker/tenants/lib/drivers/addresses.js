'use strict';

const crypto = require('node:crypto');

/**
 * Chooses a loopback address for a tenant, so that all tenants can use the same port and no other program answers
 * there. It also depends on the folder, because several keepers may run on one machine.
 * @param {string} folder of the keeper
 * @param {string} name of the tenant
 * @param {Set<string>} taken
 * @returns {string} 127.64.0.1 to 127.127.255.254
 */
function addressFor(folder, name, taken) {
  const hash = crypto.createHash('sha256').update(`${folder}\0${name}`).digest();
  for (let number = hash.readUInt32BE(0); ; number++) {
    const address = `127.${64 + ((number >>> 16) & 63)}.${(number >>> 8) & 255}.${1 + ((number & 255) % 254)}`;
    if (!taken.has(address)) return address;
  }
}

module.exports = { addressFor };

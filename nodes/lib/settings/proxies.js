'use strict';
// The proxies of a listener, from text.

const net = require('node:net');
const { shown } = require('../base/values');

/** As in the engine. */
const MAX_PROXIES = 64;

/**
 * @param {string} text addresses and networks, separated by commas or spaces, such as "10.0.0.7, 2001:db8::/32"
 * @returns {string[]}
 * @throws {RangeError} with a sentence
 */
function parseProxies(text) {
  const proxies = text.split(/[\s,]+/).filter(Boolean);
  for (const each of proxies) {
    const [host, length, ...more] = each.split('/');
    const bits = { 0: -1, 4: 32, 6: 128 }[net.isIP(host)] ?? -1;
    const isLength = length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= bits);
    if (bits < 0 || host.includes('%') || !isLength || more.length > 0)
      throw new RangeError(
        `Proxies: "${shown(each)}" is neither an address nor a network such as 10.0.0.7 or 10.0.0.0/8.`
      );
  }
  if (proxies.length > MAX_PROXIES)
    throw new RangeError(
      `Proxies has ${proxies.length} addresses; there may be ${MAX_PROXIES} at most. Use networks such as 10.0.0.0/8.`
    );
  return proxies;
}

module.exports = { parseProxies };

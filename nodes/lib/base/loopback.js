'use strict';

const net = require('node:net');

const LOOPBACK = new net.BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/**
 * @param {string} host an address or a name, or an IPv6 address in brackets as in a URL
 * @returns {boolean} true for 127.0.0.0/8, ::1, an IPv4-mapped address of 127.0.0.0/8, and localhost
 */
function isLoopback(host) {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (name === 'localhost') return true;
  const family = net.isIP(name);
  return family !== 0 && LOOPBACK.check(name, family === 4 ? 'ipv4' : 'ipv6');
}

module.exports = { isLoopback };

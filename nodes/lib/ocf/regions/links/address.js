'use strict';
// Addresses of regions: coaps+tcp://host:port.

const net = require('node:net');

const ADDRESS = /^coaps\+tcp:\/\/(?:\[([0-9a-f:.]+)\]|([0-9a-z._-]{1,253}))(?::(\d{1,5}))?$/;
/** RFC 8323, 8.2. */
const DEFAULT_PORT = 5684;

/**
 * @param {string} text
 * @returns {{ host: string, port: number } | null} null: it is no address of a region in lower case
 */
function parseAddress(text) {
  const [, v6, name, digits] = ADDRESS.exec(text) ?? [];
  const host = v6 ?? name;
  const port = digits === undefined ? DEFAULT_PORT : Number(digits);
  if (host === undefined || port < 1 || port > 65535 || (v6 && !net.isIPv6(v6))) return null;
  return { host, port };
}

module.exports = { parseAddress };

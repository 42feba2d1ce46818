'use strict';
// Connections of listed proxies, which begin with a PROXY header (PROXY protocol, versions 1 and 2). The engine parses
// it, as on its own listeners.

const { BlockList } = require('node:net');

/** @typedef {import('../../../native/index.js').ProxyHeader} ProxyHeader */

/** @param {string[]} proxies addresses and networks @returns {(address: string | undefined) => boolean} */
function amongProxies(proxies) {
  const list = new BlockList();
  const family = (/** @type {string} */ host) => (host.includes(':') ? 'ipv6' : 'ipv4');
  for (const each of proxies) {
    const [host, length] = each.split('/');
    if (length === undefined) list.addAddress(host, family(host));
    else list.addSubnet(host, Number(length), family(host));
  }
  // An IPv4 address that a socket on :: shows as ::ffff:10.0.0.7 counts as 10.0.0.7.
  return (address) => address !== undefined && list.check(address, family(address));
}

/**
 * Reads the header of a connection that has not been read. What follows it stays in the socket. A health check, which
 * ends after its header, is closed.
 * @param {import('node:net').Socket} socket
 * @param {(bytes: Buffer) => ProxyHeader} parse
 * @param {(header: ProxyHeader) => void} done called once, unless the connection ends before
 */
function readProxyHeader(socket, parse, done) {
  let bytes = Buffer.alloc(0);
  const onReadable = () => {
    for (let chunk; (chunk = socket.read()) !== null;) {
      bytes = Buffer.concat([bytes, chunk]);
      const header = parse(bytes);
      if (header.status === 'more') continue;
      socket.off('readable', onReadable);
      const rest = bytes.subarray(header.bytes);
      if (rest.length > 0) socket.unshift(rest);
      // A health check ends after a header without an address. A handshake with it would fail.
      if (rest.length > 0 || header.address || header.status === 'bad') return done(header);
      socket.once('readable', () => {
        if (socket.readableLength > 0) done(header);
        else socket.destroy();
      });
      return;
    }
  };
  socket.on('readable', onReadable);
}

module.exports = { amongProxies, readProxyHeader };

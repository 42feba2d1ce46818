'use strict';

/**
 * Returns a name that is unique among open TCP connections, the same for a socket and the TLS socket above it. It
 * includes the local end, because a peer may connect from one address and port to two addresses of this machine.
 * @param {import('node:net').Socket} socket
 */
function connectionName({ remoteAddress, remotePort, localAddress, localPort }) {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

exports.connectionName = connectionName;

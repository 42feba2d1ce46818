'use strict';

/**
 * Names a TCP connection while it is open, the same for its socket and the TLS socket above it. One far end may have two connections
 * from the same address and port, to two addresses of this machine.
 * @param {import('node:net').Socket} socket
 */
function connectionName({ remoteAddress, remotePort, localAddress, localPort }) {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

exports.connectionName = connectionName;

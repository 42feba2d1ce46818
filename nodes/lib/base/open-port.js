'use strict';

/**
 * Opens a server's port. A failed accept (EMFILE) does not end the thread, and the server does not keep a Node-RED
 * alive that ends.
 * @param {import('node:net').Server} server
 * @param {{ host: string, port: number }} address port 0: any
 * @returns {Promise<number>} the port; rejects if it cannot be opened
 */
function openPort(server, { host, port }) {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      server.on('error', () => {});
      server.unref();
      resolve(/** @type {import('node:net').AddressInfo} */ (server.address()).port);
    });
  });
}

module.exports = { openPort };

'use strict';

// The demo's cloud: an MQTT 3.1.1 broker on loopback that supports TLS 1.3 only. It is for trying out the gateway, not
// for production: it stores nothing and accepts every client.
//
// node flows/demo/cloud.js FOLDER [PORT]   FOLDER contains the certificates; PORT (8883) is only preferred.
// Sends { url, caFile } to its parent when it listens, then { first: topic } at the first record.

const path = require('path');
const tls = require('tls');
const { demoCertificates } = require('./certificates');
const { liveWithParent, sendToParent } = require('./child');

const HOST = '127.0.0.1';

/**
 * Listens on the preferred port, or on any free one if that is taken.
 * @param {tls.Server} server
 * @param {number} preferred
 * @returns {Promise<number>} the port
 */
function listen(server, preferred) {
  return new Promise((resolve, reject) => {
    server.once('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      if (error.code !== 'EADDRINUSE' || preferred === 0) return reject(error);
      listen(server, 0).then(resolve, reject);
    });
    server.listen(preferred, HOST, () => {
      resolve(/** @type {import('net').AddressInfo} */ (server.address()).port);
    });
  });
}

/**
 * @param {string} folder
 * @param {number} preferredPort
 */
async function startCloud(folder, preferredPort) {
  const { caFile, cert, key } = await demoCertificates(folder);
  const { Aedes } = await import('aedes');
  const broker = await Aedes.createBroker();
  broker.once('publish', function onPublish(packet, client) {
    // Aedes publishes its own heartbeat too, without a client.
    if (client) sendToParent({ first: packet.topic });
    else broker.once('publish', onPublish);
  });
  const server = tls.createServer({ cert, key, minVersion: 'TLSv1.3' }, (socket) => {
    // Nagle's algorithm would delay every PUBACK until the one before it is acknowledged.
    socket.setNoDelay(true);
    socket.on('error', () => {}); // a gateway that disconnects is not an error for a cloud
    broker.handle(socket);
  });
  const port = await listen(server, preferredPort);
  sendToParent({ url: `mqtts://${HOST}:${port}`, caFile });
  return { url: `mqtts://${HOST}:${port}`, caFile };
}

if (require.main === module) {
  liveWithParent();
  const [folder = '.', port = '8883'] = process.argv.slice(2);
  startCloud(path.resolve(folder), Number(port)).then(
    ({ url, caFile }) => {
      if (!process.send) console.log(`demo cloud: ${url}, CA ${caFile}`);
    },
    (error) => {
      console.error(`The demo cloud cannot start: ${error.message}`);
      process.exit(1);
    }
  );
}

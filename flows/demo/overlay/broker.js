'use strict';
// The MQTT broker behind hub: a child process that accepts everything on loopback and stores nothing. It sends its
// parent { port } when it listens, { connection: true } for each client, and { numbers, at } for each packet that
// contains records of the device.

const net = require('node:net');
const { liveWithParent, sendToParent } = require('../child');
const { HOST } = require('../gateway');

async function startBroker() {
  const { Aedes } = await import('aedes');
  const broker = await Aedes.createBroker();
  broker.on('publish', ({ payload }, client) => {
    if (!client) return;
    const numbers = [...String(payload).matchAll(/"n":(\d+)/g)].map(([, number]) => Number(number));
    if (numbers.length > 0) sendToParent({ numbers, at: Date.now() });
  });
  broker.on('client', () => sendToParent({ connection: true }));
  const server = net.createServer((socket) => {
    socket.setNoDelay(true);
    socket.on('error', () => {});
    broker.handle(socket);
  });
  server.listen(0, HOST, () =>
    sendToParent({ port: /** @type {net.AddressInfo} */ (server.address()).port })
  );
}

liveWithParent();
startBroker().catch((error) => {
  process.stderr.write(`The broker cannot start: ${error.message}\n`);
  process.exit(1);
});

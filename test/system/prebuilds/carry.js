'use strict';
// Carries one record through the engine of SEGANET_NATIVE in this Node: an MQTT device publishes with QoS 1, the engine
// gives the record to the log, acknowledges it, and publishes it over TLS to a broker that decodes it.
//
//   SEGANET_NATIVE=FILE node carry.js FOLDER   (ca.pem, server.pem, server.key)
//
// Prints one line of JSON. Works on any platform: it starts no other program.

const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const tls = require('node:tls');
const mqttPacket = require('mqtt-packet');
const native = /** @type {any} */ (require('../../../native'));
const { Engine, UplinkSource, UplinkConnection, PublishWriter, InFlightWindow, StoreSource } = native;
const { openSocket, waitConnect } = native;
const target = require('../../../native/target');
const { stage, usualPlan, until, connectDevice } = require('../../native/support/addon');

const PATIENCE_MS = 60_000;
const PAYLOAD = JSON.stringify({ t: 21.5 });
/** @param {string} name */
const certificate = (name) => fs.readFileSync(path.join(process.argv[2], name));

/** @returns {Promise<{ port: number, received: any[], close: () => void }>} a broker; received: its PUBLISH packets */
async function startBroker() {
  /** @type {any[]} */
  const received = [];
  const options = { key: certificate('server.key'), cert: certificate('server.pem') };
  const server = tls.createServer(options, (peer) => {
    const parser = mqttPacket.parser({ protocolVersion: 4 });
    parser.on('packet', (packet) => {
      received.push(packet);
      peer.write(mqttPacket.generate({ cmd: 'puback', messageId: packet.messageId }));
    });
    peer.on('data', (bytes) => parser.parse(bytes)).on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { port, received, close: () => server.close() };
}

/** @param {number} port @returns {Promise<any>} an UplinkConnection */
async function connectUplink(port) {
  const { fd } = openSocket('127.0.0.1', port, {});
  await waitConnect(fd, PATIENCE_MS);
  return new Promise((resolve, reject) => {
    const ca = certificate('ca.pem').toString();
    const connection = new UplinkConnection(
      fd,
      { ca, minVersion: 'TLSv1.3', servername: 'localhost' },
      {
        onOpen: () => resolve(connection),
        onBytes() {},
        onPubacks() {},
        onDrain() {},
        onEnd: (/** @type {string} */ code, /** @type {string} */ message) =>
          reject(new Error(code + message)),
        onLeave: (/** @type {string} */ why) => reject(new Error(`left the express path: ${why}`))
      }
    );
  });
}

/** Gives a chunk to the log and acknowledges it, as the store thread does. @param {any} store */
async function storeChunk(store) {
  await until(() => store.due() === 0, 'a chunk for the log', PATIENCE_MS);
  const meta = new Float64Array(10);
  const into = Buffer.alloc(65536);
  const length = store.take(into, meta);
  store.committed(meta[0], 1);
  return into.subarray(0, length);
}

async function main() {
  const broker = await startBroker();
  const engine = new Engine({ workers: 2, acknowledge: 'safe', log: true, lingerMs: 0 }, () => {});
  engine.applyPlan(usualPlan());
  const store = new StoreSource(engine.token, () => {});
  store.opened(0, [0, 0, 0, 0, 0, 0, 0, 0, 0]);

  const device = await connectDevice(engine.listen(stage.source, { host: '127.0.0.1', port: 0 }), 'pump');
  const puback = once(device, 'data');
  device.write(
    mqttPacket.generate({ cmd: 'publish', topic: 'd/pump', payload: PAYLOAD, qos: 1, messageId: 7 })
  );
  await until(() => engine.stats().counters.recordsReceived === 1, 'the record', PATIENCE_MS);
  engine.flush(stage.batch);
  const chunk = await storeChunk(store);
  const [acknowledged] = await puback;

  const source = new UplinkSource(engine.token, 0, () => {});
  const connection = await connectUplink(broker.port);
  source.connected(true);
  const topic = Array.from({ length: 9 }, () => [Buffer.from('gw/normal')]);
  const key = Buffer.from('g');
  const writer = new PublishWriter();
  const history = { history: /** @type {const} */ ('none'), historySuffix: key };
  writer.setStages([
    { id: stage.uplink, topic, recordTopic: topic, qos: 1, keyRaw: key, keyJson: key, ...history }
  ]);
  const window = new InFlightWindow(16, 0);
  connection.enter(source, writer, window, { order: 0, maxPacket: 1 << 20, maxUnsent: 65536 });
  const numbers = new Float64Array(13);
  const isAcknowledged = () => {
    connection.numbers(numbers);
    return numbers[2] === 1;
  };
  await until(isAcknowledged, 'the acknowledgement of the broker', PATIENCE_MS);

  const { protocol } = connection.describe();
  console.log(
    JSON.stringify({
      target,
      node: process.versions.node,
      chunk: chunk.includes('SGC1') && chunk.includes(PAYLOAD),
      puback: acknowledged.toString('hex'),
      protocol,
      topic: broker.received[0].topic,
      line: JSON.parse(broker.received[0].payload.toString().trim().split('\n').at(-1))
    })
  );
  connection.leave(performance.now());
  connection.close();
  source.close();
  store.close();
  device.destroy();
  engine.close();
  broker.close();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

'use strict';
// A common alternative: a program with mqtt.js. Devices publish to it as to any gateway (MQTT 3.1.1, QoS 1). It
// publishes each message separately with an mqtt.js client, and acknowledges a device, in the order of its messages,
// once the broker has acknowledged. It does not change mqtt.js: waiting messages are in its memory, and it decides when
// to reconnect.
//   node main.js OPTIONS
// OPTIONS is JSON with `port`, where devices connect on 127.0.0.1, and `client`, the options of mqtt.connect().
// Ends on SIGTERM. The number of waiting messages per device is not limited here, because the generator limits it.

const net = require('node:net');
const mqtt = require('mqtt');
const packets = require('mqtt-packet');

/** @typedef {{id: number, isDone: boolean}} Waiting a device's message; id: its packet identifier */

/** One device's connection. */
class Device {
  /** @param {net.Socket} socket @param {import('mqtt').MqttClient} client */
  constructor(socket, client) {
    this.socket = socket;
    this.client = client;
    /** Messages in the order of arrival. @type {Waiting[]} */
    this.waiting = [];
    const parser = packets.parser({ protocolVersion: 4 });
    parser.on('packet', (packet) => this.#take(packet));
    parser.on('error', () => socket.destroy());
    socket.setNoDelay(true);
    socket.on('data', (bytes) => parser.parse(bytes));
    socket.on('error', () => socket.destroy());
  }

  /** @param {import('mqtt-packet').Packet} packet */
  #take(packet) {
    const { cmd } = packet;
    if (cmd === 'connect') this.#say({ cmd: 'connack', returnCode: 0, sessionPresent: false });
    else if (cmd === 'pingreq') this.#say({ cmd: 'pingresp' });
    else if (cmd === 'publish') this.#forward(packet);
    else this.socket.destroy();
  }

  /** @param {import('mqtt-packet').IPublishPacket} packet */
  #forward({ topic, payload, qos, messageId = 0 }) {
    const entry = { id: messageId, isDone: false };
    if (qos === 1) this.waiting.push(entry);
    this.client.publish(topic, payload, { qos: 1 }, (error) => {
      if (error) return; // the client is ending: the message is not confirmed
      entry.isDone = true;
      this.#acknowledge();
    });
  }

  /** [MQTT-4.6.0-2] Sends PUBACKs in the order of the messages. */
  #acknowledge() {
    while (this.waiting[0]?.isDone) {
      const { id } = /** @type {Waiting} */ (this.waiting.shift());
      this.#say({ cmd: 'puback', messageId: id });
    }
  }

  /** @param {import('mqtt-packet').Packet} packet */
  #say(packet) {
    if (this.socket.writable) this.socket.write(packets.generate(packet));
  }
}

function main() {
  const { port, client: options } = JSON.parse(process.argv[2]);
  const client = mqtt.connect(options);
  client.on('connect', () => console.log('connected'));
  client.on('close', () => console.log('closed'));
  client.on('error', (error) => console.log(`error ${error.message}`));
  const server = net.createServer((socket) => new Device(socket, client));
  server.listen(port, '127.0.0.1');
  process.once('SIGTERM', () => {
    server.close();
    client.end(true, () => process.exit(0));
  });
}

main();

'use strict';
// What everybody has: a program with mqtt.js. Devices publish to it as to any gateway (MQTT 3.1.1, QoS 1), it publishes each message
// singly with a client of mqtt.js, and acknowledges a device, in the order of its messages, once the broker has acknowledged.
// Nothing of mqtt.js is changed or helped: what waits is in its memory, and when it connects again is its own affair.
// node main.js OPTIONS: JSON with `port`, where devices connect on 127.0.0.1, and `client`, the options of mqtt.connect().
// Ends on SIGTERM. A device's messages that wait are not limited: the generator has a limit of its own.

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
    /** In the order of arrival. @type {Waiting[]} */
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
      if (error) return; // ending: it was not confirmed
      entry.isDone = true;
      this.#acknowledge();
    });
  }

  /** [MQTT-4.6.0-2] In the order in which the messages came. */
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

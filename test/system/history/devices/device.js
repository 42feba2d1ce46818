'use strict';
// A correct device: MQTT 3.1.1 with its own session, QoS 1. Messages without a PUBACK are sent again after a
// reconnection, in order, with DUP and the same packet id [MQTT-4.4.0-1, MQTT-4.6.0-1]. mqtt.js does not set DUP, and
// it does not report when it sends.

const net = require('node:net');
const packets = require('mqtt-packet');
const { topicOf } = require('./reading');

const CONNECT_MS = 3000;
const RETRY_MS = 100;

class Device {
  /**
   * @param {object} options
   * @param {string} options.id @param {number} options.port @param {string} [options.host]
   * @param {{clientId: string, username: string, password: string}} [options.login] the client id is `id` without it
   * @param {(device: string, recordClass: number) => string} [options.topicOf]
   * @param {number} options.maxUnacked no more are sent before some are acknowledged
   * @param {(recordClass: number, n: number) => {payload: string, hash: string}} options.payloadOf
   * @param {(event: import('../history').DeviceEvent) => void} options.log @param {() => number} options.clock
   * @param {(what: string, text: string) => void} options.onProblem
   */
  constructor(options) {
    this.options = options;
    this.id = options.id;
    this.connection = 0;
    this.isConnected = false;
    this.isStopped = false;
    /** Sent and not acknowledged, by packet id, in the order of sending. @type {Map<number, any>} */
    this.unacked = new Map();
    this.nextId = 1;
    this.next = [0, 0, 0, 0, 0];
    /** @type {net.Socket | null} */
    this.socket = null;
    /** @type {NodeJS.Timeout | undefined} */
    this.timer = undefined;
  }

  connect() {
    if (this.isStopped) return;
    const { port, host = '127.0.0.1', login } = this.options;
    const socket = net.connect({ port, host, noDelay: true });
    const parser = packets.parser({ protocolVersion: 4 });
    this.socket = socket;
    this.connection += 1;
    this.timer = setTimeout(() => socket.destroy(), CONNECT_MS);
    const hello = {
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: 4,
      clientId: this.id,
      clean: false,
      keepalive: 0,
      ...login
    };
    socket.on('connect', () => socket.write(packets.generate(/** @type {any} */ (hello))));
    socket.on('data', (bytes) => parser.parse(bytes));
    socket.on('error', () => {});
    socket.on('close', () => this.#closed(socket));
    parser.on('error', (error) => {
      this.options.onProblem('device', `${this.id} cannot read its gateway: ${error.message}`);
      socket.destroy();
    });
    parser.on('packet', (packet) => {
      if (packet.cmd === 'connack') this.#accepted(packet);
      else if (packet.cmd === 'puback') this.#acknowledged(/** @type {number} */ (packet.messageId));
    });
  }

  /** @param {packets.IConnackPacket} packet */
  #accepted({ returnCode }) {
    clearTimeout(this.timer);
    if (returnCode !== 0) {
      this.socket?.destroy();
      return;
    }
    this.isConnected = true;
    for (const message of this.unacked.values()) this.#send(message, true);
  }

  /** @param {net.Socket} socket */
  #closed(socket) {
    if (socket !== this.socket) return;
    clearTimeout(this.timer);
    this.isConnected = false;
    this.socket = null;
    if (!this.isStopped) this.timer = setTimeout(() => this.connect(), RETRY_MS);
  }

  /** @param {number} recordClass @returns {boolean} true if it was sent */
  publish(recordClass) {
    if (!this.isConnected || this.unacked.size >= this.options.maxUnacked) return false;
    const n = this.next[recordClass]++;
    while (this.unacked.has(this.nextId)) this.nextId = (this.nextId % 65535) + 1;
    const messageId = this.nextId;
    this.nextId = (this.nextId % 65535) + 1;
    const message = { class: recordClass, n, messageId, ...this.options.payloadOf(recordClass, n) };
    this.unacked.set(messageId, message);
    this.#send(message, false);
    return true;
  }

  /** @param {any} message @param {boolean} dup */
  #send({ class: recordClass, n, messageId, payload, hash }, dup) {
    const { log, clock, topicOf: ownTopic = topicOf } = this.options;
    const event = {
      device: this.id,
      class: recordClass,
      n,
      time: clock(),
      connection: this.connection,
      hash,
      dup
    };
    log({ type: 'send', ...event });
    const topic = ownTopic(this.id, recordClass);
    this.socket?.write(
      packets.generate({ cmd: 'publish', topic, payload, qos: 1, messageId, dup, retain: false })
    );
  }

  /** @param {number} messageId */
  #acknowledged(messageId) {
    const { log, clock, onProblem } = this.options;
    const message = this.unacked.get(messageId);
    if (!message) {
      onProblem('device', `${this.id} got a PUBACK for packet ${messageId}, which it did not send`);
      return;
    }
    // [MQTT-4.6.0-2] in the order of the PUBLISH packets.
    const [oldest] = this.unacked.keys();
    if (oldest !== messageId) {
      onProblem('device', `${this.id} got the PUBACK of packet ${messageId} before that of packet ${oldest}`);
    }
    this.unacked.delete(messageId);
    const { class: recordClass, n } = message;
    log({ type: 'ack', device: this.id, class: recordClass, n, time: clock(), connection: this.connection });
  }

  stop() {
    this.isStopped = true;
    clearTimeout(this.timer);
    this.socket?.destroy();
  }
}

module.exports = { Device };

'use strict';
// The minimum of a broker for the MQTT conformance clients, made of the gateway's own modules: each record that a
// device publishes goes back as a command to every device; the listener's sessions decide which devices receive it. It
// lacks what the listener does not promise: retained messages, shared subscriptions, QoS 2 to devices.

const native = require('../../native');
const { frameLength, frameMessage } = require('../../nodes/lib/base/frame');

const SOURCE = 1;
const FRAME_BYTES = 1 << 20;
const KEPT_PER_DEVICE = 1000;
const TIMEOUT_MS = 5000;

/** @typedef {{topic: string, payload: Uint8Array, qos: 0 | 1}} Message */

class Relay {
  /** @param {object} [settings] of the source stage */
  constructor(settings = {}) {
    /** Known devices, and their pending messages. @type {Map<string, Message[]>} */
    this.devices = new Map();
    /** @type {Map<number, {device: string, message: Message}>} */
    this.out = new Map();
    this.lastTicket = 0;
    this.buffer = Buffer.alloc(FRAME_BYTES);
    this.engine = new native.Engine({ workers: 2, acknowledge: 'received' }, () => this.run());
    this.engine.applyPlan({
      stages: [{ id: SOURCE, kind: 'source', next: [], messages: true, ...settings }]
    });
  }

  /** @param {Partial<import('../../native').ListenOptions>} [options] @returns {number} port */
  listen(options = {}) {
    return this.engine.listen(SOURCE, { host: '127.0.0.1', port: 0, ...options });
  }

  run() {
    for (const { kind, device } of this.engine.takeEvents(65536)) {
      if (!this.devices.has(device)) this.devices.set(device, []);
      if (kind === 'listening') this.flush(device);
    }
    this.takeResults();
    for (let bytes = this.take(); bytes > 0; bytes = this.take()) {
      for (let at = 0; at < bytes; at += frameLength(this.buffer, at, bytes)) {
        this.spread(/** @type {any} */ (frameMessage(this.buffer, at, undefined)));
      }
    }
  }

  /** @returns {number} bytes of frames in the buffer */
  take() {
    return this.engine.takeMessages(this.buffer);
  }

  /** @param {{topic: string, payload: Buffer, qos: 0 | 1}} record */
  spread({ topic, payload, qos }) {
    for (const device of this.devices.keys()) this.send(device, { topic, payload, qos });
  }

  /** @param {string} device @param {Message} message */
  send(device, message) {
    const ticket = ++this.lastTicket;
    this.out.set(ticket, { device, message });
    this.engine.command(ticket, device, message.topic, message.payload, message.qos, TIMEOUT_MS);
  }

  takeResults() {
    const results = this.engine.takeCommandResults();
    for (let i = 0; i < results.length; i += 2) {
      const sent = this.out.get(results[i]);
      this.out.delete(results[i]);
      const { OFFLINE, BUSY } = native.CommandEnd;
      const comesLater = results[i + 1] === BUSY || (results[i + 1] === OFFLINE && sent?.message.qos === 1);
      if (sent && comesLater) this.keep(sent.device, sent.message);
      else if (sent && results[i + 1] === native.CommandEnd.TAKEN) this.flush(sent.device);
    }
  }

  /** @param {string} device @param {Message} message */
  keep(device, message) {
    const waiting = /** @type {Message[]} */ (this.devices.get(device));
    if (waiting.length < KEPT_PER_DEVICE) waiting.push(message);
  }

  /** @param {string} device */
  flush(device) {
    const waiting = /** @type {Message[]} */ (this.devices.get(device)).splice(0);
    for (const message of waiting) this.send(device, message);
  }

  close() {
    this.engine.close();
  }
}

exports.Relay = Relay;

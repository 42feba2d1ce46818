'use strict';
// Devices that know both gateways of a pair, and what the cloud gets of their records.

const mqtt = require('mqtt');
const { parseEnvelope } = require('../../fixtures/devices/device');

/**
 * @typedef {object} Verdict
 * @property {number} acked records that a device has an acknowledgement for
 * @property {string[]} lost of these, those that the cloud does not have
 * @property {number} disorder first copies of a device and class that arrived after a later record, among live records,
 *   or among those of the backlog (docs/understand/guarantees.md, 2)
 * @property {number} copies
 * @property {number} otherKey copies with another key of records that their device sent only once
 * @property {number[]} gapsMs longest time without an acknowledgement, of each device
 */

class Device {
  #isEnding = false;

  /** @param {string} name @param {{ host: string, port: number }[]} servers @param {number} everyMs */
  constructor(name, servers, everyMs) {
    this.name = name;
    this.everyMs = everyMs;
    this.count = 0;
    /** @type {Set<string>} */
    this.acked = new Set();
    /** @type {Set<string>} */
    this.sent = new Set();
    /** Sent again by the client. @type {Set<string>} */
    this.again = new Set();
    this.lastAckAt = performance.now();
    this.gapMs = 0;
    this.client = mqtt.connect({
      servers: servers.map((server) => ({ ...server, protocol: /** @type {'mqtt'} */ ('mqtt') })),
      clientId: name,
      clean: false,
      reconnectPeriod: 100,
      connectTimeout: 2000,
      keepalive: 2
    });
    this.client.on('error', () => {});
    this.client.on('packetsend', (packet) => {
      if (packet.cmd !== 'publish') return;
      const value = String(packet.payload);
      (this.sent.has(value) ? this.again : this.sent).add(value);
    });
  }

  /** Publishes until end(), a few records at a time. */
  async run() {
    while (!this.#isEnding) {
      const number = ++this.count;
      const topic = `d/${this.name}/${number % 4 === 0 ? 'alarm' : 'value'}`;
      const value = String(number);
      this.client.publish(topic, value, { qos: 1 }, (error) => {
        if (error) return;
        this.acked.add(value);
        const now = performance.now();
        this.gapMs = Math.max(this.gapMs, now - this.lastAckAt);
        this.lastAckAt = now;
      });
      while (this.count - this.acked.size > 20 && !this.#isEnding) await pause(10);
      await pause(this.everyMs);
    }
  }

  stop() {
    this.#isEnding = true;
  }
}

class Devices {
  /**
   * @param {{ servers: { host: string, port: number }[], devices: number, everyMs: number, cloudPort: number }} options
   */
  constructor({ servers, devices, everyMs, cloudPort }) {
    this.devices = Array.from({ length: devices }, (_, i) => new Device(`dev${i}`, servers, everyMs));
    this.cloudPort = cloudPort;
    /** By device and value: its keys. @type {Map<string, Set<string>>} */
    this.arrived = new Map();
    this.copies = 0;
    this.disorder = 0;
    /** Latest first copy by device and class, live or of the backlog. @type {Map<string, number>} */
    this.latest = new Map();
  }

  async start() {
    this.receiver = await mqtt.connectAsync(`mqtt://127.0.0.1:${this.cloudPort}`, {
      clientId: 'receiver',
      clean: false,
      protocolVersion: 5,
      properties: { sessionExpiryInterval: 3600 },
      reconnectPeriod: 100
    });
    this.receiver.on('error', () => {});
    this.receiver.on('message', (_topic, payload, { properties }) => {
      const { 'seganet-key': key = '', 'seganet-history': history = '' } = properties?.userProperties ?? {};
      for (const { d, t, p } of parseEnvelope(payload)) {
        const lane = `${d} ${t.endsWith('alarm')} ${history}`;
        this.#arrive(`${d} ${p}`, lane, Number(p), String(key));
      }
    });
    await this.receiver.subscribeAsync('gw/#', { qos: 1 });
    this.running = this.devices.map((device) => device.run());
  }

  /** @param {string} id of the record @param {string} lane @param {number} value @param {string} key */
  #arrive(id, lane, value, key) {
    const keys = this.arrived.get(id);
    if (keys) {
      this.copies++;
      keys.add(key);
      return;
    }
    this.arrived.set(id, new Set([key]));
    const latest = this.latest.get(lane) ?? 0;
    if (value < latest) this.disorder++;
    else this.latest.set(lane, value);
  }

  /** Stops publishing, and waits until each record has its acknowledgement. @param {number} timeoutMs */
  async finish(timeoutMs) {
    for (const device of this.devices) device.stop();
    await Promise.all(this.running ?? []);
    const until = performance.now() + timeoutMs;
    const isOpen = () => this.devices.some(({ count, acked }) => acked.size < count);
    while (isOpen() && performance.now() < until) await pause(50);
    while (this.verdict().lost.length > 0 && performance.now() < until) await pause(50);
    return this.verdict();
  }

  /** @returns {Verdict} */
  verdict() {
    const { copies, disorder } = this;
    const lost = this.devices.flatMap(({ name, acked }) =>
      [...acked].map((value) => `${name} ${value}`).filter((id) => !this.arrived.has(id))
    );
    const otherKey = this.devices
      .flatMap(({ name, acked, again }) =>
        [...acked].filter((value) => !again.has(value)).map((v) => `${name} ${v}`)
      )
      .filter((id) => (this.arrived.get(id)?.size ?? 0) > 1).length;
    const acked = this.devices.reduce((sum, device) => sum + device.acked.size, 0);
    return { acked, lost, disorder, copies, otherKey, gapsMs: this.devices.map(({ gapMs }) => gapMs) };
  }

  /** Longest times without an acknowledgement since the last call. @returns {number[]} ms, of each device */
  gaps() {
    return this.devices.map((device) => {
      const gap = device.gapMs;
      device.gapMs = 0;
      return Math.round(gap);
    });
  }

  async close() {
    for (const { client } of this.devices) await client.endAsync(true);
    await this.receiver?.endAsync(true);
  }
}

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

module.exports = { Devices };

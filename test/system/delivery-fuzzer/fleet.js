'use strict';
// Devices that publish records with programs, and what became of each record.

const mqtt = require('mqtt');
const { makeProgram, meaningOf } = require('./programs');

const DEVICES = 4;
const RECONNECT_MS = 100;
/** Reason code of a record that the flow did not deliver. */
const REFUSED = 0x83;

/**
 * @typedef {object} Sent a record
 * @property {number} id
 * @property {string[]} p steps of the first function
 * @property {string[]} q of the second one
 * @property {'' | 'acknowledged' | 'refused'} end '' = none yet
 */

/**
 * What the flow does with a record: 'arrives': it is acknowledged, and the cloud gets it; 'ends': its branches end, so
 * it is acknowledged or, if a node fails, refused; 'refused': it is refused; 'late': a function sends it after its end.
 * @typedef {'arrives' | 'ends' | 'refused' | 'late'} Fate
 */

/** @param {Pick<Sent, 'p' | 'q'>} record @param {boolean} catches @returns {Fate} */
function fateOf({ p, q }, catches) {
  const first = meaningOf(p);
  if (first === 'late') return 'late';
  if (first === 'drops') return 'ends';
  // A Catch node gets a message that failed, and leads it to the uplink.
  if (first === 'fails') return catches ? 'arrives' : 'refused';
  if (first === 'never') return 'refused';
  // What several records have in one message, the second function sends on.
  if (p.includes('k')) return 'arrives';
  const second = meaningOf(q);
  if (second === 'sends') return 'arrives';
  if (catches && (second === 'fails' || p.includes('e') || q.includes('e'))) return 'arrives';
  if (second === 'never') return 'refused';
  return 'late';
}

/** Publishes its records again on each connection until they have an answer, in order. mqtt.js does so one by one. */
class Device {
  /** @param {number} port @param {string} id @param {() => void} onAcknowledged */
  constructor(port, id, onAcknowledged) {
    this.port = port;
    this.id = id;
    this.onAcknowledged = onAcknowledged;
    /** Without an end. @type {Set<Sent>} */
    this.open = new Set();
    this.isEnded = false;
    this.#connect();
  }

  #connect() {
    if (this.isEnded) return;
    const { port, id } = this;
    const given = { protocolVersion: /** @type {const} */ (5), reconnectPeriod: 0, connectTimeout: 5000 };
    const client = mqtt.connect({ host: '127.0.0.1', port, clientId: id, ...given });
    this.client = client;
    client.on('error', () => {});
    client.on('connect', () => {
      for (const record of this.open) this.#publish(client, record);
    });
    client.on('close', () => setTimeout(() => this.#connect(), RECONNECT_MS));
  }

  /** @param {import('mqtt').MqttClient} client @param {Sent} record */
  #publish(client, record) {
    const { id, p, q } = record;
    client.publish('t', JSON.stringify({ r: id, p, q }), { qos: 1 }, (error) => {
      // Other errors are those of a connection that ended.
      const isRefused = error && 'code' in error && error.code === REFUSED;
      if ((error && !isRefused) || record.end !== '') return;
      record.end = error ? 'refused' : 'acknowledged';
      this.open.delete(record);
      if (!error) this.onAcknowledged();
    });
  }

  /** @param {Sent} record */
  send(record) {
    this.open.add(record);
    if (this.client?.connected) this.#publish(this.client, record);
  }

  async end() {
    this.isEnded = true;
    await this.client?.endAsync(true);
  }
}

class Fleet {
  /** @param {import('./programs').Draws} draws @param {number} port */
  constructor(draws, port) {
    this.draws = draws;
    /** @type {Map<number, Sent>} */
    this.records = new Map();
    this.onAcknowledged = () => {};
    this.devices = Array.from(
      { length: DEVICES },
      (_, i) => new Device(port, `d${i}`, () => this.onAcknowledged())
    );
  }

  publish() {
    const { pick, chance } = this.draws;
    const p = makeProgram(this.draws, true);
    const q = chance(70) ? ['s', 'd'] : makeProgram(this.draws, false);
    /** @type {Sent} */
    const record = { id: this.records.size + 1, p, q, end: '' };
    this.records.set(record.id, record);
    pick(this.devices).send(record);
  }

  /** Number of records without an end. */
  get open() {
    return this.devices.reduce((sum, { open }) => sum + open.size, 0);
  }

  end() {
    return Promise.all(this.devices.map((device) => device.end()));
  }
}

module.exports = { Fleet, fateOf };

'use strict';
// Between the gateway and the cloud's broker: a link that can fail in every way of the schedule, and that records
// arrivals. A record has arrived when the broker has acknowledged it.

const net = require('node:net');
const { once } = require('node:events');
const { nameOf } = require('./history');
const { hashOf } = require('./devices/payload');
const { Relay } = require('./relay');
const { type } = require('./frames');

/** @typedef {import('./history').History} History */

const CALM = {
  /** Connections are accepted and nothing is passed on. */
  frozen: false,
  /** CONNACK code for every CONNECT, 0 = the broker's own. */
  connack: 0,
  /** MQTT 5 properties of the CONNACK, 0 = the broker's own. */
  receiveMaximum: 0,
  maximumPacketSize: 0,
  /** Delay of PUBACKs. */
  delayMs: 0,
  /** Towards the broker, 0 = without a limit. */
  bytesPerSecond: 0,
  /** PUBACK code for every PUBLISH, 0 = the broker's own. MQTT 5 only. */
  quota: 0,
  /** PUBACK 0x97 for one PUBLISH in this many; 0 = none. MQTT 5 only. */
  quotaEvery: 0,
  /** PUBACK 0x87 for a PUBLISH with a chosen record, one in this many; 0 = none. MQTT 5 only. */
  refuseEvery: 0
};

/**
 * Chooses the same records every time, spread over devices, classes and numbers.
 * @param {import('./history').RecordName} record @param {number} every
 */
function isChosen(record, every) {
  return parseInt(hashOf(nameOf(record)).slice(0, 8), 16) % every === 0;
}

/** Without a look at the sockets for longer than this, the process slept. */
const PAUSE_MS = 100;

class Proxy {
  /**
   * @param {object} options
   * @param {number} options.port to listen on @param {number} options.target port of the broker
   * @param {number} options.window PUBLISH packets in flight that the gateway is configured for
   * @param {History} options.history @param {() => number} options.clock
   */
  constructor({ port, target, window, history, clock }) {
    this.port = port;
    this.target = target;
    this.window = window;
    this.history = history;
    this.clock = clock;
    this.conditions = { ...CALM };
    /** @type {Set<Relay>} */
    this.relays = new Set();
    /** CONNECT packets received. */
    this.connects = 0;
    /** PUBLISH packets received while one in `quotaEvery` was refused. */
    this.publishes = 0;
    this.lookedAt = clock();
    this.server = net.createServer((client) => {
      // Without a connection, nothing looks.
      if (this.relays.size === 0) this.lookedAt = clock();
      this.relays.add(new Relay(client, this));
    });
  }

  async open() {
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  async close() {
    for (const relay of this.relays) relay.close();
    this.server.close();
    await once(this.server, 'close');
  }

  /** Present connections pass nothing on from now on, nor do new ones until thaw(). */
  freeze() {
    this.conditions.frozen = true;
    for (const relay of this.relays) relay.freeze();
  }

  /** New connections work. Earlier ones stay frozen, as behind a NAT that has forgotten them. */
  thaw() {
    this.conditions.frozen = false;
    for (const relay of this.relays) relay.thaw();
  }

  /**
   * RST in the middle of the next PUBLISH or PUBACK, at the latest after `withinMs`.
   * @param {'publish' | 'puback'} where
   * @param {number} withinMs
   */
  async breakNext(where, withinMs) {
    const relays = [...this.relays];
    for (const relay of relays) relay.breakAt = where === 'publish' ? type.PUBLISH : type.PUBACK;
    await new Promise((resolve) => setTimeout(resolve, withinMs));
    for (const relay of relays) relay.reset();
  }

  /** A busy machine may let this process sleep: what it reads then may have left the gateway at any time meanwhile. */
  awake() {
    const now = this.clock();
    if (now - this.lookedAt > PAUSE_MS) this.history.pauses?.push({ from: this.lookedAt, until: now });
    this.lookedAt = now;
  }

  /** Ends all connections, so that new CONNACK conditions take effect. */
  reset() {
    for (const relay of [...this.relays]) relay.reset();
  }

  /** @param {Relay} relay that has sent its CONNECT: everything earlier in its session is over */
  opened(relay) {
    this.connects += 1;
    for (const other of this.relays) {
      if (other !== relay && other.clientId === relay.clientId) other.disrupted();
    }
  }

  disruption() {
    this.history.disruptions.push({ kind: 'connection', time: this.clock() });
  }

  /** @param {import('./devices/reading').Reading} reading @param {number} version @returns {number} code, 0 = none */
  refusalOf({ records }, version) {
    if (version < 5) return 0;
    const { quota, quotaEvery, refuseEvery } = this.conditions;
    if (quota) return quota;
    if (quotaEvery > 0 && ++this.publishes % quotaEvery === 0) return 0x97;
    const isRefused = refuseEvery > 0 && records.some((record) => isChosen(record, refuseEvery));
    return isRefused ? 0x87 : 0;
  }

  /** The broker's PUBACK has arrived. @param {import('./relay').Pending & {arrivals?: any[]}} entry */
  arrived(entry) {
    const { reading, bytes, sent } = entry;
    const { topic, key, historical, content } = reading;
    const time = this.clock();
    entry.arrivals = reading.records.map((record) => {
      const arrival = { ...record, topic, bytes, key, historical, content, sent, time, passed: false };
      this.history.arrivals.push(arrival);
      return arrival;
    });
  }

  /** The gateway got its PUBACK. @param {import('./relay').Pending & {arrivals?: any[]}} entry */
  answered({ reading, sent, refused, arrivals = [] }) {
    for (const arrival of arrivals) arrival.passed = true;
    if (!refused) return;
    const time = this.clock();
    for (const { device, class: recordClass, n } of reading.records) {
      this.history.refusals.push({ device, class: recordClass, n, code: refused, sent, time });
    }
  }

  /** @param {string} what @param {string} text */
  problem(what, text) {
    if (this.history.findings.length < 100)
      this.history.findings.push({ what, text: `at ${Math.round(this.clock())} ms: ${text}` });
  }
}

module.exports = { Proxy, CALM, isChosen };

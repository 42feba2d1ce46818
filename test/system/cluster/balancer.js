'use strict';
// A load balancer for MQTT devices, as docker/cluster/haproxy.cfg describes it, which also measures how long devices
// are away: the client id chooses the gateway, and a gateway whose health check fails twice loses its devices.

const { createHash } = require('node:crypto');
const net = require('node:net');

const CHECK_MS = 250;
const CHECK_TIMEOUT_MS = 500;
const FALL = 2;
/** Of MQTT: CONNECT has its client id behind the fixed header, the protocol name, and 4 to 6 more bytes. */
const MOST_HEAD = 512;

/**
 * @typedef {object} Target a gateway
 * @property {string} name
 * @property {number} port of its MQTT listener
 * @property {number} statusPort
 *
 * @typedef {object} State
 * @property {number} failures health checks in a row
 * @property {boolean} drains it keeps its devices, and gets no new ones
 * @property {Map<net.Socket, string>} sockets connections to it, with their client ids
 */

class Balancer {
  /** @param {Target[]} targets */
  constructor(targets) {
    this.targets = targets;
    /** @type {Map<Target, State>} */
    this.states = new Map(
      targets.map((target) => [target, { failures: FALL, drains: false, sockets: new Map() }])
    );
    /** When each device that is away has lost its gateway. @type {Map<string, number>} */
    this.away = new Map();
    /** How long devices were away, ms. @type {number[]} */
    this.gaps = [];
    this.port = 0;
    this.server = net.createServer((device) => this.#take(device));
    this.timers = targets.map((target) => setInterval(() => void this.#check(target), CHECK_MS));
  }

  /** @param {number} port @returns {Promise<this>} */
  async listen(port) {
    await new Promise((resolve) => this.server.listen(port, '127.0.0.1', () => resolve(undefined)));
    this.port = port;
    return this;
  }

  /** @param {Target} target */
  #state(target) {
    return /** @type {State} */ (this.states.get(target));
  }

  /** True if new devices may go there. @param {Target} target */
  isUp(target) {
    const { failures, drains } = this.#state(target);
    return failures < FALL && !drains;
  }

  /** @param {Target} target */
  async #check(target) {
    const state = this.#state(target);
    const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
    const url = `http://127.0.0.1:${target.statusPort}/seganet/healthz?draining=404`;
    const status = await fetch(url, { signal }).then(
      (answer) => answer.status,
      () => 0
    );
    state.drains = status === 404;
    state.failures = status === 200 || state.drains ? 0 : state.failures + 1;
    if (state.failures === FALL) for (const socket of state.sockets.keys()) socket.destroy();
  }

  /** The gateways in the order in which a client id wants them. @param {string} clientId */
  #order(clientId) {
    const weight = (/** @type {Target} */ { name }) => hash(`${name} ${clientId}`);
    return this.targets
      .filter((target) => this.isUp(target))
      .sort((a, b) => (weight(a) < weight(b) ? -1 : 1));
  }

  /** @param {net.Socket} device */
  #take(device) {
    device.on('error', () => {});
    device.setNoDelay(true);
    device.once('data', (head) => {
      const clientId = clientIdOf(head.subarray(0, MOST_HEAD));
      const [target] = this.#order(clientId);
      if (!target) return void device.destroy();
      const { sockets } = this.#state(target);
      const gateway = net.connect(target.port, '127.0.0.1', () => gateway.write(head));
      gateway.setNoDelay(true);
      sockets.set(gateway, clientId);
      gateway.on('error', () => {});
      let isIn = false;
      gateway.once('data', () => {
        isIn = true;
        const since = this.away.get(clientId);
        if (since !== undefined) this.gaps.push(performance.now() - since);
        this.away.delete(clientId);
      });
      gateway.on('close', () => {
        sockets.delete(gateway);
        if (isIn && !device.destroyed) this.#lose(clientId);
        device.destroy();
      });
      device.on('close', () => gateway.destroy());
      device.pipe(gateway);
      gateway.pipe(device);
    });
  }

  /** The gateway no longer answers: its devices are away from now on. @param {Target} target */
  lost(target) {
    for (const clientId of this.#state(target).sockets.values()) this.#lose(clientId);
  }

  /** @param {string} clientId */
  #lose(clientId) {
    if (!this.away.has(clientId)) this.away.set(clientId, performance.now());
  }

  close() {
    for (const timer of this.timers) clearInterval(timer);
    this.server.close();
    for (const { sockets } of this.states.values()) for (const socket of sockets.keys()) socket.destroy();
  }
}

/** @param {string} text */
const hash = (text) => createHash('md5').update(text).digest('hex');

/** Reads the client id of a CONNECT [MQTT 3.1.3.1]. @param {Buffer} head @returns {string} */
function clientIdOf(head) {
  let at = 1;
  while (head[at++] & 0x80);
  at += 2 + head.readUInt16BE(at);
  const isV5 = head[at] === 5;
  at += 4;
  // The properties of the load generator's CONNECT, if it has any, fit into one byte of length.
  if (isV5) at += 1 + head[at];
  return head.toString('utf8', at + 2, at + 2 + head.readUInt16BE(at));
}

module.exports = { Balancer };

'use strict';
// Many devices of several tenants in a process of their own: node fleet.js OPTIONS (JSON). Prints a line when all are
// connected, and one at SIGTERM.

const mqtt = require('mqtt');

/**
 * @typedef {object} FleetOptions
 * @property {number} port of the front
 * @property {string[]} tenants
 * @property {number} each devices of a tenant
 * @property {number} everyMs time between two records of a device
 * @property {string} password of all
 */

/** Logins at once: each costs the front some milliseconds. */
const AT_ONCE = 32;
const CONNECT_MS = 60_000;
const DRAIN_MS = 20_000;

class Fleet {
  #options;
  /** @type {mqtt.MqttClient[]} */
  #clients = [];
  #pending = 0;
  #isOver = false;
  counts = { sent: 0, acked: 0, refused: 0, losses: 0 };
  /** @type {number[]} ms from the publish to the PUBACK */
  puback = [];

  /** @param {FleetOptions} options */
  constructor(options) {
    this.#options = options;
  }

  async connect() {
    const { port, tenants, each, password } = this.#options;
    const users = tenants.flatMap((tenant) =>
      Array.from({ length: each }, (_, i) => ({ tenant, device: `pump-${i + 1}` }))
    );
    const queue = users.values();
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const { tenant, device } of queue) {
          const client = await mqtt.connectAsync({
            host: '127.0.0.1',
            port,
            clientId: `${tenant}-${device}`,
            username: `${tenant}/${device}`,
            password,
            protocolVersion: 5,
            reconnectPeriod: 0,
            connectTimeout: CONNECT_MS
          });
          client.on('error', () => {});
          client.on('close', () => (this.counts.losses += this.#isOver ? 0 : 1));
          this.#clients.push(client);
        }
      })
    );
  }

  /** The devices send one after the other, evenly spread over the time. */
  start() {
    const { everyMs } = this.#options;
    const from = performance.now();
    let due = 0;
    this.timer = setInterval(() => {
      const wanted = ((performance.now() - from) / everyMs) * this.#clients.length;
      for (; due < wanted; due++) void this.#send(this.#clients[due % this.#clients.length]);
    }, 10);
  }

  /** @param {mqtt.MqttClient} client */
  async #send(client) {
    const from = performance.now();
    this.counts.sent += 1;
    this.#pending += 1;
    try {
      await client.publishAsync('temperature', '21.5', { qos: 1 });
      this.counts.acked += 1;
      this.puback.push(Math.round((performance.now() - from) * 10) / 10);
    } catch {
      this.counts.refused += 1;
    }
    this.#pending -= 1;
  }

  async stop() {
    clearInterval(this.timer);
    const until = performance.now() + DRAIN_MS;
    while (this.#pending > 0 && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    this.#isOver = true;
    for (const client of this.#clients) client.end(true);
  }
}

/** @param {object} value */
const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

async function main() {
  const fleet = new Fleet(JSON.parse(process.argv[2]));
  const from = performance.now();
  await fleet.connect();
  print({ connected: true, seconds: (performance.now() - from) / 1000 });
  process.once('SIGTERM', async () => {
    await fleet.stop();
    process.stdout.write(`${JSON.stringify({ ...fleet.counts, puback: fleet.puback })}\n`, () =>
      process.exit(0)
    );
  });
  fleet.start();
}

if (require.main === module) void main();

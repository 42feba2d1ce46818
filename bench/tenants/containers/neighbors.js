'use strict';
// What a hostile tenant costs its neighbor (criterion 14). The neighbor is a gateway in a container behind a front, and
// a device of it sends record after record: time until the tenant's flow has it, and to the PUBACK, which the front
// sends when the tenant has acknowledged it; alone and beside each attack, in the same container. Seconds with the
// attacker running and seconds with it paused take turns, so that other work on this machine meets both alike.

const http = require('node:http');
const { setTimeout: sleep } = require('node:timers/promises');
const { shortenTimeSlices } = require('../../../native');
const { percentile } = require('../../stats/latency');
const { onStage } = require('../stage');

const NODE = '/usr/local/bin/node';
const HTTP_PORT = 8080;
/** Enough records a second for a p99. */
const EVERY_MS = 5;
/** The attack has begun when the first records are measured. */
const BEGIN_MS = 1000;
/** Length of a turn, and the rest before it, in which the disk writes what is left of the last one. */
const TURN_MS = 1000;
const REST_MS = 300;
/** Neither tenant sleeps for want of work. */
const AWAKE_S = 3600;
const TENANT = 'blue';
/** Alarms, for the rules of the front: they wait for no batch. */
const TOPIC = 'alarm';

/** Does what the path says, until it is stopped. */
const ATTACKER = `const fs = require('fs');
const { spawn } = require('child_process');
const { Worker } = require('worker_threads');
const node = (code) => spawn(process.execPath, ['-e', code], { stdio: 'ignore' }).on('error', () => {});
const deeds = {
  loop: () => { for (let i = 0; i < 4; i++) new Worker('for (;;);', { eval: true }); },
  memory: () => {
    const eat = () => node('const all = []; for (;;) all.push(Buffer.alloc(1 << 20, 1));').on('exit', () => setTimeout(eat, 50));
    eat();
  },
  fork: () => void setInterval(() => { for (let i = 0; i < 20; i++) node('setTimeout(() => {}, 60000)'); }, 100),
  disk: () => {
    const block = Buffer.alloc(1 << 20, 1);
    const fd = fs.openSync('/data/full', 'w');
    setInterval(() => { for (let i = 0; i < 32; i++) { try { fs.writeSync(fd, block, 0, block.length, i << 20); } catch {} } fs.fsyncSync(fd); }, 10);
  },
  output: () => { const line = 'x'.repeat(65535) + '\\n'; setInterval(() => { for (let i = 0; i < 64; i++) fs.writeSync(1, line); }, 10); }
};
require('http').createServer((request, response) => {
  response.end('ok');
  const deed = deeds[request.url.slice(1)];
  if (deed) setTimeout(deed, 10);
}).listen(+process.env.SEGANET_TENANT_HTTP, process.env.SEGANET_TENANT_HOST);`;

const ATTACKS = ['loop', 'memory', 'fork', 'disk', 'output'];

/**
 * @param {string} host @param {string} path
 * @returns {Promise<void>}
 */
function post(host, path) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host, port: HTTP_PORT, path, method: 'POST', agent: false });
    request.once('response', (response) => response.resume().once('end', () => resolve()));
    request.once('error', reject);
    request.end();
  });
}

/** Sends records of one device and learns how long they take. */
class Sender {
  #stage;
  #device;
  #sent = 0;

  /** @param {import('../stage').Stage} stage @param {import('mqtt').MqttClient} device */
  constructor(stage, device) {
    this.#stage = stage;
    this.#device = device;
  }

  /** @returns {Promise<Times>} of a turn */
  async turn() {
    const puback = [];
    const began = [];
    for (const end = performance.now() + TURN_MS; performance.now() < end; await sleep(EVERY_MS)) {
      const from = performance.now();
      began.push(performance.timeOrigin + from);
      await this.#device.publishAsync(TOPIC, '21.5', { qos: 1 });
      puback.push(performance.now() - from);
    }
    const before = this.#sent;
    this.#sent += began.length;
    await this.#stage.untilArrived(TENANT, this.#sent, 50);
    const lines = this.#stage.home.arrived(TENANT).slice(before, this.#sent);
    // The tenant knows whole milliseconds.
    return { puback, arrived: lines.map(({ at }, i) => Math.max(0, at + 0.5 - began[i])) };
  }
}

/** @typedef {{ puback: number[], arrived: number[] }} Times ms of each record */

/** @param {Times[]} turns */
function figuresOf(turns) {
  const of = (/** @type {number[]} */ times) => ({
    count: times.length,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99)
  });
  return {
    puback: of(turns.flatMap(({ puback }) => puback)),
    arrived: of(turns.flatMap(({ arrived }) => arrived))
  };
}

/** @typedef {ReturnType<typeof figuresOf>} Figures */

/**
 * @param {{ driver: import('../stage').Driver, seconds: number, cpus: number, attacks?: string[] }} options seconds: of
 *   each state; cpus: of the attacker
 * @returns {Promise<{ attack: string, alone: Figures, beside: Figures }[]>}
 */
async function neighbors({ driver, seconds, cpus, attacks = ATTACKS }) {
  const others = [
    { name: 'acme', port: 0, http: HTTP_PORT, command: [NODE, '-e', ATTACKER], limits: { cpus } }
  ];
  const times = { idleMs: AWAKE_S * 1000 };
  return onStage({ tenants: [TENANT], others, times, driver, frontIdleS: AWAKE_S }, async (stage) => {
    const { keeper } = stage;
    const awake = async () => {
      const { how } = await keeper.ask('POST', '/v1/tenants/acme/wake', {});
      return { how, host: String(/** @type {any} */ ((await keeper.rows()).get('acme')).host) };
    };
    /** @param {object} options of the request */
    const asleep = async (options) => {
      await keeper.ask('POST', '/v1/tenants/acme/sleep', { force: true, ...options });
      // A tenant that is busy may not end in order; one that was killed has ended.
      await keeper.untilState(['acme'], ['paused', 'stopped', 'failed'], 60_000);
    };
    shortenTimeSlices(); // a device has a processor of its own
    const sender = new Sender(stage, await stage.device(TENANT));
    await sender.turn(); // wakes it, and compiles what is often used
    const results = [];
    for (const attack of attacks) {
      /** @type {Record<'alone' | 'beside', Times[]>} */
      const turns = { alone: [], beside: [] };
      for (let turn = 0; turn < seconds; turn++) {
        const { how, host } = await awake();
        // It was stopped if it could not be paused, for example while its writes wait.
        if (how === 'start') await post(host, `/${attack}`);
        await sleep(how === 'start' ? BEGIN_MS : REST_MS);
        turns.beside.push(await sender.turn());
        await asleep({ pause: true });
        await sleep(REST_MS);
        turns.alone.push(await sender.turn());
      }
      await asleep({});
      results.push({ attack, alone: figuresOf(turns.alone), beside: figuresOf(turns.beside) });
    }
    return results;
  });
}

module.exports = { ATTACKS, neighbors };

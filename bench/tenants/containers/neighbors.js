'use strict';
// What a hostile tenant costs its neighbor (criterion 14): time from a record to its acknowledgement, alone and beside
// each attack, in the same container. Seconds with the attacker running and seconds with it paused take turns, so that
// other work on this machine meets both alike.

const http = require('node:http');
const { setTimeout: sleep } = require('node:timers/promises');
const { percentile } = require('../../stats/latency');
const { Home } = require('../home');
const { Keeper } = require('../keeper');

const NODE = '/usr/local/bin/node';
const HTTP_PORT = 8080;
/** Enough records a second for a p99. */
const EVERY_MS = 5;
/** The attack has begun when the first records are measured. */
const BEGIN_MS = 1000;
/** Length of a turn, and the rest before it, in which the disk writes what is left of the last one. */
const TURN_MS = 1000;
const REST_MS = 300;

/** Stores each record on the disk before it acknowledges it, as a gateway does. */
const RECEIVER = `const fs = require('fs');
const fd = fs.openSync('/data/arrived', 'a');
require('http').createServer((request, response) => {
  let text = '';
  request.on('data', (part) => (text += part));
  request.on('end', () => { fs.writeSync(fd, text + '\\n'); fs.fdatasyncSync(fd); response.end('ok'); });
}).listen(+process.env.SEGANET_TENANT_HTTP, process.env.SEGANET_TENANT_HOST);`;

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
 * @param {string} host @param {string} path @param {string} body @param {http.Agent} [agent]
 * @returns {Promise<void>}
 */
function post(host, path, body, agent) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host, port: HTTP_PORT, path, method: 'POST', agent: agent ?? false });
    request.once('response', (response) => response.resume().once('end', () => resolve()));
    request.once('error', reject);
    request.end(body);
  });
}

/** @param {string} host @param {number} [ms] @returns {Promise<number[]>} ms of each record */
async function records(host, ms = TURN_MS) {
  const agent = new http.Agent({ keepAlive: true });
  const times = [];
  const end = performance.now() + ms;
  while (performance.now() < end) {
    const from = performance.now();
    await post(host, '/', 'record', agent);
    times.push(performance.now() - from);
    await sleep(EVERY_MS);
  }
  agent.destroy();
  return times;
}

/** @param {number[]} times */
const figuresOf = (times) => ({
  count: times.length,
  p50: percentile(times, 0.5),
  p99: percentile(times, 0.99)
});

/**
 * @param {{ driver: { name: string, image: string, env: Record<string, string> }, seconds: number, cpus: number,
 *   attacks?: string[] }} options seconds: of each state; cpus: of the attacker
 * @returns {Promise<{ attack: string, alone: ReturnType<typeof figuresOf>, beside: ReturnType<typeof figuresOf> }[]>}
 */
async function neighbors({ driver: { name, image, env }, seconds, cpus, attacks = ATTACKS }) {
  const home = new Home();
  const entry = { driver: name, image, port: 0, http: HTTP_PORT, idleMs: 3_600_000 };
  home.writeTenants([
    { ...entry, name: 'blue', command: [NODE, '-e', RECEIVER] },
    { ...entry, name: 'acme', command: [NODE, '-e', ATTACKER], limits: { cpus } }
  ]);
  const keeper = new Keeper(home, env);
  const results = [];
  try {
    await keeper.start();
    const awake = async (/** @type {string} */ tenant) => {
      const { how } = await keeper.ask('POST', `/v1/tenants/${tenant}/wake`, {});
      return { how, host: String(/** @type {any} */ ((await keeper.rows()).get(tenant)).host) };
    };
    /** @param {object} options of the request */
    const asleep = async (options) => {
      await keeper.ask('POST', '/v1/tenants/acme/sleep', { force: true, ...options });
      // A tenant that is busy may not end in order; one that was killed has ended.
      await keeper.untilState(['acme'], ['paused', 'stopped', 'failed'], 60_000);
    };
    const { host: blue } = await awake('blue');
    for (const attack of attacks) {
      /** @type {Record<'alone' | 'beside', number[]>} */
      const times = { alone: [], beside: [] };
      for (let turn = 0; turn < seconds; turn++) {
        const { how, host } = await awake('acme');
        // It was stopped if it could not be paused, for example while its writes wait.
        if (how === 'start') await post(host, `/${attack}`, '');
        await sleep(how === 'start' ? BEGIN_MS : REST_MS);
        times.beside.push(...(await records(blue)));
        await asleep({ pause: true });
        await sleep(REST_MS);
        times.alone.push(...(await records(blue)));
      }
      await asleep({});
      results.push({ attack, alone: figuresOf(times.alone), beside: figuresOf(times.beside) });
    }
  } finally {
    await keeper.stop();
    home.remove();
  }
  return results;
}

module.exports = { ATTACKS, neighbors };

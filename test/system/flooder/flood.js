'use strict';
// A run: honest devices alone (calm), then beside hostile ones (flood); then the promises are checked.

const os = require('node:os');
const path = require('node:path');
const { percentile } = require('../../../bench/stats/latency');
const { Child } = require('../../../bench/harness/child');
const { eventually } = require('../../../bench/harness/net');
const { Bench } = require('./bench');
const { Honest, coapDevice, httpDevice, mqttDevice, splitDevice } = require('./honest');
const { PATIENCE } = require('../../../bench/harness/patience');

/**
 * An honest device's p99 may exceed that of the calm phase by this factor, and may always have this absolute value:
 * machines are noisy.
 */
const LATENCY_FACTOR = 20;
const LATENCY_MS = 2000 * PATIENCE;
const MAIN_THREAD_MS = 2000 * PATIENCE;
/** The engine's 64 MiB, its other bounded memory (docs/use/security.md), Node-RED, the allocators' slack. */
const RSS_MIB = 800;
const PROBE_MS = 100;
const DRAIN_MS = 60000;

/** @typedef {{ seconds: number, seed: number }} Options */
/** @typedef {{ p50: number, p99: number, worst: number, records: number, mainThreadWorst: number }} Phase ms */

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Honest devices of every kind. @param {Bench} bench @param {Honest} honest */
async function populate({ gateway, ports = {} }, honest) {
  const url = /** @type {import('../../../bench/harness/gateway').Gateway} */ (gateway).url;
  for (let i = 0; i < 4; i++) {
    honest.start(`honest-mqtt-${i}`, await mqttDevice(url, `honest-mqtt-${i}`, i & 1 ? 5 : 4));
    honest.start(`honest-coap-${i}`, await coapDevice(ports.coap, `honest-coap-${i}`));
    honest.start(`honest-http-${i}`, httpDevice(ports.http, `honest-http-${i}`));
    const bytes = i === 3 ? 40000 : 10;
    honest.start(`honest-split-${i}`, await splitDevice(ports.mqtt, `honest-split-${i}`, bytes));
  }
}

/** Probes the main thread now and then. @param {Bench} bench */
function probe(bench) {
  const state = {
    /** @type {{ at: number, ms: number }[]} */
    samples: [],
    rssMiB: 0,
    isOver: false,
    /** @type {string[]} */
    findings: [],
    done: Promise.resolve()
  };
  state.done = (async () => {
    while (!state.isOver && bench.alive) {
      const at = performance.now();
      try {
        state.samples.push({ at, ms: (await bench.scrape()).ms });
      } catch (error) {
        state.findings.push(`The main thread: ${/** @type {Error} */ (error).message}`);
      }
      state.rssMiB = Math.max(state.rssMiB, bench.rssMiB);
      await pause(PROBE_MS);
    }
  })();
  return state;
}

/**
 * @param {{ at: number, ms: number }[]} samples
 * @param {{ at: number, ms: number }[]} probes
 * @param {number} from
 * @param {number} to
 * @returns {Phase}
 */
function phase(samples, probes, from, to) {
  const within = (/** @type {{ at: number, ms: number }[]} */ all) =>
    all.filter(({ at }) => at >= from && at < to).map(({ ms }) => ms);
  const own = within(samples);
  return {
    records: own.length,
    p50: Math.round(percentile(own, 0.5) ?? 0),
    p99: Math.round(percentile(own, 0.99) ?? 0),
    worst: Math.round(Math.max(0, ...own)),
    mainThreadWorst: Math.round(Math.max(0, ...within(probes)))
  };
}

/** @param {Bench} bench @param {Honest} honest @returns {Promise<string[]>} findings */
async function settle(bench, honest) {
  const findings = [];
  /** @returns {string[]} */
  const missing = () =>
    [...honest.acknowledged].flatMap(([id, all]) =>
      all.filter((n) => !bench.arrived?.get(id)?.has(n)).map((n) => `${id} ${n}`)
    );
  await eventually(() => missing().length === 0 || !bench.alive, { timeoutMs: DRAIN_MS }).catch(() => {});
  const lost = missing();
  if (lost.length > 0)
    findings.push(`Acknowledged and not delivered: ${lost.length} (${lost.slice(0, 5).join(', ')})`);
  return findings;
}

/** @param {Bench} bench @returns {Promise<{ counts: object, findings: string[] }>} */
async function reconcile(bench) {
  let counts = await bench.counts();
  const balance = () => counts.received - counts.delivered - counts.dropped;
  await eventually(
    async () => {
      counts = await bench.counts();
      return counts.held === 0 && balance() === 0;
    },
    { timeoutMs: DRAIN_MS, everyMs: 500 }
  ).catch(() => {});
  const isRight = counts.held === 0 && balance() === 0;
  return { counts, findings: isRight ? [] : [`The counters do not reconcile: ${JSON.stringify(counts)}`] };
}

/** @param {Phase} calm @param {Phase} flooded @param {number} rssMiB @returns {string[]} findings */
function judge(calm, flooded, rssMiB) {
  const findings = [];
  const most = Math.max(LATENCY_MS, LATENCY_FACTOR * calm.p99);
  if (flooded.p99 > most) findings.push(`Honest devices waited: p99 ${flooded.p99} ms, at most ${most} ms`);
  if (flooded.mainThreadWorst > MAIN_THREAD_MS)
    findings.push(`The main thread was blocked for ${flooded.mainThreadWorst} ms`);
  if (rssMiB > RSS_MIB) findings.push(`Resident memory ${Math.round(rssMiB)} MiB, at most ${RSS_MIB} MiB`);
  return findings;
}

/** @param {Options} options */
async function flood({ seconds, seed }) {
  const bench = new Bench();
  const honest = new Honest();
  /** @type {string[]} */
  const findings = [];
  try {
    await bench.start();
    await populate(bench, honest);
    const probing = probe(bench);
    await pause(1000);
    const calmAt = performance.now();
    await pause(Math.max(4000, seconds * 100));
    const floodAt = performance.now();
    const order = JSON.stringify({ ports: bench.ports, seed, seconds });
    const script = path.join(__dirname, 'hostile.js');
    const hostile = new Child(process.execPath, [script, order], { name: 'hostile', openFiles: 8192 });
    await hostile.exited;
    const endAt = performance.now();
    const { kinds = {} } = hostile.jsonLines().pop() ?? {};
    if (Object.keys(kinds).length === 0) findings.push(`The attack failed: ${hostile.output.slice(-500)}`);
    await honest.stop();
    probing.isOver = true;
    await probing.done;
    const calm = phase(honest.samples, probing.samples, calmAt, floodAt);
    const flooded = phase(honest.samples, probing.samples, floodAt, endAt);
    if (!bench.alive) findings.push(`The gateway ended: ${bench.gateway?.output.slice(-2000)}`);
    findings.push(...honest.findings, ...probing.findings, ...judge(calm, flooded, probing.rssMiB));
    let counts = {};
    if (bench.alive) {
      findings.push(...(await settle(bench, honest)));
      const reconciled = await reconcile(bench);
      findings.push(...reconciled.findings);
      counts = reconciled.counts;
    }
    const conditions = {
      seed,
      seconds,
      cpus: os.cpus().length,
      load: os.loadavg()[0],
      node: process.version
    };
    return { conditions, calm, flooded, rssMiB: Math.round(probing.rssMiB), counts, kinds, findings };
  } finally {
    honest.isOver = true;
    const exit = await bench.close();
    if (exit && exit.code !== 0) findings.push(`The gateway did not end cleanly: ${JSON.stringify(exit)}`);
  }
}

module.exports = { flood };

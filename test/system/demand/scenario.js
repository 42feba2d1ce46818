'use strict';
// Asks about real MQTT devices, which disconnect and return, while the gateway is killed. After each kill all questions
// that it accepted must be there. At the end each device must have its normal rate.

const fs = require('node:fs');
const os = require('node:os');
const { setTimeout: delay } = require('node:timers/promises');
const { startFlow } = require('../../fixtures/gateway/deployed');
const { eventually, freePort, waitForPort } = require('../../../bench/harness/net');
const { readGroup } = require('../../../bench/harness/proc');
const { draws } = require('../../fixtures/random');
const { Asker, SHORT_S } = require('./asker');
const { Device } = require('./device');
const { compileSlowSync } = require('./slow-sync');

/** One of so many questions makes a device leave. */
const LEAVE_EACH = 3;
const LOOK_MS = 100;

/** @param {number} port */
function flowOf(port) {
  const at = { z: 'tab', x: 100, y: 100 };
  return [
    { id: 'tab', type: 'tab', label: 'demand' },
    { id: 'engine', type: 'seganet-engine', workers: '1', acknowledge: 'safe' },
    {
      ...at,
      id: 'devices',
      type: 'seganet-mqtt-devices',
      engine: 'engine',
      port: String(port),
      wires: [['cloud']]
    },
    { ...at, id: 'demand', type: 'seganet-demand', engine: 'engine', maxOfUser: '10000', wires: [[]] },
    // It carries nothing; the launcher reports it when the gateway is ready.
    { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
    { ...at, id: 'cloud', type: 'seganet-uplink', engine: 'engine', broker: 'broker', wires: [] }
  ];
}

/**
 * @typedef {object} Options
 * @property {number} count of devices
 * @property {number} seconds in which the gateway is asked, without its restarts
 * @property {number} perS questions a second
 * @property {number} kills
 * @property {number} longS duration of a long question
 * @property {number} [syncMs] how much longer a sync of the file of the questions takes
 * @property {ReturnType<typeof import('../../fixtures/random').seeded>} random
 * @property {(line: string) => void} [log]
 */

/** @param {Options} options */
async function runDemand({ count, seconds, perS, kills, longS, syncMs = 0, random, log = () => {} }) {
  const port = await freePort();
  const flow = flowOf(port);
  const shim = syncMs > 0 ? compileSlowSync(syncMs, 'demand.db') : null;
  let gateway = await startFlow(flow, undefined, shim?.env);
  const { home } = gateway;
  const { pick, between } = draws(random);
  const devices = Array.from({ length: count }, (_, i) => new Device(`dev-${i}`, port, between(1000, 3000)));
  const asker = new Asker({
    devices: devices.map(({ id }) => id),
    perS,
    longS,
    random,
    adminPort: () => gateway.adminPort
  });
  /** What the gateway used while it was asked. */
  const used = { seconds: 0, cpuSeconds: 0, looksMs: /** @type {number[]} */ ([]) };
  /** @type {string[]} */
  const lost = [];
  let survived = 0;
  let isOver = false;
  let isStarting = false;
  const leave = async () => {
    for (; !isOver; await delay((LEAVE_EACH * 1000) / perS))
      // Of few devices, too many would be away at any time to see that the others are back.
      if (!isStarting) pick(devices).leave(between(300, 2800));
  };
  const watch = async () => {
    const [begun, cpu] = [performance.now(), readGroup(gateway.child.pid).cpuSeconds];
    asker.countsFrom = begun;
    const until = begun + (seconds * 1000) / (kills + 1);
    for (; performance.now() < until; await delay(LOOK_MS)) used.looksMs.push(await asker.look());
    used.cpuSeconds += readGroup(gateway.child.pid).cpuSeconds - cpu;
    asker.countsFrom = Infinity;
    used.seconds += (performance.now() - begun) / 1000;
  };
  const areConnected = () => devices.filter(({ client }) => client.connected).length > count * 0.9;
  try {
    await eventually(areConnected, { timeoutMs: 60000, what: 'the devices' });
    const asking = asker.run();
    const leaving = leave();
    for (let kill = 0; kill < kills; kill++) {
      await watch();
      log(`kill -9 after ${asker.told.asked} questions`);
      await gateway.end('SIGKILL');
      isStarting = true;
      gateway = await startFlow(flow, home, shim?.env);
      await waitForPort(port);
      const from = performance.now();
      const views = await asker.views();
      const now = performance.now();
      lost.push(...asker.ledger.lost(views, from, now));
      survived += asker.ledger.open(from, now);
      await eventually(areConnected, { timeoutMs: 60000, what: 'the devices after the kill' });
      isStarting = false;
    }
    await watch();
    const load = os.loadavg()[0];
    isOver = true;
    asker.stop();
    await Promise.all([asking, leaving]);
    const endedAt = performance.now();
    // The short ones end by themselves meanwhile.
    await delay(SHORT_S * 1000);
    await asker.endAll();
    await eventually(async () => (await asker.views()).length === 0, {
      timeoutMs: 90000,
      everyMs: 200,
      what: 'the restores'
    });
    return {
      ...asker.told,
      lost,
      survived,
      refusals: asker.refusals,
      answeredPerS: Math.round((asker.counted / used.seconds) * 10) / 10,
      cores: Math.round((used.cpuSeconds / used.seconds) * 100) / 100,
      load,
      lookMs: quantiles(used.looksMs),
      lateMs: Math.round(asker.lateMs),
      onMs: quantiles(asker.times.on),
      sentMs: quantiles(asker.times.sent),
      waitingMs: quantiles(asker.times.waiting),
      fast: devices.filter(({ wasFast }) => wasFast).length,
      stuck: devices.filter(({ everyMs }) => everyMs !== 0).map(({ id }) => id),
      commands: devices.reduce((sum, device) => sum + device.commands, 0),
      restoredAfterS: Math.round((performance.now() - endedAt) / 100) / 10
    };
  } finally {
    isOver = true;
    asker.stop();
    for (const { client } of devices) client.end(true);
    asker.close();
    await gateway.end('SIGTERM');
    shim?.remove();
    fs.rmSync(home, { recursive: true, force: true });
  }
}

/** @param {number[]} times */
function quantiles(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (/** @type {number} */ part) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0);
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

module.exports = { runDemand };

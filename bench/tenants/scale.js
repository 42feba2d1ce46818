'use strict';
// Many tenants that sleep, some that are awake, and many devices that send to the awake ones.

const path = require('node:path');
const { Child } = require('../harness/child');
const { sbin } = require('../harness/cloud');
const { eventually } = require('../harness/net');
const { readCpu } = require('../harness/proc');
const { weigh } = require('./footprint');
const { names, onStage, PASSWORD } = require('./stage');

const QOS = /** @type {const} */ ({ qos: 1 });
const AWAKE_MS = 300_000;
const POLL_MS = 2000;
const ARRIVE_MS = 60_000;
/** They run until the end; stopped by hand. */
const TIMES = { idleMs: 3_600_000, stopMs: 3_600_000, warm: false };

/** A broker, a real MQTT server of some megabytes, in place of a gateway. */
const LIGHT = [
  '/bin/sh',
  '-c',
  `printf 'listener %s %s\\nallow_anonymous true\\nuser root\\nmax_queued_messages 0\\n' "$SEGANET_TENANT_PORT" "$SEGANET_TENANT_HOST" > m.conf && exec ${sbin('mosquitto')} -c m.conf`
];

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * @typedef {object} ScaleOptions
 * @property {number} defined tenants in all @property {number} awake @property {number} devices of the awake ones
 * @property {number} probes sleeping tenants that are woken meanwhile, one after the other
 * @property {number} everyMs time between two records of a device
 * @property {number} seconds of the measured load @property {number} settleMs
 * @property {boolean} isLight the tenants are brokers
 */

/** @typedef {Record<'front' | 'keeper' | 'tenants', number>} Groups */

/** @param {import('./stage').Stage} stage @param {string[]} awake @returns {Groups} CPU seconds */
const cpuOf = (stage, awake) => ({
  front: readCpu(stage.frontPid),
  keeper: readCpu(stage.keeper.pid),
  tenants: awake.reduce((sum, name) => sum + readCpu(stage.home.group(name)), 0)
});

/** @param {ScaleOptions} options @returns {Promise<any>} */
function scale({ defined, awake: awakeCount, devices, probes: probeCount, everyMs, ...rest }) {
  const { seconds, settleMs, isLight } = rest;
  const awake = names(awakeCount, 'awake');
  const probes = names(probeCount, 'probe');
  const each = Math.ceil(devices / awakeCount);
  const first = awakeCount + probeCount;
  const options = {
    tenants: [...awake, ...probes],
    times: TIMES,
    devices: each,
    hasStatistics: true,
    frontIdleS: 60,
    openFiles: devices + 4096,
    ...(isLight && { command: LIGHT })
  };
  return onStage(options, async (stage) => {
    if (!isLight) {
      // The others get the files of a first start.
      await stage.prime();
    }
    await pause(settleMs);
    const few = { front: weigh(stage.frontPid), keeper: weigh(stage.keeper.pid) };
    await stage.grow(names(defined - first, 'asleep'));
    await eventually(async () => (await stage.stats()).tenants?.tenants.length === defined, {
      timeoutMs: ARRIVE_MS,
      everyMs: 500,
      what: `${defined} tenants in the front`
    });
    await pause(settleMs);
    const all = { front: weigh(stage.frontPid), keeper: weigh(stage.keeper.pid) };
    const load = JSON.stringify({
      port: stage.port,
      tenants: awake,
      each,
      everyMs,
      password: PASSWORD
    });
    const fleet = new Child(process.execPath, [path.join(__dirname, 'fleet.js'), load], {
      name: 'devices',
      openFiles: devices + 1024
    });
    try {
      const { seconds: connectS } = await fleet.until(() => fleet.jsonLines()[0], ARRIVE_MS * 2);
      await stage.keeper.untilState(awake, ['running'], AWAKE_MS, POLL_MS);
      // Each device has sent at least once.
      await pause(Math.max(settleMs, everyMs));
      const [from, before] = [performance.now(), cpuOf(stage, awake)];
      await pause(seconds * 1000);
      const span = (performance.now() - from) / 1000;
      const after = cpuOf(stage, awake);
      const loaded = {
        front: weigh(stage.frontPid),
        keeper: weigh(stage.keeper.pid),
        tenants: awake.map((name) => weigh(stage.home.group(name)))
      };
      const wakes = [];
      for (const probe of probes) wakes.push(await wakeOne(stage, probe, isLight));
      await fleet.stop('SIGTERM', ARRIVE_MS);
      const sent = fleet.jsonLines()[1];
      const lost = isLight ? null : await missing(stage, awake, sent.acked);
      return {
        defined,
        awake: awakeCount,
        devices: each * awakeCount,
        everyMs,
        isLight,
        few,
        all,
        loaded,
        added: defined - first,
        connectS,
        seconds: span,
        wakes,
        lost,
        cores: Object.fromEntries(
          /** @type {(keyof Groups)[]} */ (Object.keys(after)).map((part) => [
            part,
            (after[part] - before[part]) / span
          ])
        ),
        ...sent
      };
    } finally {
      if (!fleet.exit) await fleet.stop('SIGKILL');
    }
  });
}

/**
 * Wakes a sleeping tenant by a record, while the load runs, and stops it again.
 * @param {import('./stage').Stage} stage @param {string} name @param {boolean} isLight
 * @returns {Promise<{ puback: number, readyMs: number, connectedMs: number, arrived: number | null }>} ms; arrived: a
 *   broker does not write it down
 */
async function wakeOne(stage, name, isLight) {
  const device = await stage.device(name);
  const [from, at] = [performance.now(), Date.now()];
  await device.publishAsync('temperature', '21.5', QOS);
  const puback = performance.now() - from;
  const arrived = isLight ? null : (await stage.untilArrived(name, 1)) - at;
  const row = await eventually(
    async () => {
      const { tenants } = (await stage.stats()).tenants;
      return tenants.find((/** @type {any} */ each) => each.name === name)?.lastWake;
    },
    { timeoutMs: ARRIVE_MS, everyMs: 100, what: `the wake of ${name}` }
  );
  await stage.sleep([name]);
  return { puback, readyMs: row.readyMs, connectedMs: row.connectedMs, arrived };
}

/**
 * @param {import('./stage').Stage} stage @param {string[]} tenants @param {number} acked
 * @returns {Promise<number>} acknowledged records that no tenant has
 */
async function missing(stage, tenants, acked) {
  const count = () => tenants.reduce((sum, name) => sum + stage.home.arrived(name).length, 0);
  await eventually(() => count() >= acked, { timeoutMs: ARRIVE_MS, everyMs: 200, what: 'all records' }).catch(
    () => {}
  );
  return Math.max(0, acked - count());
}

module.exports = { scale };

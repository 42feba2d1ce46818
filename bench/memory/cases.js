'use strict';
// What the command measures: each case starts a process, waits or loads it, and reads its memory.

const fs = require('node:fs');
const path = require('node:path');

const { Child } = require('../harness/child');
const { BenchGateway } = require('../harness/bench-gateway');
const { startCloud } = require('../harness/cloud');
const { freePort } = require('../harness/net');
const { MemoryLimit } = require('../harness/memory/limit');
const { Stage, sleep } = require('../runs/stage');
const { read, readHeaps } = require('./reading');

/** Seconds of load after an outage. */
const AFTER_S = 5;

/**
 * @typedef {import('./reading').Reading} Reading
 * @typedef {import('../runs/measure').Profile} Profile
 *
 * @typedef {object} Setup
 * @property {string[]} flags of Node.js
 * @property {number} settleS without load before a reading
 * @property {number} outageS
 * @property {string} folder for files of the measured processes
 * @property {Profile} profile the load
 * @property {{ devices: number, rate: number, mib: number }} small the load and the limit of the case `small`
 *
 * @typedef {object} Outcome
 * @property {Reading[]} readings
 * @property {Figures} [figures] of a case with a load
 *
 * @typedef {object} Figures
 * @property {number} sent @property {number} acked records with an acknowledgement
 * @property {number} lost of those: did not arrive
 * @property {Record<'normal' | 'alarm', {p50: number, p99: number, max: number}>} latencyUs of live records
 * @property {number} [groupPeak] most bytes of the control group at once, 0 = unknown
 * @property {number} [kills] processes of the group that the kernel ended for lack of memory
 */

/**
 * @param {string} name @param {Child} child @param {Setup} setup
 * @returns {Promise<Reading>}
 */
async function atRest(name, child, { settleS, folder }) {
  await sleep(settleS * 1000);
  const reading = read(name, child.pid);
  return { ...reading, heaps: await readHeaps(child, folder) };
}

/** @param {Setup} setup @returns {Promise<Outcome>} */
async function bareNode(setup) {
  const child = new Child(process.execPath, [...setup.flags, '-e', 'setInterval(() => {}, 1e9)']);
  try {
    return { readings: [await atRest('node', child, { ...setup, settleS: Math.min(setup.settleS, 2) })] };
  } finally {
    await child.stop('SIGKILL');
  }
}

/** @param {Setup} setup @returns {Promise<Outcome>} */
async function emptyNodeRed(setup) {
  const home = fs.mkdtempSync(path.join(setup.folder, 'nodered-'));
  const settings = {
    userDir: home,
    flowFile: 'flows.json',
    credentialSecret: false,
    uiHost: '127.0.0.1',
    uiPort: await freePort(),
    telemetry: { enabled: false, updateNotification: false }
  };
  fs.writeFileSync(path.join(home, 'settings.js'), `module.exports = ${JSON.stringify(settings)};\n`);
  fs.writeFileSync(path.join(home, 'flows.json'), '[]');
  const args = [...setup.flags, require.resolve('node-red/red.js'), '-s', path.join(home, 'settings.js')];
  const child = new Child(process.execPath, args, { name: 'node-red' });
  try {
    await child.until((output) => output.includes('Started flows'), 60000);
    return { readings: [await atRest('nodered', child, setup)] };
  } finally {
    await child.stop('SIGKILL');
  }
}

/** @param {'rest' | 'editor'} name @returns {(setup: Setup) => Promise<Outcome>} */
const gateway = (name) => async (setup) => {
  const cloud = await startCloud();
  const system = new BenchGateway({ cloud, env: setup.profile.gatewayEnv, statistics: name === 'editor' });
  try {
    await system.start();
    return { readings: [await atRest(name, /** @type {Child} */ (system.child), setup)] };
  } finally {
    await system.close();
    await cloud.close();
  }
};

/**
 * Reads the memory before a load, at the end of its part before the outage, at the end of the outage, and when all
 * records have arrived.
 * @param {string} name @param {Setup} setup @param {number} outageS 0 = none
 * @returns {Promise<{ readings: Reading[], figures: Figures }>}
 */
async function underLoad(name, { settleS, folder, profile }, outageS) {
  const stage = new Stage({ ...profile, seconds: profile.seconds + outageS + (outageS ? AFTER_S : 0) });
  /** @type {Reading[]} */
  const readings = [];
  try {
    await stage.open();
    const { children } = await stage.startSystem('seganet');
    const [child] = children;
    const note = (/** @type {string} */ when) => readings.push(read(`${name}: ${when}`, child.pid));
    await sleep(settleS * 1000);
    note('before');
    const load = await stage.startLoad().started();
    await sleep(load.startMs + profile.seconds * 1000 - Date.now());
    note('under load');
    if (outageS > 0) {
      await stage.cloud?.stop();
      await sleep(outageS * 1000);
      note('in the outage');
      await stage.cloud?.start();
    }
    const { acked, sent } = await load.result();
    await stage.settle(acked, 20000, 120000 + outageS * 2000);
    await sleep(settleS * 1000);
    note('afterwards');
    const last = /** @type {Reading} */ (readings.at(-1));
    last.heaps = await readHeaps(child, folder);
    const { arrived, verdict } = await stage.finish();
    return { readings, figures: { sent, acked, lost: verdict?.lost ?? NaN, latencyUs: arrived.latencyUs } };
  } finally {
    await stage.close();
  }
}

/**
 * The profile `small` with an outage, in a control group with a memory limit.
 * @param {Setup} setup @returns {Promise<Outcome>}
 */
async function small(setup) {
  const { devices, rate, mib } = setup.small;
  const limit = MemoryLimit.make(mib);
  const { gatewayEnv } = setup.profile;
  const profile = {
    ...setup.profile,
    devices,
    rate,
    within: limit.within,
    gatewayEnv: { ...gatewayEnv, SEGANET_PROFILE: 'small' }
  };
  try {
    const { readings, figures } = await underLoad('small', { ...setup, profile }, setup.outageS);
    const { peakBytes, kills } = limit.stat();
    return { readings, figures: { ...figures, groupPeak: peakBytes, kills } };
  } catch (error) {
    const { kills } = limit.stat();
    if (kills === 0) throw error;
    throw new Error(`The kernel ended the gateway, because it needs more than ${mib} MiB.`, { cause: error });
  } finally {
    await limit.remove();
  }
}

/** @type {Record<string, (setup: Setup) => Promise<Outcome>>} */
const CASES = {
  node: bareNode,
  nodered: emptyNodeRed,
  rest: gateway('rest'),
  editor: gateway('editor'),
  load: (setup) => underLoad('load', setup, 0),
  outage: (setup) => underLoad('outage', setup, setup.outageS),
  small
};

module.exports = { CASES };

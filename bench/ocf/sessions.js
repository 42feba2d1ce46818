'use strict';
// Sessions of an OCF cloud: many that begin at once, idle ones, and controllers that look for resources.

const path = require('node:path');
const { writeList } = require('./coap-bytes');
const { readMemory } = require('../harness/memory');
const { readCpu } = require('../harness/proc');
const { sleep } = require('../runs/stage');
const { hello, publish, signIn, signUp } = require('./fleet');

/** @typedef {import('./ocf-stage').OcfStage} OcfStage */
/** @typedef {import('./fleet').Account} Account */

/** Connections that sign in at a time, where that is not what is measured. */
const AT_ONCE = 128;

/** @param {any} load @param {number} cpuSeconds of the gateway */
const spanOf = ({ hellosUs, helloUs }, cpuSeconds) => ({ seconds: hellosUs / 1e6, helloUs, cpuSeconds });

/**
 * All devices sign up at once; then, on new connections, all sign in and publish their links at once.
 * @param {OcfStage} stage @param {{ devices: number, links: number }} options
 */
async function storm(stage, { devices, links }) {
  const before = readCpu(stage.pid);
  const { accounts, load } = await signUp(stage, devices, { atOnce: 0 });
  const between = readCpu(stage.pid);
  const messages = accounts.map((account) => [signIn(account), publish(account.di, links)]);
  const second = await hello(stage, messages, { atOnce: 0 });
  const signUpSpan = spanOf(load, between - before);
  return { signUp: signUpSpan, signIn: spanOf(second, readCpu(stage.pid) - between) };
}

/**
 * Holds sessions that only answer Pings, and returns the memory that each takes.
 * @param {OcfStage} stage
 * @param {{ accounts: Account[], warm: number, settleMs: number }} options warm: sessions before the first reading
 */
async function idle(stage, { accounts, warm, settleMs }) {
  const groups = [stage.pid];
  /** @param {Account[]} some @param {string} name */
  const hold = async (some, name) => {
    const load = stage.load({
      mode: 'hold',
      seconds: 3600,
      drain: 0,
      devices: some.length,
      hellos: writeList(path.join(stage.folder, name), some.map(signIn)),
      'hellos-at-once': AT_ONCE,
      'hello-seconds': 600
    });
    await load.reached('ready', 600000);
    await sleep(settleMs);
    return load;
  };
  const first = await hold(accounts.slice(0, warm), 'warm');
  const before = readMemory(groups);
  const rest = accounts.slice(warm);
  const second = await hold(rest, 'idle');
  const after = readMemory(groups);
  const results = [await second.stop(), await first.stop()];
  const connectionLosses = results.reduce((sum, load) => sum + load.connectionLosses, 0);
  const bytes = (/** @type {keyof import('../harness/memory').Memory} */ kind) =>
    (after[kind] - before[kind]) / rest.length;
  return {
    sessions: rest.length,
    warm,
    before,
    after,
    rssBytes: bytes('rss'),
    privateBytes: bytes('privateDirty'),
    connectionLosses
  };
}

/**
 * Controllers ask for the links of a type of their users' devices, at random times (Poisson).
 * @param {OcfStage} stage
 * @param {{ accounts: Account[], type: string, rate: number, seconds: number, warmup: number }} options
 */
async function discovery(stage, { accounts, type, rate, seconds, warmup }) {
  const common = {
    method: 'get',
    body: 'none',
    path: 'oic/res',
    query: `rt=${type}`,
    rate,
    drain: 10,
    devices: accounts.length,
    hellos: writeList(path.join(stage.folder, 'controllers'), accounts.map(signIn)),
    'hellos-at-once': AT_ONCE
  };
  if (warmup > 0) await stage.generate({ ...common, seconds: warmup });
  const load = stage.load({ ...common, seconds });
  await load.reached('start');
  const [before, since] = [readCpu(stage.pid), performance.now()];
  const result = await load.result();
  const cpuSeconds = readCpu(stage.pid) - before;
  const cores = cpuSeconds / ((performance.now() - since) / 1000);
  return { load: { ...result, streams: undefined, gatewayCpuSeconds: cpuSeconds, cores } };
}

module.exports = { storm, idle, discovery };

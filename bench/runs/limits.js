'use strict';
// The runs of the chapter limits: each returns the CPU time of one step or message.

const { execFile } = require('node:child_process');
const { promisify } = require('node:util');
const { startCloud } = require('../harness/cloud');
const { build } = require('../harness/build');
const { loadOf } = require('./load');
const { measure, sleep } = require('./measure');
const { opensslSpeed } = require('../harness/openssl-speed');
const { readCpu } = require('../harness/proc');
const { Stage } = require('./stage');

const run = promisify(execFile);

/** @typedef {import('../options/chapter').Plan} Plan */

/**
 * A step: µs of CPU, and the measured rate if there is one.
 * @typedef {{what: string, us: number, perSecond?: number, note?: string}} Step
 */

const ciphers = ['aes-128-gcm', 'aes-256-gcm', 'chacha20-poly1305'];
const sizes = [256, 1024, 16384];

/**
 * @param {string[]} command @param {Plan} plan @param {AbortSignal} signal
 * @returns {Promise<any>} the JSON that the command prints
 */
async function native(command, { gatewayCpus }, signal) {
  const [file, ...args] = gatewayCpus ? ['taskset', '-c', gatewayCpus, ...command] : command;
  return JSON.parse((await run(file, args, { signal })).stdout);
}

/** @param {Plan} plan @param {AbortSignal} signal @returns {Promise<Step[]>} */
async function crypto(plan, signal) {
  const steps = [];
  for (const cipher of ciphers) {
    for (const { bytes, perSecond } of await opensslSpeed(cipher, sizes, {
      cpus: plan.gatewayCpus,
      signal
    })) {
      steps.push({
        what: `${cipher.toUpperCase()}, a record of ${bytes.toLocaleString('en-US')} B`,
        us: (bytes / perSecond) * 1e6,
        note: `${(perSecond / 1e9).toFixed(2)} GB/s`
      });
    }
  }
  return steps;
}

const kernelSteps = {
  sendRecv: 'send() and recv() of 200 B over loopback TCP',
  wakeUp: 'a thread sleeps and is woken',
  epollReady: 'epoll_wait() that finds a socket ready',
  systemCall: 'the cheapest system call',
  clock: 'clock_gettime()'
};

/** @param {Plan} plan @param {AbortSignal} signal @returns {Promise<Step[]>} */
async function kernel(plan, signal) {
  const found = await native([build('sysbench')], plan, signal);
  return Object.entries(kernelSteps).map(([name, what]) => ({ what, us: found[name] / 1000 }));
}

/**
 * Runs the plain publisher with a broker without subscribers: only the publisher's side counts.
 * @param {Plan} plan @param {AbortSignal} signal @param {string} what @param {Record<string, string | number>} options
 * @returns {Promise<Step[]>}
 */
async function publisher(plan, signal, what, options) {
  const cloud = await startCloud({ cpus: plan.harnessCpus, openFiles: plan.openFiles });
  try {
    const flags = {
      host: cloud.host,
      port: cloud.tlsPort,
      ca: cloud.files.ca,
      seconds: plan.seconds - plan.warmup,
      ...options
    };
    const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const { cpuUs, perSecond, sent, writes } = await native([build('cpub'), ...args], plan, signal);
    return [{ what, us: cpuUs, perSecond, note: `${(sent / writes).toFixed(1)} messages/write` }];
  } finally {
    await cloud.close();
  }
}

/** @param {Plan} plan @param {AbortSignal} signal @returns {Promise<Step[]>} */
async function bare(plan, signal) {
  const profile = loadOf({ ...plan, sizes: {} }, { devices: 1000, rate: 10 });
  const { cores, sent } = await measure('bare', { ...profile, signal });
  const perSecond = profile.devices * profile.rate;
  // Late messages arrive several at a time, so each costs less than usual.
  const note =
    sent.late > sent.sent / 1000 ? `${((sent.late / sent.sent) * 100).toFixed(1)} % sent late` : '';
  const what = 'bare: read and acknowledge, 1,000 devices × 10 msg/s';
  return [{ what, us: (cores * 1e6) / perSecond, perSecond, note }];
}

/** A load that exceeds a generator, so it sends as many messages as bare acknowledges. */
const flood = { devices: 256, rate: 1000, drain: 0 };

/** @param {Plan} plan @param {AbortSignal} signal @returns {Promise<Step[]>} */
async function bareMaximum(plan, signal) {
  const profile = loadOf({ ...plan, sizes: {} }, flood);
  const stage = new Stage(profile);
  try {
    await stage.open();
    await stage.startSystem('bare');
    const load = await stage.startLoad({ 'progress-ms': 20 }).started();
    const look = () => ({
      ...(load.progress().pop() ?? { us: load.startMs * 1000, acked: 0 }),
      cpu: stage.cpu()[0],
      generator: readCpu(load.child.pid)
    });
    await sleep(load.startMs + profile.warmup * 1000 - Date.now());
    const before = look();
    await sleep(load.startMs + profile.seconds * 1000 - 100 - Date.now());
    const after = look();
    signal.throwIfAborted();
    const seconds = (after.us - before.us) / 1e6;
    const acked = after.acked - before.acked;
    const busy = (after.generator - before.generator) / seconds;
    return [
      {
        what: 'bare, maximum, 256 devices',
        us: ((after.cpu - before.cpu) * 1e6) / acked,
        perSecond: acked / seconds,
        note: busy > 0.9 ? 'limited by the generator' : ''
      }
    ];
  } finally {
    await stage.close();
  }
}

module.exports = { crypto, kernel, publisher, bare, bareMaximum };

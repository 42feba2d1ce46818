'use strict';
// One run: load → system → cloud → sink.

const { setTimeout: delay } = require('node:timers/promises');
const { readGroups } = require('../harness/proc');
const { Stage, sleep } = require('./stage');
const { snapshot, usage } = require('../harness/usage');

/**
 * @typedef {object} Profile
 * @property {number} devices @property {number} rate messages per second of each device
 * @property {number} seconds of load @property {number} warmup seconds of it that do not count
 * @property {number} payload bytes @property {number} alarmEvery
 * @property {number} inflight unacknowledged messages per device
 * @property {number} quietMs the sink is done after this time without a new record
 * @property {number} drain seconds for which the generator waits for its last acknowledgements
 * @property {string | undefined} gatewayCpus @property {string | undefined} harnessCpus
 * @property {string} datatype @property {Record<string, string>} gatewayEnv
 * @property {boolean} [statistics] the gateway's admin API is open
 * @property {string[]} [within] command prefix of the gateway, such as that of a control group
 * @property {object[]} [flow] nodes in addition to those of flows/gateway.json
 * @property {Record<string, string | number>} [loadOptions] additional options of loadgen
 * @property {Record<string, string | number>} [sinkOptions] additional options of the sink
 * @property {{host: string, within: string[], alsoAt?: string[], sinkWithin?: string[]}} [cloudAt] runs cloud and sink
 *           elsewhere: the cloud's address, and the command prefix that runs a program there
 * @property {number} [openFiles] limit of each process
 * @property {number} [settleMs] the sink is done after this time at the latest
 * @property {(cloud: import('../harness/cloud').Cloud, startMs: number,
 *             stage: Stage) => Promise<void>} [during] events for the cloud and the system under load
 * @property {AbortSignal} [signal] ends the run early
 * @property {(stage: Stage) => any} [observe] called every second for values to keep in addition to the resident memory
 */

/** @param {Stage} stage @param {{value: boolean}} ended @param {number} startMs */
async function watch(stage, ended, startMs) {
  const samples = [];
  while (!ended.value) {
    const { rssBytes } = readGroups(stage.system ? stage.system.children.map((child) => child.pid) : []);
    const more = stage.profile.observe ? await stage.profile.observe(stage) : {};
    const second = Math.round((Date.now() - startMs) / 1000);
    samples.push({ second, rssMB: Math.round(rssBytes / 1e6), ...more });
    await sleep(startMs + (second + 1) * 1000 - Date.now());
  }
  return samples;
}

/** @param {number} atMs @param {AbortSignal | undefined} signal rejects the promise when it fires */
const until = (atMs, signal) => delay(Math.max(0, atMs - Date.now()), undefined, { signal });

/** @param {string} name of the system @param {Profile} profile */
async function measure(name, profile) {
  const stage = new Stage(profile);
  const ended = { value: false };
  try {
    await stage.open(profile.sinkOptions);
    const system = await stage.startSystem(name);
    const load = await stage.startLoad(profile.loadOptions).started();
    const { startMs } = load;
    const memory = watch(stage, ended, startMs);
    const cloud = /** @type {import('../harness/cloud').Cloud} */ (stage.cloud);
    const event = profile.during ? profile.during(cloud, startMs, stage) : Promise.resolve();
    event.catch(() => {}); // awaited below
    await until(startMs + profile.warmup * 1000, profile.signal);
    const before = snapshot(stage);
    await until(startMs + profile.seconds * 1000, profile.signal);
    const { parts, ...used } = usage(before, snapshot(stage), system.parts);
    await event;
    const { acked } = await load.result();
    if (system.forwards) await stage.settle(acked, profile.quietMs, profile.settleMs);
    ended.value = true;
    const rss = await memory;
    const { sent, ...rest } = await stage.finish();
    return {
      system: name,
      seconds: profile.seconds,
      startMs,
      cores: parts.reduce((sum, part) => sum + part.cores, 0),
      parts,
      ...used,
      rssMB: Math.max(...rss.map((sample) => sample.rssMB)),
      memory: rss,
      sent: sent[0],
      ...rest
    };
  } finally {
    ended.value = true;
    await stage.close();
  }
}

/** @typedef {Awaited<ReturnType<typeof measure>>} Result */

module.exports = { measure, sleep };

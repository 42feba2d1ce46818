'use strict';
// Runs a staircase of load on a system, records the CPU of every process by step, and stops after a failed step.

const fs = require('node:fs');
const { allowedCores, machineSeconds, readThreads, threadUse } = require('../harness/proc');
const { Stage, sleep } = require('./stage');
const { ARRIVED, LATE_MS } = require('./staircase');

/** The generator's wake-up interval, the same for every system: fewer wake-ups leave it more of its core. */
const TICK_US = 5000;
/** Unacknowledged messages of a device. p99 may reach a second, so a small window would be the limit. */
const INFLIGHT = 256;
/** Time after the load's end for records of the good steps to arrive. */
const REST_MS = 1500;

/**
 * @typedef {import('./staircase').Step} Step @typedef {import('./staircase').Use} Use
 * @typedef {{stage: Stage, cores: {system: number, harness: number}}} Watched
 */

/** @param {string | undefined} list such as 0-2,5 @returns {number} */
function coreCount(list) {
  if (!list) return allowedCores().length;
  return list.split(',').reduce((sum, part) => {
    const [from, to = from] = part.split('-').map(Number);
    return sum + to - from + 1;
  }, 0);
}

/** @param {import('../harness/proc').ThreadUse[]} uses @param {number} of @returns {Use} */
function together(uses, of) {
  const cores = uses.reduce((sum, use) => sum + use.cores, 0);
  // A pool of n threads could use n cores, so the share of one thread counts.
  const each = uses.map((use) => ({
    name: use.process === use.name ? use.name : `${use.process} ${use.name}`,
    cores: use.cores / use.threads
  }));
  const busiest = each.reduce((a, b) => (b.cores > a.cores ? b : a), { name: '', cores: 0 });
  return { cores, of, busiest };
}

/** Returns the process groups of system and harness. @param {Stage} stage */
function groupsOf(stage) {
  const system = stage.system ? stage.system.children.map((child) => child.pid) : [];
  const cloud = stage.cloud?.child ? [stage.cloud.child.pid] : [];
  return { system, harness: [...stage.tools.map((tool) => tool.pid), ...cloud] };
}

/**
 * Measures the CPU use of each side, and of all other programs.
 * @param {Stage} stage
 * @returns {() => {system: import('../harness/proc').ThreadUse[], harness: import('../harness/proc').ThreadUse[], others: number}}
 *          returns the use since the previous call
 */
function laps(stage) {
  const read = () => {
    const groups = groupsOf(stage);
    const all = readThreads([...groups.system, ...groups.harness]);
    /** @param {number[]} own */
    const part = (own) => new Map([...all].filter(([, { group }]) => own.includes(group)));
    return {
      atMs: performance.now(),
      machine: machineSeconds(),
      system: part(groups.system),
      harness: part(groups.harness)
    };
  };
  let before = read();
  return () => {
    const after = read();
    const seconds = (after.atMs - before.atMs) / 1000;
    const uses = {
      system: threadUse(before.system, after.system, seconds),
      harness: threadUse(before.harness, after.harness, seconds)
    };
    const ours = [...uses.system, ...uses.harness].reduce((sum, { cores }) => sum + cores, 0);
    const others = Math.max(0, (after.machine - before.machine) / seconds - ours);
    before = after;
    return { ...uses, others };
  };
}

/**
 * True if too few messages have arrived.
 * @param {Stage} stage @param {import('./stage').Load} load @param {number} meant messages of all steps so far
 * @param {number} last messages of the last step
 */
function isBehind(stage, load, meant, last) {
  const reached = stage.system?.forwards ? stage.arrivedSoFar().unique : (load.progress().at(-1)?.acked ?? 0);
  return reached < meant - (1 - ARRIVED) * last;
}

/**
 * @param {Stage} stage @param {import('./stage').Load} load @param {number[]} rates @param {number} stepSeconds
 * @returns {Promise<{system: any[], harness: any[], others: number, isBehind: boolean}[]>} the steps that ran to their
 *          end
 */
async function watch(stage, load, rates, stepSeconds) {
  const seen = [];
  const endMs = (/** @type {number} */ step) => load.startMs + (step + 1) * stepSeconds * 1000;
  let meant = 0;
  await sleep(load.startMs - Date.now());
  const lap = laps(stage);
  for (const [i, rate] of rates.entries()) {
    await sleep(endMs(i) - Date.now());
    if (load.child.exit) break;
    const use = lap();
    meant += rate * stepSeconds;
    // The sink reports every half second.
    await sleep(endMs(i) + Math.min(1500, (stepSeconds * 1000) / 2) - Date.now());
    const behind = isBehind(stage, load, meant, rate * stepSeconds);
    seen.push({ ...use, isBehind: behind });
    if (behind) break;
  }
  return seen;
}

/**
 * @param {any} sent of the generator @param {any} arrived of the sink @param {any[]} seen @param {Stage} stage
 * @param {number} stepSeconds
 * @returns {Step[]}
 */
function join(sent, arrived, seen, stage, stepSeconds) {
  const { gatewayCpus, harnessCpus } = stage.profile;
  const forwards = stage.system?.forwards;
  return seen.map((use, i) => {
    const [own, there] = [sent.steps[i], arrived.steps?.[i]];
    return {
      rate: own.rate,
      meant: Math.round(own.rate * stepSeconds),
      sent: own.sent,
      acked: own.acked,
      late: own.late,
      ...(forwards ? { arrived: there?.count ?? 0 } : {}),
      p99Ms: (forwards ? (there?.p99 ?? Infinity) : own.ackUs.p99) / 1000,
      isBehind: use.isBehind,
      system: together(use.system, coreCount(gatewayCpus)),
      harness: together(use.harness, coreCount(harnessCpus)),
      others: use.others,
      threads: busy([...use.system, ...use.harness])
    };
  });
}

/** Returns the busy threads with the fields to keep. @param {import('../harness/proc').ThreadUse[]} uses */
const busy = (uses) =>
  uses
    .filter(({ cores }) => cores >= 0.005)
    .map(({ process, name, cores, waiting, wakesPerSecond }) => ({
      process,
      name,
      cores,
      waiting,
      wakesPerSecond
    }));

/**
 * @param {string} system @param {import('./measure').Profile} profile
 * @param {number[]} rates msg/s of all devices, step by step @param {number} stepSeconds
 * @param {(stage: Stage) => Promise<void> | void} [begin] called after the start of the system
 * @returns {Promise<Step[]>} the steps that ran, the failed one last
 */
async function climb(system, profile, rates, stepSeconds, begin = () => {}) {
  const stage = new Stage({ ...profile, inflight: INFLIGHT, warmup: 0, seconds: stepSeconds * rates.length });
  try {
    await stage.open({ 'step-seconds': stepSeconds });
    await stage.startSystem(system);
    await begin(stage);
    const load = await stage
      .startLoad({
        steps: rates.join(','),
        'step-seconds': stepSeconds,
        'tick-us': TICK_US,
        'late-ms': LATE_MS,
        'progress-ms': 250,
        drain: 3
      })
      .started();
    const seen = await watch(stage, load, rates, stepSeconds);
    const isUnfinished = seen.length < rates.length || seen.some((step) => step.isBehind);
    if (isUnfinished && !load.child.exit) load.child.process.kill('SIGTERM');
    const sent = await load.result();
    await sleep(REST_MS);
    await stage.sink?.stop('SIGTERM', 60000);
    const arrived = JSON.parse(fs.readFileSync(stage.sinkFile, 'utf8'));
    return join(sent, arrived, seen, stage, stepSeconds);
  } finally {
    await stage.close();
  }
}

module.exports = { climb, together, coreCount };

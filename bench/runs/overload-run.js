'use strict';
// Runs the gateway with limited CPU or link: measures its capacity, then offers more than that.

const { median } = require('../report/report');
const { readGroup } = require('../harness/proc');
const { Stage, sleep } = require('./stage');
const { describeOverload } = require('../report/overload-summary');

/**
 * The limit of the gateway's resources.
 * @typedef {object} Shortage
 * @property {Partial<import('./measure').Profile>} profile overrides for the stage
 * @property {string} title
 * @property {(short: Record<string, number>, ms: number) => number} felt effect of the limit, in units of `title`
 * @property {string} told description
 * @property {(capacity: any) => string} doubt why another limit was reached first; '' = this limit was reached
 * @property {(stage: Stage) => Promise<void> | void} begin
 * @property {() => Promise<void> | void} lift removes the limit, so that the end does not take long
 * @property {() => Record<string, number>} stat counters, in the units of their names
 * @property {() => Promise<void>} remove
 *
 * @typedef {object} Plan
 * @property {number} devices of class 3 @property {number} alarmDevices
 * @property {number} alarmRate msg/s of all of them
 * @property {number} before seconds @property {number} seconds of overload @property {number} after seconds
 * @property {boolean} leave the devices of the surge disconnect at its end, with their unsent records
 * @property {number} boundMs see describeOverload
 */

/** Seconds of load after the last phase: the very last batch is not full and waits for its time limit. */
const TAIL = 2;
const LOW = 0.5; // fraction of the capacity that is offered before and after the overload

const SKIP = 2; // seconds until the arrivals are steady

/**
 * @param {number[]} perSecond arrivals
 * @returns {number} arrivals of a steady second; the last second may be incomplete
 */
const steady = (perSecond) => Math.round(median(perSecond.slice(SKIP, -1)));

/** @param {Stage} stage @returns {() => number} cores that the system has used since this call */
function coresSince(stage) {
  const seconds = () => stage.cpu().reduce((a, b) => a + b, 0);
  const [before, fromMs] = [seconds(), Date.now()];
  return () => (seconds() - before) / ((Date.now() - fromMs) / 1000);
}

/**
 * Measures the records per second that arrive while devices offer far more.
 * @param {import('./measure').Profile} profile @param {Shortage} shortage
 * @param {{devices: number, seconds: number, flood: number}} options flood: msg/s that the devices offer
 */
async function measureCapacity(profile, shortage, { devices, seconds, flood }) {
  const stage = new Stage({ ...profile, ...shortage.profile, devices });
  try {
    await stage.open();
    await stage.startSystem('seganet');
    await shortage.begin(stage);
    const options = { devices, rate: flood / devices, 'alarm-every': 0, seconds, drain: 0 };
    const load = await stage.startLoad(options).started();
    await sleep(load.startMs + SKIP * 1000 - Date.now());
    const used = coresSince(stage);
    const from = shortage.stat();
    await sleep(load.startMs + seconds * 1000 - Date.now());
    const cores = used();
    const short = since(from, shortage.stat());
    await load.result();
    await shortage.lift();
    const { arrived, cleanEnd } = await stage.finish();
    const perSecond = steady(arrived.arrivalsPerSecond.slice(0, seconds));
    return { perSecond, cores, short, ms: (seconds - SKIP) * 1000, arrived, cleanEnd };
  } finally {
    await stage.close();
  }
}

/** @param {Record<string, number>} from @param {Record<string, number>} to */
const since = (from, to) => Object.fromEntries(Object.keys(to).map((name) => [name, to[name] - from[name]]));

/** @param {number[] | undefined} values */
const sum = (values) => (values ? values.reduce((a, b) => a + b, 0) : undefined);

/** Samples the engine's memory and records every second. @param {Stage} stage @param {() => boolean} ended */
async function watch(stage, ended) {
  const samples = [];
  while (!ended()) {
    const sinceMs = Date.now();
    const stats = await stage.system?.gateway?.stats();
    samples.push({
      ms: sinceMs,
      rssMB: stage.system ? Math.round(readGroup(stage.system.children[0].pid).rssBytes / 1e6) : 0,
      held: sum(stats?.heldRecords),
      stored: sum(stats?.storedRecords),
      slowed: stats?.slowed,
      slowedFrom: stats?.slowedFrom
    });
    await sleep(sinceMs + 1000 - Date.now());
  }
  return samples;
}

/**
 * Returns dropped records by reason, over all classes, without reasons that did not occur.
 * @param {any} stats
 * @returns {Record<string, number>}
 */
function dropsOf(stats) {
  const rows = Object.entries(/** @type {Record<string, number[]>} */ (stats?.drops ?? {}));
  const sums = rows.map(([reason, counts]) => [reason, sum(counts)]);
  return Object.fromEntries(sums.filter(([, count]) => count));
}

/**
 * Returns the records that the devices should have sent by a time and have not.
 * @param {import('./stage').Load} load @param {number} perSecond @param {number} atMs
 */
function unsentAt(load, perSecond, atMs) {
  const last = load
    .progress()
    .filter(({ us }) => us / 1000 <= atMs)
    .at(-1);
  if (!last) return 0;
  return Math.max(0, Math.round((perSecond * (last.us / 1000 - load.startMs)) / 1000) - last.sent);
}

/**
 * Starts the alarms, an even load of half of the capacity, and the surge, which begins `before` seconds later.
 * @param {Stage} stage @param {Plan} plan @param {number} capacity @param {number} load
 */
async function startLoads(stage, plan, capacity, load) {
  const half = Math.ceil(plan.devices / 2);
  const seconds = plan.before + plan.seconds + plan.after + TAIL;
  const perSecond = { low: capacity * LOW - plan.alarmRate, high: capacity * (load - LOW) };
  const { alarmDevices, alarmRate } = plan;
  const urgent = { devices: alarmDevices, rate: alarmRate / alarmDevices, 'alarm-every': 1 };
  const bulk = { devices: half, 'alarm-every': 0, 'progress-ms': 100 };
  const alarms = stage.startLoad({ ...urgent, seconds });
  const even = stage.startLoad({
    ...bulk,
    rate: perSecond.low / half,
    seconds,
    'first-device': alarmDevices
  });
  await alarms.started();
  await even.started();
  const surge = stage.startLoad({
    ...bulk,
    rate: perSecond.high / half,
    seconds: plan.seconds,
    'first-device': alarmDevices + half,
    'lead-ms': Math.round(plan.before * 1000),
    ...(plan.leave ? { drain: 0 } : {})
  });
  await surge.started();
  return { alarms, even, surge, perSecond };
}

/**
 * Returns the records that wait at the devices and in the gateway.
 * @param {Awaited<ReturnType<typeof startLoads>>} loads @param {boolean} leave @param {number} atMs @param {any} stats
 */
function owedAt({ even, surge, perSecond }, leave, atMs, stats) {
  const atDevices = unsentAt(even, perSecond.low, atMs) + (leave ? 0 : unsentAt(surge, perSecond.high, atMs));
  return atDevices + (sum(stats?.heldRecords) ?? 0) + (sum(stats?.backlogRecords) ?? 0);
}

/**
 * Raises the load from half of the capacity to `load` times the capacity and back.
 * @param {import('./measure').Profile} profile @param {Shortage} shortage @param {Plan} plan
 * @param {number} capacity records per second @param {number} load such as 1.2
 */
async function runLoad(profile, shortage, plan, capacity, load) {
  const devices = plan.alarmDevices + 2 * Math.ceil(plan.devices / 2);
  const stage = new Stage({ ...profile, ...shortage.profile, devices });
  let ended = false;
  try {
    await stage.open({ 'sample-every': 1 });
    const system = await stage.startSystem('seganet');
    await shortage.begin(stage);
    const loads = await startLoads(stage, plan, capacity, load);
    const { alarms, even, surge } = loads;
    const watching = watch(stage, () => ended);
    const times = {
      fromMs: even.startMs + profile.warmup * 1000,
      surgeMs: surge.startMs,
      fallMs: surge.startMs + plan.seconds * 1000,
      endMs: surge.startMs + (plan.seconds + plan.after) * 1000
    };
    await sleep(times.surgeMs - Date.now());
    const from = shortage.stat();
    const used = coresSince(stage);
    await sleep(times.fallMs - Date.now());
    const cores = used();
    const short = since(from, shortage.stat());
    const atFall = await system.gateway?.stats();
    const results = [await surge.result(), await even.result(), await alarms.result()];
    const owed = owedAt(loads, plan.leave, times.fallMs, atFall);
    const drops = dropsOf(await system.gateway?.stats());
    await shortage.lift();
    const acked = results.reduce((all, each) => all + each.acked, 0);
    await stage.settle(acked, profile.quietMs);
    ended = true;
    const watched = await watching;
    const { sent, ...rest } = await stage.finish();
    const summary = describeOverload(rest.samples, times, plan.boundMs);
    return { load, times, sent, ...rest, watched, cores, drops, short, owed, summary };
  } finally {
    ended = true;
    await stage.close();
  }
}

/** @typedef {Awaited<ReturnType<typeof runLoad>>} OverloadRun */

module.exports = { measureCapacity, runLoad, steady, dropsOf, LOW };

'use strict';
// The gateway with less than it needs: how much it delivers at most, and what becomes of more than that.

const { median } = require('./report');
const { readGroup } = require('./proc');
const { Stage, sleep } = require('./stage');
const { describeOverload } = require('./overload-summary');

/**
 * What makes the gateway slow.
 * @typedef {object} Shortage
 * @property {(stage: Stage) => Promise<void> | void} begin
 * @property {() => Promise<void> | void} lift so that the end does not take long
 * @property {() => Record<string, number>} stat counters, in the units of their names
 * @property {() => Promise<void>} remove
 *
 * @typedef {object} Plan
 * @property {number} devices of class 3 @property {number} alarmDevices @property {number} alarmRate msg/s of all of them
 * @property {number} before seconds @property {number} seconds of too much load @property {number} after seconds
 * @property {boolean} leave the devices of the surge go away at its end, with what they could not send
 * @property {number} boundMs see describeOverload
 */

const LOW = 0.5; // part of the capacity that is offered before and after

const SKIP = 2; // seconds at the beginning that are not yet steady

/** @param {number[]} perSecond arrivals @returns {number} of a steady second; the last one may be cut off */
const steady = (perSecond) => Math.round(median(perSecond.slice(SKIP, -1)));

/** @param {Stage} stage @returns {() => number} cores that the system has used since then */
function coresSince(stage) {
  const sum = () => stage.cpu().reduce((a, b) => a + b, 0);
  const [before, since] = [sum(), Date.now()];
  return () => (sum() - before) / ((Date.now() - since) / 1000);
}

/**
 * Records a second that arrive at most, when devices have far more.
 * @param {import('./measure').Profile} profile @param {Shortage} shortage
 * @param {{devices: number, seconds: number, flood: number}} options flood: msg/s that the devices mean to send
 */
async function measureCapacity(profile, shortage, { devices, seconds, flood }) {
  const stage = new Stage({ ...profile, devices });
  try {
    await stage.open();
    await stage.startSystem('seganet');
    await shortage.begin(stage);
    const options = { devices, rate: flood / devices, 'alarm-every': 0, seconds, drain: 0 };
    const load = await stage.startLoad(options).started();
    await sleep(load.startMs + SKIP * 1000 - Date.now());
    const used = coresSince(stage);
    await sleep(load.startMs + seconds * 1000 - Date.now());
    const cores = used();
    await load.result();
    await shortage.lift();
    const { arrived, cleanEnd } = await stage.finish();
    return { perSecond: steady(arrived.arrivalsPerSecond.slice(0, seconds)), cores, arrived, cleanEnd };
  } finally {
    await stage.close();
  }
}

/** What the engine holds, each second. @param {Stage} stage @param {() => boolean} ended */
async function watch(stage, ended) {
  const samples = [];
  /** @param {number[] | undefined} values */
  const sum = (values) => (values ? values.reduce((a, b) => a + b, 0) : undefined);
  while (!ended()) {
    const since = Date.now();
    const stats = await stage.system?.gateway?.stats();
    samples.push({
      ms: since,
      rssMB: stage.system ? Math.round(readGroup(stage.system.children[0].pid).rssBytes / 1e6) : 0,
      held: sum(stats?.heldRecords),
      stored: sum(stats?.storedRecords),
      slowed: stats?.slowed,
      slowedFrom: stats?.slowedFrom
    });
    await sleep(since + 1000 - Date.now());
  }
  return samples;
}

/** Records by reason, of all classes; without the reasons that did not happen. @param {any} stats @returns {Record<string, number>} */
function dropsOf(stats) {
  const rows = Object.entries(/** @type {Record<string, number[]>} */ (stats?.drops ?? {}));
  const sums = rows.map(([reason, counts]) => [reason, counts.reduce((a, b) => a + b, 0)]);
  return Object.fromEntries(sums.filter(([, count]) => count));
}

/** Offered and not acknowledged at a time. @param {import('./stage').Load} load @param {number} perSecond @param {number} atMs */
function behind(load, perSecond, atMs) {
  const reports = load.progress().filter(({ us }) => us / 1000 <= atMs);
  const last = reports.at(-1);
  return last
    ? Math.max(0, Math.round((perSecond * (last.us / 1000 - load.startMs)) / 1000) - last.acked)
    : 0;
}

/**
 * The load goes from half of the capacity to `load` of it and back.
 * @param {import('./measure').Profile} profile @param {Shortage} shortage @param {Plan} plan
 * @param {number} capacity records a second @param {number} load such as 1.2
 */
async function runLoad(profile, shortage, plan, capacity, load) {
  const half = Math.ceil(plan.devices / 2);
  const total = plan.before + plan.seconds + plan.after;
  const stage = new Stage({ ...profile, devices: plan.alarmDevices + 2 * half });
  let ended = false;
  try {
    await stage.open({ 'sample-every': 1 });
    const system = await stage.startSystem('seganet');
    await shortage.begin(stage);
    const alarms = stage.startLoad({
      devices: plan.alarmDevices,
      rate: plan.alarmRate / plan.alarmDevices,
      'alarm-every': 1,
      seconds: total
    });
    const low = capacity * LOW - plan.alarmRate;
    const bulk = { devices: half, 'alarm-every': 0, 'progress-ms': 100 };
    const first = plan.alarmDevices;
    const even = stage.startLoad({ ...bulk, rate: low / half, seconds: total, 'first-device': first });
    await alarms.started();
    await even.started();
    const surge = stage.startLoad({
      ...bulk,
      rate: (capacity * (load - LOW)) / half,
      seconds: plan.seconds,
      'first-device': first + half,
      'lead-ms': Math.round(plan.before * 1000),
      drain: plan.leave ? 0 : profile.drain
    });
    await surge.started();
    const watching = watch(stage, () => ended);
    const times = {
      fromMs: even.startMs + profile.warmup * 1000,
      surgeMs: surge.startMs,
      fallMs: surge.startMs + plan.seconds * 1000,
      endMs: even.startMs + total * 1000
    };
    await sleep(times.surgeMs - Date.now());
    const from = shortage.stat();
    const used = coresSince(stage);
    await sleep(times.fallMs - Date.now());
    const cores = used();
    const to = shortage.stat();
    const short = Object.fromEntries(Object.keys(to).map((name) => [name, to[name] - from[name]]));
    const results = [await surge.result(), await even.result(), await alarms.result()];
    const atFall = behind(even, low, times.fallMs);
    const drops = dropsOf(await system.gateway?.stats());
    await shortage.lift();
    const acked = results.reduce((sum, each) => sum + each.acked, 0);
    await stage.settle(acked, profile.quietMs);
    ended = true;
    const watched = await watching;
    const { sent, ...rest } = await stage.finish();
    const summary = describeOverload(rest.samples, times, plan.boundMs);
    return { load, times, sent, ...rest, watched, cores, drops, short, atFall, summary };
  } finally {
    ended = true;
    await stage.close();
  }
}

/** @typedef {Awaited<ReturnType<typeof runLoad>>} OverloadRun */

module.exports = { measureCapacity, runLoad, steady, dropsOf, LOW };

'use strict';
// Systems with the same share of a core, chosen so that a baseline does not come through with it: a quota of a part of what that
// baseline took without one.

const { setTimeout: delay } = require('node:timers/promises');
const { CpuLimit } = require('../harness/cpu-limit');
const { loadOf } = require('./load');
const { measure } = require('./measure');
const { median } = require('../report/report');
const { SlowCpu } = require('../harness/slow-cpu');

/** @typedef {import('../options/chapter').Plan} Plan @typedef {import('../options/chapter').Outcome} Outcome @typedef {import('./side-by-side').Entry} Entry */

/**
 * What a run was given, and what it felt of it in the measured window.
 * @typedef {object} Quota
 * @property {number} cores @property {number} of cores: what the quota is a part of @property {number} periodMs
 * @property {number} periods @property {number} throttled of them @property {number} throttledMs
 *
 * @typedef {{cores: number, of: number}} Given
 */

/** Of what the baseline needs, what every system may have. */
const SHARE = 0.5;
/**
 * A system that never sleeps takes less for a message, because one wake-up finds several: half of what it took without a quota may
 * do. So what it needs is measured with this part of that, where nothing is left to save.
 */
const CALIBRATION = 0.25;
/** Nothing runs for the rest of a period whose quota is used up: it must be short beside the latencies that are compared. */
const SHORTEST_MS = 10;
/** The kernel's longest period, and its least quota [Documentation/scheduler/sched-bwc.rst]. */
const LONGEST_MS = 1000;
const LEAST_MS = 1;
/** Part of the warm-up that is without the quota: JavaScript is compiled in it, and a quota is no measure of that. */
const UNLIMITED = 0.5;
/** From the end of the window to the end of the quota: what was used is read meanwhile. */
const READ_MS = 300;

/** The shortest in which the kernel can keep to a quota. @param {number} cores */
const periodFor = (cores) => Math.min(LONGEST_MS, Math.max(SHORTEST_MS, Math.ceil(LEAST_MS / cores)));

/** @returns {string} '' when a quota can be set here, else why not */
function lackingQuota() {
  try {
    CpuLimit.probe();
    return '';
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
}

/** @param {string} load @param {string} base name of the baseline */
const quotaLoad = (load, base) => `${load}, quota of ${base}`;

/** @param {string} load @param {string} base */
const calibrationKey = (load, base) => `${quotaLoad(load, base)}/calibration`;

/** Of what was meant, in the measured window, by the time of its arrival. @param {any} result of measureWithin() @returns {number} 0..1 */
function delivered({ arrived, sent, seconds, warmup }) {
  const inTime = arrived.arrivalsPerSecond.slice(warmup, seconds);
  const came = inTime.reduce((/** @type {number} */ sum, /** @type {number} */ each) => sum + each, 0);
  return came / (sent.offered * (seconds - warmup));
}

/** What the whole load would take at the cost of a message in this run. @param {any} result @returns {number} cores */
const needOf = (result) => result.cores / Math.min(1, delivered(result));

/** @param {Outcome[]} outcomes @param {string} key */
const resultsAt = (outcomes, key) =>
  outcomes.filter((each) => each.key === key && each.result).map(({ result }) => result);

/** A quarter of what it took without a quota, so far. @param {Outcome[]} previous @param {string} load @param {string} base @returns {Given} */
function calibrationQuota(previous, load, base) {
  const taken = resultsAt(previous, `${load}/${base}`).map(({ cores }) => cores);
  if (taken.length === 0) throw new Error(`A quota for ${base} needs a run of it without one before.`);
  return { cores: median(taken) * CALIBRATION, of: median(taken) };
}

/**
 * The same for all of a round, so that they can be compared.
 * @param {Outcome[]} previous @param {number} round @param {string} load @param {string} base @param {number} share
 * @returns {Given}
 */
function quotaFor(previous, round, load, base, share) {
  const given = previous.find(
    ({ key, result, round: its }) =>
      result &&
      its === round &&
      key.startsWith(`${quotaLoad(load, base)}/`) &&
      key !== calibrationKey(load, base)
  );
  if (given) return { cores: given.result.quota.cores, of: given.result.quota.of };
  const needs = resultsAt(previous, calibrationKey(load, base)).map(needOf);
  if (needs.length === 0)
    throw new Error(`A quota of what ${base} needs is not known: its calibration failed.`);
  return { cores: median(needs) * share, of: median(needs) };
}

/**
 * @param {string} system @param {import('./measure').Profile} profile @param {Given} given
 */
async function measureWithin(system, profile, { cores, of }) {
  const { warmup, seconds, signal } = profile;
  const slow = new SlowCpu(cores, periodFor(cores));
  /** @type {ReturnType<SlowCpu['stat']> | undefined} */
  let felt;
  try {
    const result = await measure(system, {
      ...profile,
      during: async (_, startMs, stage) => {
        const at = (/** @type {number} */ ms) =>
          delay(Math.max(0, startMs + ms - Date.now()), undefined, { signal });
        await at(warmup * 1000 * UNLIMITED);
        slow.begin(stage);
        await at(warmup * 1000);
        const from = slow.stat();
        await at(seconds * 1000);
        const to = slow.stat();
        felt = {
          periods: to.periods - from.periods,
          throttled: to.throttled - from.throttled,
          throttledMs: to.throttledMs - from.throttledMs
        };
        await delay(READ_MS, undefined, { signal });
        // What waits is delivered now, and not in minutes: that flatters who has fallen behind.
        slow.lift();
      }
    });
    return { ...result, warmup, quota: { cores, of, periodMs: periodFor(cores), ...felt } };
  } finally {
    await slow.remove();
  }
}

/**
 * Those of a baseline: what it needs, then it and the others with a part of that.
 * @param {Plan} plan @param {Entry} base @param {Entry[]} others @param {string} load of the runs without a quota
 * @param {Partial<import('./measure').Profile>} profile @returns {import('../options/chapter').Case[]}
 */
function quotaCases(plan, base, others, load, profile) {
  const share = plan.quota ?? SHARE;
  /** @param {Entry} entry @param {string} key @param {string} label @param {(context: import('../options/chapter').CaseContext) => Given} choose */
  const caseOf = (entry, key, label, choose) => ({
    key,
    label,
    seconds: plan.seconds + 9,
    run: async (/** @type {import('../options/chapter').CaseContext} */ context) => {
      const gatewayEnv = { ...profile.gatewayEnv, ...entry.env };
      const { signal } = context;
      const more = { sinkOptions: { histograms: 1 }, signal };
      const own = { ...loadOf(plan, { ...profile, gatewayEnv }), ...more };
      const result = await measureWithin(entry.system ?? entry.name, own, choose(context));
      result.samples = []; // too many to keep for hours
      return result;
    }
  });
  const calibrate = caseOf(
    base,
    calibrationKey(load, base.name),
    `${base.label}, ${load}, what it needs`,
    ({ previous }) => calibrationQuota(previous, load, base.name)
  );
  const limited = [base, ...others].map((entry) =>
    caseOf(
      entry,
      `${quotaLoad(load, base.name)}/${entry.name}`,
      `${entry.label}, ${load}, ${share} of what ${base.name} needs`,
      ({ previous, round }) => quotaFor(previous, round, load, base.name, share)
    )
  );
  return [calibrate, ...limited];
}

module.exports = {
  SHARE,
  calibrationKey,
  calibrationQuota,
  delivered,
  lackingQuota,
  needOf,
  periodFor,
  quotaCases,
  quotaFor,
  quotaLoad
};

'use strict';
// Runs systems with the same share of a core, chosen so that a baseline falls behind: a fraction of the CPU that the
// baseline needs.

const { setTimeout: delay } = require('node:timers/promises');
const { CpuLimit } = require('../harness/cpu-limit');
const { loadOf } = require('./load');
const { measure } = require('./measure');
const { median, resultsOf } = require('../report/report');
const { SlowCpu } = require('../harness/slow-cpu');

/**
 * @typedef {import('../options/chapter').Plan} Plan
 * @typedef {import('../options/chapter').Outcome} Outcome
 * @typedef {import('./side-by-side').Entry} Entry
 */

/**
 * The quota of a run, and its effect in the measured window.
 * @typedef {object} Quota
 * @property {number} cores @property {number} of cores that the quota is a fraction of @property {number} periodMs
 * @property {number} periods @property {number} throttled periods @property {number} throttledMs
 *
 * @typedef {{cores: number, of: number}} Given
 */

/** Fraction of the baseline's need that every system gets. */
const SHARE = 0.5;
/**
 * A system that never sleeps uses less CPU per message, because one wake-up finds several: half of its CPU without a
 * quota may suffice. So its need is measured with this fraction of that CPU, with which it is always busy.
 */
const CALIBRATION = 0.25;
/**
 * The system stops for the rest of a period after its quota is used up, so periods must be short compared with the
 * latencies.
 */
const SHORTEST_MS = 10;
/** The kernel's longest period, and its smallest quota [Documentation/scheduler/sched-bwc.rst]. */
const LONGEST_MS = 1000;
const LEAST_MS = 1;
/** Fraction of the warm-up without the quota, in which JavaScript is compiled. */
const UNLIMITED = 0.5;
/** From the end of the window to the end of the quota; the CPU use is read meanwhile. */
const READ_MS = 300;

/** Returns the shortest period for which the kernel accepts the quota. @param {number} cores */
const periodFor = (cores) => Math.min(LONGEST_MS, Math.max(SHORTEST_MS, Math.ceil(LEAST_MS / cores)));

/** @returns {string} '' if quotas are available here, else the reason */
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

/**
 * Returns the fraction of the intended messages that arrived in the measured window.
 * @param {any} result of measureWithin()
 * @returns {number} 0..1
 */
function delivered({ arrived, sent, seconds, warmup }) {
  const inTime = arrived.arrivalsPerSecond.slice(warmup, seconds);
  const came = inTime.reduce((/** @type {number} */ sum, /** @type {number} */ each) => sum + each, 0);
  return came / (sent.offered * (seconds - warmup));
}

/** Returns the CPU of the whole load at this run's cost per message. @param {any} result @returns {number} cores */
const needOf = (result) => result.cores / Math.min(1, delivered(result));

/**
 * Returns a quarter of the baseline's median CPU without a quota so far.
 * @param {Outcome[]} previous @param {string} load @param {string} base
 * @returns {Given}
 */
function calibrationQuota(previous, load, base) {
  const taken = resultsOf(previous, `${load}/${base}`).map(({ cores }) => cores);
  if (taken.length === 0) throw new Error(`A quota for ${base} needs an earlier run of it without a quota.`);
  return { cores: median(taken) * CALIBRATION, of: median(taken) };
}

/**
 * Returns the quota, the same for all systems of a round, so that they can be compared.
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
  const needs = resultsOf(previous, calibrationKey(load, base)).map(needOf);
  if (needs.length === 0) throw new Error(`The CPU need of ${base} is unknown: its calibration failed.`);
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
        // Waiting records arrive now instead of minutes later, which favors systems that have fallen behind.
        slow.lift();
      }
    });
    return { ...result, warmup, quota: { cores, of, periodMs: periodFor(cores), ...felt } };
  } finally {
    await slow.remove();
  }
}

/**
 * Returns the cases of a baseline: the calibration of its need, then the baseline and the others with a fraction of it.
 * @param {Plan} plan @param {Entry} base @param {Entry[]} others @param {string} load of the runs without a quota
 * @param {Partial<import('./measure').Profile>} profile @returns {import('../options/chapter').Case[]}
 */
function quotaCases(plan, base, others, load, profile) {
  const share = plan.quota ?? SHARE;
  /**
   * @param {Entry} entry @param {string} key @param {string} label
   * @param {(context: import('../options/chapter').CaseContext) => Given} choose
   */
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
    `${base.label}, ${load}, calibration`,
    ({ previous }) => calibrationQuota(previous, load, base.name)
  );
  const limited = [base, ...others].map((entry) =>
    caseOf(
      entry,
      `${quotaLoad(load, base.name)}/${entry.name}`,
      `${entry.label}, ${load}, ${share} of the need of ${base.name}`,
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

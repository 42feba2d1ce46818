'use strict';
// A load that rises step by step until a step fails: the steps, the last good one, and the limit. Pure.

const { median } = require('../report/report');

/** A step is good if its p99 from the intended time to the sink is below this. */
const P99_MS = 1000;
/** The fraction of a step's messages that must be sent and arrive in time. */
const ARRIVED = 0.97;
/**
 * Fraction that must be sent: the devices' periods do not match the steps exactly, so the rest may fall into the next
 * step.
 */
const SENT = 0.995;
/** Fraction of the sends that may be late; see LATE_MS. */
const LATE = 0.01;
const LATE_MS = 500;
/** Cores or a thread that are busy for this fraction of the time are the limit. */
const BUSY = 0.9;
/** Cores used by other programs. The command itself, kernel threads and a quiet system use less. */
const OTHERS = 0.25;
/** A staircase begins at this fraction of the rate found before. */
const FROM = 0.6;

/**
 * CPU use of one side during a step.
 * @typedef {object} Use
 * @property {number} cores used @property {number} of available cores
 * @property {{name: string, cores: number}} busiest its busiest thread: one thread cannot use more than a core
 *
 * @typedef {object} Step
 * @property {number} rate messages per second of all devices @property {number} meant messages of this step
 * @property {number} sent @property {number} acked
 * @property {number} late sent more than LATE_MS after the intended time
 * @property {number} [arrived] at the sink, each counted once; absent if the system forwards nothing
 * @property {number} p99Ms from the intended time to the sink, or to the acknowledgement if the system forwards nothing
 * @property {boolean} [isBehind] too few messages had arrived a second after the end of the step
 * @property {Use} [system] @property {Use} [harness] absent if the step was not watched to its end
 * @property {number} [others] cores that other programs used
 *
 * @typedef {'system' | 'harness' | 'others' | 'neither' | 'not reached'} Limit others: other programs
 */

/** The generator accepts no higher rate (kMaxRate in bench/loadgen/options.cc). */
const MOST_RATE = 1e7;

/**
 * Returns the rates of a staircase, which ends early at the generator's highest rate.
 * @param {number} from msg/s @param {number} growth of each step @param {number} count @returns {number[]}
 */
const rates = (from, growth, count) =>
  Array.from({ length: count }, (_, i) => Math.max(1, Math.round(from * growth ** i))).filter(
    (rate) => rate <= MOST_RATE
  );

/**
 * @param {number[]} found rates of the rounds before
 * @returns {number} first rate of the next staircase; 0 = unknown
 */
function startFrom(found) {
  const good = found.filter((rate) => rate > 0);
  return good.length > 0 ? Math.round(FROM * median(good)) : 0;
}

/** @param {Step} step @returns {string} why it failed, '' = it is good */
function failure(step) {
  const { meant, sent, acked, late, arrived, p99Ms } = step;
  if (sent < meant * ARRIVED || late > meant * LATE) return 'the devices could not send in time';
  if (p99Ms >= P99_MS) return `p99 ${(p99Ms / 1000).toFixed(1)} s`;
  if (step.isBehind) return 'too few messages arrived within a second';
  if (acked < sent) return `${sent - acked} not acknowledged`;
  if (sent < meant * SENT) return `${meant - sent} not sent`;
  if (arrived !== undefined && arrived < sent) return `${sent - arrived} did not arrive`;
  return '';
}

/**
 * @param {Step[]} steps in order
 * @returns {{rate: number, good: Step | undefined, failed: Step | undefined, why: string}} rate: of the last step
 *          before the first failed one, 0 if the first step failed
 */
function lastGood(steps) {
  const at = steps.findIndex((step) => failure(step) !== '');
  const good = at < 0 ? steps.at(-1) : steps[at - 1];
  const failed = at < 0 ? undefined : steps[at];
  return { rate: good?.rate ?? 0, good, failed, why: failed ? failure(failed) : '' };
}

/**
 * Returns the use of all cores, or of the busiest thread if that is higher.
 * @param {Use | undefined} use
 * @returns {number} 1 = full
 */
const load = (use) => (use ? Math.max(use.cores / use.of, use.busiest.cores) : 0);

/**
 * Returns the limit, from the first failed step. If both sides were full there, it is the side that was fuller in the
 * last good step, because an overload fills both.
 * @param {Step | undefined} good @param {Step | undefined} failed @returns {Limit}
 */
function limitOf(good, failed) {
  if (!failed) return 'not reached';
  const [system, harness] = [load(failed.system) >= BUSY, load(failed.harness) >= BUSY];
  if (system && harness) return load(good?.system) >= load(good?.harness) ? 'system' : 'harness';
  if (system) return 'system';
  if (harness) return 'harness';
  return (failed.others ?? 0) >= OTHERS ? 'others' : 'neither';
}

/** @param {Limit} limit @returns {boolean} true if the system could do more than the result shows */
const isLowerBound = (limit) => ['harness', 'others', 'not reached'].includes(limit);

module.exports = { rates, startFrom, failure, lastGood, limitOf, isLowerBound, load, LATE_MS, ARRIVED };

'use strict';
// A load that rises step by step until a step fails: which steps there are, which one was the last good one, and what the
// limit was. Pure.

const { median } = require('../report/report');

/** A step is good while p99 from the intended time to the sink is below. */
const P99_MS = 1000;
/** Sent or arrived later than that is too late for the step. */
const ARRIVED = 0.97;
/** Periods of devices and steps do not fit exactly: so much of what is meant may belong to the next step. */
const SENT = 0.995;
/** Part of its sends that a device side may send late; see LATE_MS. */
const LATE = 0.01;
const LATE_MS = 500;
/** A core or a thread that is busy for so much of the time is what limits. */
const BUSY = 0.9;
/** Cores. The command itself, the kernel's own threads and a quiet system take less. */
const OTHERS = 0.25;
/** Where a staircase begins, of what was found before. */
const FROM = 0.6;

/**
 * Who had how much of the processors during a step.
 * @typedef {object} Use
 * @property {number} cores used @property {number} of cores that it may use
 * @property {{name: string, cores: number}} busiest its busiest thread: one thread cannot use more than a core
 *
 * @typedef {object} Step
 * @property {number} rate messages a second, of all devices @property {number} meant messages of this step
 * @property {number} sent @property {number} acked @property {number} late sent more than LATE_MS after its time
 * @property {number} [arrived] at the sink, each counted once; absent where nothing is forwarded
 * @property {number} p99Ms from the intended time to the sink; to the acknowledgement where nothing is forwarded
 * @property {boolean} [isBehind] seen while it ran: too little had arrived a second after its end
 * @property {Use} [system] @property {Use} [harness] absent where the step was not watched to its end
 * @property {number} [others] cores that other programs took meanwhile
 *
 * @typedef {'system' | 'harness' | 'others' | 'neither' | 'not reached'} Limit others: programs that are not ours
 */

/** @param {number} from msg/s @param {number} growth of each step @param {number} count @returns {number[]} */
const rates = (from, growth, count) =>
  Array.from({ length: count }, (_, i) => Math.max(1, Math.round(from * growth ** i)));

/** @param {number[]} found rates of the rounds before @returns {number} where the next staircase begins; 0 = nothing is known */
function startFrom(found) {
  const good = found.filter((rate) => rate > 0);
  return good.length > 0 ? Math.round(FROM * median(good)) : 0;
}

/** @param {Step} step @returns {string} why it failed, '' = it did not */
function failure(step) {
  const { meant, sent, acked, late, arrived, p99Ms } = step;
  if (sent < meant * ARRIVED || late > meant * LATE) return 'the devices could not send in time';
  if (p99Ms >= P99_MS) return `p99 ${(p99Ms / 1000).toFixed(1)} s`;
  if (step.isBehind) return 'too little arrived within a second';
  if (acked < sent) return `${sent - acked} not acknowledged`;
  if (sent < meant * SENT) return `${meant - sent} not sent`;
  if (arrived !== undefined && arrived < sent) return `${sent - arrived} did not arrive`;
  return '';
}

/**
 * @param {Step[]} steps in order
 * @returns {{rate: number, good: Step | undefined, failed: Step | undefined, why: string}} rate: of the last step before the
 *          first that failed, 0 when the first one did
 */
function lastGood(steps) {
  const at = steps.findIndex((step) => failure(step) !== '');
  const good = at < 0 ? steps.at(-1) : steps[at - 1];
  const failed = at < 0 ? undefined : steps[at];
  return { rate: good?.rate ?? 0, good, failed, why: failed ? failure(failed) : '' };
}

/** How near to its limit: all of its cores, or its busiest thread. @param {Use | undefined} use @returns {number} 1 = full */
const load = (use) => (use ? Math.max(use.cores / use.of, use.busiest.cores) : 0);

/**
 * What the limit was, by the first step that failed. When both were full there, the one that was fuller while all was good:
 * behind a broken dam both are flooded.
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

/** @param {Limit} limit @returns {boolean} the system could do more than was found */
const isLowerBound = (limit) => ['harness', 'others', 'not reached'].includes(limit);

module.exports = { rates, startFrom, failure, lastGood, limitOf, isLowerBound, load, LATE_MS, ARRIVED };

'use strict';
// Evaluates the samples of an overload run: latency by class before, during and after it, and the recovery time.

const { percentile } = require('../stats/latency');
const { median } = require('./report');

/** @typedef {import('../stats/latency').Sample} Sample */

/** @typedef {{count: number, p50: number | undefined, p99: number | undefined, max: number | undefined}} Latency ms */

/** @param {Sample[]} samples @returns {Latency} */
function latencyOf(samples) {
  const values = samples.map(({ intendedMs, arrivedMs }) => arrivedMs - intendedMs).sort((a, b) => a - b);
  return {
    count: values.length,
    p50: percentile(values, 0.5),
    p99: percentile(values, 0.99),
    max: values.at(-1)
  };
}

/**
 * Groups records by the second of their intended time, even if the device sent them later.
 * @param {Sample[]} samples @param {number} fromMs @param {number} toMs
 */
function bySecond(samples, fromMs, toMs) {
  const seconds = Array.from(
    { length: Math.max(0, Math.ceil((toMs - fromMs) / 1000)) },
    () => /** @type {Sample[]} */ ([])
  );
  for (const sample of samples) {
    if (sample.intendedMs < fromMs || sample.intendedMs >= toMs) continue;
    seconds[Math.floor((sample.intendedMs - fromMs) / 1000)].push(sample);
  }
  return seconds;
}

const CALM_SECONDS = 3;

/**
 * Returns the first second from which the p99 stays within the bound for three seconds (or to the end).
 * @param {(number | undefined)[]} p99s by second, undefined = no live record arrived @param {number} boundMs
 * @returns {number | undefined} undefined = no recovery within this time
 */
function recoverySecond(p99s, boundMs) {
  const calm = p99s.map((p99) => p99 !== undefined && p99 <= boundMs);
  const found = calm.findIndex((_, second) => calm.slice(second, second + CALM_SECONDS).every(Boolean));
  return found < 0 ? undefined : found;
}

/**
 * @param {Sample[]} samples every record
 * @param {{fromMs: number, surgeMs: number, fallMs: number, endMs: number}} times the load is even from `fromMs`, too
 *          high from `surgeMs`, low again from `fallMs`
 * @param {number} leastBoundMs the bound is this or twice the p99 of a second before the overload, whichever is more
 */
function describeOverload(samples, { fromMs, surgeMs, fallMs, endMs }, leastBoundMs) {
  /** @param {number} from @param {number} to */
  const during = (from, to) => {
    const own = samples.filter(({ intendedMs }) => intendedMs >= from && intendedMs < to);
    return {
      class1: latencyOf(own.filter(({ alarm }) => alarm)),
      class3: latencyOf(own.filter(({ alarm }) => !alarm)),
      historical: own.filter(({ historical }) => historical).length
    };
  };
  const live = samples.filter(({ alarm, historical }) => !alarm && !historical);
  /** @param {number} from @param {number} to */
  const p99sOf = (from, to) => bySecond(live, from, to).map((second) => latencyOf(second).p99);
  const usual = p99sOf(fromMs, surgeMs).filter((p99) => p99 !== undefined);
  // The median, so that one outlier in the first seconds does not relax the bound.
  const boundMs = Math.max(leastBoundMs, usual.length > 0 ? 2 * median(usual) : 0);
  const p99s = p99sOf(fallMs, endMs);
  return {
    before: during(fromMs, surgeMs),
    overload: during(surgeMs, fallMs),
    after: during(fallMs, endMs),
    boundMs,
    p99s,
    recoveryS: recoverySecond(p99s, boundMs)
  };
}

module.exports = { describeOverload, recoverySecond };

'use strict';
// Evaluates the samples of a run with an outage: limits, time to drain, live alarms before it and while draining.

const { liveAlarms } = require('./latency');

/**
 * @param {import('../runs/measure').Result} result
 * @param {import('../runs/measure').Profile} profile
 * @param {{downMs: number, upMs: number}} times when the cloud stopped and when it was back
 */
function describeOutage(result, profile, { downMs, upMs }) {
  const { samples, memory, startMs } = result;
  const back = samples.find(({ arrivedMs }) => arrivedMs >= upMs);
  const held = samples.filter(({ intendedMs, arrivedMs }) => intendedMs < upMs && arrivedMs >= upMs);
  const drainedMs = held.reduce((last, { arrivedMs }) => Math.max(last, arrivedMs), 0);
  const backMs = back ? back.arrivedMs : NaN;
  const downSecond = (downMs - startMs) / 1000;
  const before = memory.filter(({ second }) => second < downSecond);
  const mebi = 1.048576;
  return {
    rssBeforeMB: Math.max(0, ...before.map(({ rssMB }) => rssMB)),
    rssMaxMB: Math.max(...memory.map(({ rssMB }) => rssMB)),
    budgetMB: Number(profile.gatewayEnv.SEGANET_MEMORY_MIB || 64) * mebi,
    logMaxMB: Math.max(0, ...memory.map(({ logMB }) => logMB ?? 0)),
    logLimitMB: Number(profile.gatewayEnv.SEGANET_LOG_MIB || 1024) * mebi,
    /** From the cloud's return to the first arrival, and to the last waiting record. */
    uplinkBackS: (backMs - upMs) / 1000,
    drainS: drainedMs ? (drainedMs - upMs) / 1000 : NaN,
    before: liveAlarms(samples, startMs + profile.warmup * 1000, downMs),
    // From the first arrival on: a live alarm cannot arrive before the uplink has reconnected.
    draining: liveAlarms(samples, backMs, drainedMs)
  };
}

/**
 * @typedef {{result: import('../runs/measure').Result, summary: ReturnType<typeof describeOutage>}} Described
 */

/**
 * Returns at most `count` rows, evenly spread and including the last one.
 * @template T
 * @param {T[]} rows @param {number} count @returns {T[]}
 */
function thinned(rows, count) {
  const step = Math.max(1, Math.ceil(rows.length / count));
  return rows.filter((_, i) => (rows.length - 1 - i) % step === 0);
}

module.exports = { describeOutage, thinned };

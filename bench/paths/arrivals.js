'use strict';
// Evaluates the delivery in the sink's samples: gaps, seconds without arrivals, goodput.

/**
 * @typedef {{samples: import('../stats/latency').Sample[], fromMs: number, toMs: number}} Window of arrival, ms since
 *        1970
 */

/**
 * Returns the longest time without an arrival, including the ends of the window.
 * @param {number[]} times rising, ms @param {number} fromMs @param {number} toMs
 */
function longestGap(times, fromMs, toMs) {
  let longest = { ms: 0, from: fromMs };
  let before = fromMs;
  for (const time of [...times, toMs]) {
    if (time - before > longest.ms) longest = { ms: time - before, from: before };
    before = time;
  }
  return longest;
}

/** @param {Window} window @param {number} [cls] undefined = all classes @returns {number[]} */
const timesOf = ({ samples, fromMs, toMs }, cls) =>
  samples
    .filter((sample) => cls === undefined || sample.class === cls)
    .map(({ arrivedMs }) => arrivedMs)
    .filter((ms) => ms >= fromMs && ms < toMs);

/**
 * Returns the longest time between two arrivals, of any class and of each class, because arrivals of one class may hide
 * the gap of another.
 * @param {Window} window @param {{class: number}[]} traffic @param {number} startMs of the load
 */
function gaps(window, traffic, startMs) {
  const { fromMs, toMs } = window;
  const all = traffic.map(({ class: cls }) => ({ cls, gap: longestGap(timesOf(window, cls), fromMs, toMs) }));
  return {
    longestGapMs: longestGap(timesOf(window), fromMs, toMs).ms,
    gapMs: Object.fromEntries(all.map(({ cls, gap }) => [cls, gap.ms])),
    /** When the gap began, since the start. */
    gapAt: Object.fromEntries(all.map(({ cls, gap }) => [cls, gap.from - startMs]))
  };
}

/**
 * Returns the whole seconds of the window without an arrival, numbered from the start.
 * @param {Window} window @param {number} startMs
 */
function zeroSeconds(window, startMs) {
  const seen = new Set(timesOf(window).map((ms) => Math.floor((ms - startMs) / 1000)));
  const first = Math.ceil((window.fromMs - startMs) / 1000);
  const end = Math.floor((window.toMs - startMs) / 1000);
  const all = Array.from({ length: Math.max(0, end - first) }, (_, i) => first + i);
  return all.filter((second) => !seen.has(second));
}

/**
 * Returns the Mbit/s of payload that arrived in each second.
 * @param {Pick<Window, 'samples'>} window @param {number} startMs @param {number} seconds
 */
function goodput({ samples }, startMs, seconds) {
  const bytes = Array.from({ length: Math.floor(seconds) }, () => 0);
  for (const { arrivedMs, bytes: size = 0 } of samples) {
    const second = Math.floor((arrivedMs - startMs) / 1000);
    if (second in bytes) bytes[second] += size;
  }
  return bytes.map((sum) => (sum * 8) / 1e6);
}

module.exports = { gaps, goodput, zeroSeconds };

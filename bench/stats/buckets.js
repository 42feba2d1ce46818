'use strict';
// Quantiles over the histograms of several processes (bench/common/histogram.h).

/**
 * @param {[value: number, count: number][][]} histograms
 * @returns {{ count: number, p50?: number, p99?: number, max?: number }} of all values; none if there are none
 */
function mergeBuckets(histograms) {
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const [value, count] of histograms.flat()) counts.set(value, (counts.get(value) ?? 0) + count);
  const sorted = [...counts].sort((a, b) => a[0] - b[0]);
  const all = sorted.reduce((sum, [, count]) => sum + count, 0);
  const at = (/** @type {number} */ part) => {
    let below = 0;
    return sorted.find(([, count]) => (below += count) >= part * all)?.[0];
  };
  return { count: all, p50: at(0.5), p99: at(0.99), max: sorted.at(-1)?.[0] };
}

module.exports = { mergeBuckets };

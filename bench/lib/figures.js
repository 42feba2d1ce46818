'use strict';
// What the chapters draw of runs.

const { latencyMs, resultsOf } = require('./side-by-side');
const { median } = require('./report');

/** @typedef {import('./chapter').Outcome} Outcome @typedef {import('./side-by-side').Entry} Entry */
/** @typedef {{name: string, points: [number, number][]}} Series */

/** The quantiles that there are without histograms. @type {[string, number][]} */
const known = [
  ['p50', 0.5],
  ['p90', 0.9],
  ['p99', 0.99],
  ['p999', 0.999],
  ['max', 1]
];

/** Of all rounds together. @param {any[]} results @param {number} cls @returns {[number, number][]} ms, part of the records that took no longer */
function distribution(results, cls) {
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const { arrived } of results) {
    for (const [us, count] of arrived.classes[cls]?.latencyUs.buckets ?? []) {
      counts.set(us, (counts.get(us) ?? 0) + count);
    }
  }
  const all = [...counts.values()].reduce((total, each) => total + each, 0);
  if (all === 0) {
    return known.flatMap(([field, fraction]) => {
      const values = results.flatMap((result) => latencyMs(result, cls, field) ?? []);
      return values.length > 0 ? [/** @type {[number, number]} */ ([median(values), fraction])] : [];
    });
  }
  let below = 0;
  return [...counts].sort(([a], [b]) => a - b).map(([us, count]) => [us / 1000, (below += count) / all]);
}

/**
 * Drawn by bench/lib/plot.js. A figure that cannot be drawn is left out: the tables have it all.
 * @param {'cdf' | 'lines'} kind @param {string} name @param {Series[]} series @param {object} options
 * @returns {{name: string, svg: string}[]}
 */
function figure(kind, name, series, options) {
  const full = series.filter(({ points }) => points.length > 0);
  if (full.length === 0) return [];
  try {
    return [{ name, svg: require('./plot')[kind](full, options) }];
  } catch {
    return [];
  }
}

/** @param {string} name of the file @param {string} title @param {Outcome[]} outcomes @param {string} load @param {Entry[]} entries @param {number} cls */
function latencyFigure(name, title, outcomes, load, entries, cls) {
  const series = entries.map((entry) => ({
    name: entry.label,
    points: distribution(resultsOf(outcomes, load, entry), cls)
  }));
  return figure('cdf', name, series, { title, xLabel: 'ms', yLabel: 'part of the records', xLog: true });
}

/** Against the number of devices. @param {string} name @param {string} title @param {Outcome[]} outcomes @param {number[]} counts @param {(count: number) => string} loadOf @param {Entry[]} entries @param {(result: any) => number | undefined} value @param {{yLabel: string, yLog?: boolean}} options */
function devicesFigure(name, title, outcomes, counts, loadOf, entries, value, options) {
  const series = entries.map((entry) => ({
    name: entry.label,
    points: counts.flatMap((count) => {
      const values = resultsOf(outcomes, loadOf(count), entry).flatMap((result) => value(result) ?? []);
      return values.length > 0 ? [/** @type {[number, number]} */ ([count, median(values)])] : [];
    })
  }));
  return figure('lines', name, series, { title, xLabel: 'devices', xLog: true, ...options });
}

module.exports = { distribution, latencyFigure, devicesFigure };

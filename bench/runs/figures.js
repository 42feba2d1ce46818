'use strict';
// The chapters' plots of runs.

const { cdf, cumulate, lines } = require('../report/plot');
const { latencyMs } = require('./side-by-side');
const { median, resultsOf } = require('../report/report');

/** @typedef {import('../options/chapter').Outcome} Outcome @typedef {import('./side-by-side').Entry} Entry */
/** @typedef {{name: string, points: [number, number][]}} Series */

/** The quantiles that are available without histograms. @type {[string, number][]} */
const known = [
  ['p50', 0.5],
  ['p90', 0.9],
  ['p99', 0.99],
  ['p999', 0.999],
  ['max', 1]
];

/**
 * Pools all rounds.
 * @param {any[]} results @param {number} cls
 * @returns {[number, number][]} ms, fraction of the records up to it
 */
function distribution(results, cls) {
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const { arrived } of results) {
    for (const [us, count] of arrived.classes[cls]?.latencyUs.buckets ?? []) {
      counts.set(us, (counts.get(us) ?? 0) + count);
    }
  }
  if (counts.size > 0) return cumulate([...counts].map(([us, count]) => [us / 1000, count]));
  return known.flatMap(([field, fraction]) => {
    const values = results.flatMap((result) => latencyMs(result, cls, field) ?? []);
    return values.length > 0 ? [/** @type {[number, number]} */ ([median(values), fraction])] : [];
  });
}

/**
 * @param {(series: Series[], options: object) => string} draw @param {string} name @param {Series[]} series
 * @param {object} options
 * @returns {{name: string, svg: string}[]} empty if there are no results
 */
function figure(draw, name, series, options) {
  const full = series.filter(({ points }) => points.length > 0);
  return full.length > 0 ? [{ name, svg: draw(full, options) }] : [];
}

/**
 * @param {string} name of the file @param {string} title @param {Outcome[]} outcomes @param {string} load
 * @param {Entry[]} entries @param {number} cls
 */
function latencyFigure(name, title, outcomes, load, entries, cls) {
  const series = entries.map((entry) => ({
    name: entry.label,
    points: distribution(resultsOf(outcomes, `${load}/${entry.name}`), cls)
  }));
  return figure(cdf, name, series, { title, xLabel: 'ms', yLabel: 'fraction of the records', xLog: true });
}

/**
 * Plots a value against the number of devices.
 * @param {string} name @param {string} title @param {Outcome[]} outcomes @param {number[]} counts
 * @param {(count: number) => string} loadOf @param {Entry[]} entries @param {(result: any) => number | undefined} value
 * @param {{yLabel: string, yLog?: boolean}} options
 */
function devicesFigure(name, title, outcomes, counts, loadOf, entries, value, options) {
  const series = entries.map((entry) => ({
    name: entry.label,
    points: counts.flatMap((count) => {
      const results = resultsOf(outcomes, `${loadOf(count)}/${entry.name}`);
      const values = results.flatMap((result) => value(result) ?? []);
      return values.length > 0 ? [/** @type {[number, number]} */ ([count, median(values)])] : [];
    })
  }));
  return figure(lines, name, series, { title, xLabel: 'devices', xLog: true, ...options });
}

module.exports = { distribution, latencyFigure, devicesFigure };

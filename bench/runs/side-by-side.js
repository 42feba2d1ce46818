'use strict';
// Cases, tables and ratios of systems under the same load.

const { loadOf } = require('./load');
const { measure } = require('./measure');
const { ratios } = require('../report/pairs');
const {
  badLines,
  cells,
  columnTable,
  markdown,
  median,
  ratioOf,
  resultsOf,
  spread,
  titles
} = require('../report/report');

/**
 * @typedef {import('../options/chapter').Plan} Plan @typedef {import('../options/chapter').Outcome} Outcome
 * @typedef {object} Entry a system, optionally with settings
 * @property {string} name @property {string} label
 * @property {string} [system] of bench/systems, default: name @property {Record<string, string>} [env] of the gateway
 */

/** Approximate seconds of a run besides its load: start, connections, drain, stop. */
const aroundS = 9;

/**
 * @param {Plan} plan @param {Entry} entry @param {string} load its name, for the key
 * @param {Partial<import('./measure').Profile>} profile @returns {import('../options/chapter').Case}
 */
function caseOf(plan, entry, load, profile) {
  const { gatewayEnv, ...rest } = profile;
  return {
    key: `${load}/${entry.name}`,
    label: `${entry.label}, ${load}`,
    seconds: (rest.seconds ?? plan.seconds) + aroundS,
    run: async ({ signal }) => {
      const env = { ...gatewayEnv, ...entry.env };
      const result = await measure(entry.system ?? entry.name, {
        ...loadOf(plan, { ...rest, gatewayEnv: env }),
        sinkOptions: { histograms: 1 },
        signal
      });
      result.samples = []; // too many to keep for hours
      return result;
    }
  };
}

/** @param {any} result @param {number} cls @param {string} field @returns {number | undefined} ms */
function latencyMs(result, cls, field) {
  const found = result.arrived.classes[cls]?.latencyUs;
  return found?.count > 0 ? found[field] / 1000 : undefined;
}

/** @param {any} result @returns {number} */
const cpuUs = (result) => (result.cores * 1e6 * result.seconds) / result.sent.sent;

/** @param {any[]} all @param {string} field @returns {number} */
const sum = (all, field) => all.reduce((total, each) => total + (each[field] ?? 0), 0);

/** @typedef {import('../report/report').Columns} Columns */

/** @type {Columns} */
const costs = [
  ['cores', ({ cores }) => cores, 3],
  ['CPU µs/message', cpuUs, 1],
  ['context switches/s', ({ parts }) => sum(parts, 'switchesPerS'), 0],
  ['RSS MB', ({ rssMB }) => rssMB, 0],
  [
    'records/publish',
    ({ arrived }) => (arrived.publishes ? arrived.records / arrived.publishes : undefined),
    1
  ],
  ['late sends', ({ sent }) => sent.late, 0]
];

/** @type {Columns} */
const faults = [
  ['lost', ({ verdict }) => verdict?.lost, 0],
  ['dup', ({ forwards, arrived }) => (forwards ? arrived.duplicates : undefined), 0],
  ['out of order', ({ forwards, arrived }) => (forwards ? arrived.outOfOrder : undefined), 0],
  ['broken', (result) => (result.forwards ? badLines(result) : undefined), 0]
];

/** @param {Outcome[]} outcomes @param {string} load @param {Entry[]} entries those with results */
const measured = (outcomes, load, entries) =>
  entries
    .map(({ label, name }) => ({ name: [label], results: resultsOf(outcomes, `${load}/${name}`) }))
    .filter(({ results }) => results.length > 0);

/**
 * Formats the cores of each process of the system: `mosquitto 0.31 + node-red 0.63`.
 * @param {any[]} results
 * @returns {string}
 */
function byProcess(results) {
  const names = results[0].parts.map((/** @type {any} */ { part }) => part);
  return names
    .map((/** @type {string} */ name, /** @type {number} */ i) => {
      const values = results.map(({ parts }) => parts[i].cores);
      return `${name} ${median(values).toFixed(3)}`;
    })
    .join(' + ');
}

/**
 * @param {Outcome[]} outcomes @param {string} load @param {Entry[]} entries
 * @returns {string} Markdown, '' without results
 */
function costTable(outcomes, load, entries) {
  const rows = measured(outcomes, load, entries).map(({ name, results }) => [
    ...name,
    ...cells(results, costs),
    byProcess(results),
    ...cells(results, faults)
  ]);
  const head = ['system', ...titles(costs), 'cores by process', ...titles(faults)];
  return rows.length > 0 ? markdown(head, rows) : '';
}

const quantiles = ['p50', 'p90', 'p99', 'p999', 'max'];

/**
 * Returns the latency table by class, in ms.
 * @param {Outcome[]} outcomes @param {string} load @param {Entry[]} entries
 * @returns {string}
 */
function latencyTable(outcomes, load, entries) {
  const rows = measured(outcomes, load, entries).flatMap(({ name, results }) => {
    const classes = [...new Set(results.flatMap(({ arrived }) => Object.keys(arrived.classes)))].sort();
    return classes.map((cls) => [
      ...name,
      cls,
      ...quantiles.map((field) =>
        spread(
          results.map((result) => latencyMs(result, Number(cls), field)),
          2
        )
      )
    ]);
  });
  const head = ['system', 'class', 'p50 ms', 'p90', 'p99', 'p99.9', 'max'];
  return rows.length > 0 ? markdown(head, rows) : '';
}

/** @type {Columns} */
const short = [
  ...costs.slice(0, 1),
  ['class 1 p50 ms', (result) => latencyMs(result, 1, 'p50'), 1],
  ['p99', (result) => latencyMs(result, 1, 'p99'), 1],
  ['class 3 p50 ms', (result) => latencyMs(result, 3, 'p50'), 1],
  ['p99', (result) => latencyMs(result, 3, 'p99'), 1],
  ...faults.slice(0, 1),
  ...costs.filter(([title]) => title === 'records/publish')
];

/**
 * Returns the table for the published results.
 * @param {Outcome[]} outcomes @param {string} load @param {Entry[]} entries
 * @returns {string}
 */
const shortTable = (outcomes, load, entries) =>
  columnTable(['system'], measured(outcomes, load, entries), short);

/**
 * Returns the ratio of two cases, from pairs of the same round.
 * @param {string} name @param {Outcome[]} outcomes @param {[string, string]} keys numerator and denominator
 * @param {(result: any) => number | undefined} value @param {string} [target]
 * @returns {import('../options/chapter').Ratio[]} empty if no round has both
 */
function ratio(name, outcomes, [upper, lower], value, target) {
  const runs = /** @type {any[]} */ (
    outcomes
      .filter(({ result }) => result)
      .map(({ key, round, result }) => ({ ...result, variant: key, round }))
  );
  return ratioOf(name, ratios(runs, upper, lower, value), target);
}

module.exports = { caseOf, costTable, latencyTable, shortTable, ratio, measured, latencyMs };

'use strict';
// The gateway under other loads than the steady one: one line each, with the requirement and the result.

const { adaptive, entries, runnable } = require('../options/entries');
const { profiles } = require('../options/profiles');
const { cells, markdown, resultsOf, titles } = require('../report/report');
const { caseOf, latencyMs } = require('../runs/side-by-side');
const { rulesOf } = require('../harness/traffic');
const { sleep } = require('../runs/stage');

/** @typedef {import('../options/chapter').Plan} Plan @typedef {import('../options/profiles').LoadProfile} LoadProfile */

const names = ['heart', 'camera', 'burst', 'outage', 'poisson'];

/** Rules for the topics of loadgen's shares. */
const rules = rulesOf([1, 2, 3, 4].map((cls) => ({ class: cls, devices: 1, perSecond: 1 })));

/** @param {NonNullable<LoadProfile['outage']>} outage @param {number} seconds of the load */
function interrupt(outage, seconds) {
  /** @param {import('../harness/cloud').Cloud} cloud @param {number} startMs */
  return async (cloud, startMs) => {
    await sleep(startMs + outage.from * seconds * 1000 - Date.now());
    await cloud.stop();
    await sleep(startMs + (outage.from * seconds + outage.seconds) * 1000 - Date.now());
    await cloud.start();
  };
}

/** @param {LoadProfile} profile @param {Plan} plan @returns {Partial<import('../runs/measure').Profile>} */
function loadOf({ devices, rate, payload, alarmEvery, inflight = 64, loadOptions = {}, outage }, plan) {
  // Time before the outage, and after it for waiting records.
  const seconds = outage ? Math.max(plan.seconds, outage.seconds * 2.5) : plan.seconds;
  return {
    devices: plan.sizes.devices ?? devices[0],
    rate,
    payload,
    alarmEvery,
    inflight,
    loadOptions,
    seconds,
    gatewayEnv: loadOptions.shares ? { SEGANET_RULES: rules } : {},
    ...(outage ? { during: interrupt(outage, seconds) } : {})
  };
}

/** @param {any} result @param {LoadProfile['need']} need @returns {number | undefined} ms */
const reached = (result, need) => latencyMs(result, need?.ofClass ?? 1, 'p99');

/** @param {LoadProfile} profile @param {any[]} results */
function verdict({ need }, results) {
  const lost = results.reduce((sum, { verdict: found }) => sum + found.lost, 0);
  if (lost > 0) return `**no**: ${lost} lost`;
  if (!need?.needMs) return 'yes';
  const over = results.filter(
    (result) => (reached(result, need) ?? Infinity) > /** @type {number} */ (need.needMs)
  );
  return over.length === 0 ? 'yes' : `**no** in ${over.length} of ${results.length} rounds`;
}

/** @param {LoadProfile} profile */
const needed = ({ need }) =>
  need ? `p99 of class ${need.ofClass} < ${need.needMs} ms, nothing lost` : 'nothing lost';

/** @type {import('../report/report').Columns} */
const columns = [
  ['cores', ({ cores }) => cores, 3],
  ['class 1 p99 ms', (result) => latencyMs(result, 1, 'p99'), 1],
  ['class 3 p99 ms', (result) => latencyMs(result, 3, 'p99'), 1],
  ['lost', ({ verdict: found }) => found?.lost, 0]
];

/** @type {import('../options/chapter').Chapter} */
module.exports = {
  name: 'profiles',
  title: 'Other loads',
  what: 'The gateway with heart monitors, cameras, bursts, an outage and random arrivals: the requirement of each, and the result.',
  cases: (plan) =>
    runnable(entries(plan, [adaptive], [])).able.flatMap((entry) =>
      names.map((name) => caseOf(plan, entry, name, loadOf(profiles[name], plan)))
    ),
  lacking: (plan) => runnable(entries(plan, [adaptive], [])).lacking,
  report: (outcomes, plan) => {
    const rows = entries(plan, [adaptive], []).flatMap((entry) =>
      names.flatMap((name) => {
        const results = resultsOf(outcomes, `${name}/${entry.name}`);
        if (results.length === 0) return [];
        const profile = profiles[name];
        const end = [needed(profile), verdict(profile, results)];
        return [[entry.label, name, profile.what, ...cells(results, columns), ...end]];
      })
    );
    const head = ['system', 'load', 'what', ...titles(columns), 'required', 'met'];
    return {
      heading: 'Other loads',
      markdown: markdown(head, rows),
      ratios: [],
      plots: [],
      warnings: []
    };
  }
};

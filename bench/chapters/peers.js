'use strict';
// Systems side by side: the same devices, the same cloud, the same cores.

const { adaptive, entries, oneWorker, paper, records, runnable } = require('../options/entries');
const { devicesFigure, latencyFigure } = require('../runs/figures');
const { profiles } = require('../options/profiles');
const { caseOf, costTable, latencyMs, latencyTable, ratio, shortTable } = require('../runs/side-by-side');

/** @typedef {import('../options/chapter').Plan} Plan @typedef {import('../options/chapter').Outcome} Outcome */

const { rate, payload, alarmEvery } = profiles.farm;
const peers = ['nodered', 'mosquitto-bridge', 'bare'];

/** @param {Plan} plan @returns {number[]} */
const counts = ({ sizes }) => (sizes.devices ? [sizes.devices] : [64, 1000]);

/** @param {number} devices */
const loadName = (devices) => `${devices.toLocaleString('en')} devices`;

/** @param {Plan} plan */
const chosen = (plan) => entries(plan, [adaptive, paper, records, ...oneWorker(plan)], peers);

/** @param {any} result */
const cores = (result) => result.cores;

/** @param {number} cls @returns {(result: any) => number | undefined} */
const p99 = (cls) => (result) => latencyMs(result, cls, 'p99');

/**
 * Returns the ratios for a number of devices, with their targets.
 * @param {Outcome[]} outcomes @param {number} devices
 */
function targets(outcomes, devices) {
  const load = loadName(devices);
  const large = devices >= 1000;
  const pair = (/** @type {string} */ other) =>
    /** @type {[string, string]} */ ([`${load}/seganet`, `${load}/${other}`]);
  const name = (/** @type {string} */ what, /** @type {string} */ other) =>
    `${what}, adaptive / ${other}, ${load}`;
  return [
    ...ratio(
      name('CPU', 'Node-RED and mosquitto'),
      outcomes,
      pair('nodered'),
      cores,
      large ? '≤ 0.25' : undefined
    ),
    ...ratio(
      name('CPU', 'mosquitto bridge'),
      outcomes,
      pair('mosquitto-bridge'),
      cores,
      large ? '≤ 0.6' : undefined
    ),
    ...ratio(name('CPU', 'bare server'), outcomes, pair('bare'), cores, large ? '≤ 1.5' : undefined),
    ...ratio(name('p99 of class 1', 'Node-RED and mosquitto'), outcomes, pair('nodered'), p99(1)),
    ...ratio(
      name('p99 of class 1', 'mosquitto bridge'),
      outcomes,
      pair('mosquitto-bridge'),
      p99(1),
      large ? '≤ 1' : undefined
    ),
    ...ratio(name('p99 of class 3', 'Node-RED and mosquitto'), outcomes, pair('nodered'), p99(3)),
    ...ratio(name('p99 of class 3', 'mosquitto bridge'), outcomes, pair('mosquitto-bridge'), p99(3), '≤ 1.5')
  ];
}

/**
 * Warns if a second core for the gateway's own threads does not help.
 * @param {Outcome[]} outcomes @param {number} devices
 */
function placement(outcomes, devices) {
  const load = loadName(devices);
  const keys = /** @type {[string, string]} */ ([`${load}/seganet-1-core`, `${load}/seganet-1`]);
  const [found] = ratio('', outcomes, keys, p99(3));
  if (!found || found.median > 1.02) return [];
  return [
    `${load}: a separate core for the worker does not help (p99 on one core is ${found.median.toFixed(2)} times that on two).`
  ];
}

/** @type {import('../options/chapter').Chapter} */
module.exports = {
  name: 'peers',
  title: 'Side by side',
  what: 'CPU, latency and loss of the gateway in its modes and of common alternatives: same devices, same cloud, same cores.',
  cases: (plan) =>
    counts(plan).flatMap((devices) =>
      runnable(chosen(plan)).able.map((entry) =>
        caseOf(plan, entry, loadName(devices), { devices, rate, payload, alarmEvery })
      )
    ),
  lacking: (plan) => runnable(chosen(plan)).lacking,
  report: (outcomes, plan) => {
    const all = chosen(plan);
    const parts = counts(plan).flatMap((devices) => {
      const load = loadName(devices);
      return [
        `### ${load} × ${rate} msg/s, ${payload} B, every ${alarmEvery}th an alarm (class 1)`,
        costTable(outcomes, load, all),
        'Latency from the time at which a device intended to send to the arrival behind the cloud:',
        latencyTable(outcomes, load, all)
      ];
    });
    return {
      heading: 'Side by side',
      markdown: parts.filter(Boolean).join('\n\n'),
      summary: counts(plan)
        .map(
          (devices) =>
            `${loadName(devices)} × ${rate} msg/s:\n\n${shortTable(outcomes, loadName(devices), all)}`
        )
        .join('\n\n'),
      ratios: counts(plan).flatMap((devices) => targets(outcomes, devices)),
      plots: [
        ...counts(plan).flatMap((devices) =>
          [1, 3].flatMap((cls) =>
            latencyFigure(
              `peers-latency-class${cls}-${devices}`,
              `Latency of class ${cls}, ${loadName(devices)}`,
              ...[outcomes, loadName(devices), all, cls]
            )
          )
        ),
        ...devicesFigure('peers-cpu', 'CPU', outcomes, counts(plan), loadName, all, cores, {
          yLabel: 'cores'
        })
      ],
      warnings: counts(plan).flatMap((devices) => placement(outcomes, devices))
    };
  }
};

'use strict';
// The experiment of the SegaNet paper: devices that publish every 100 ms, its gateway against one agent per device,
// each agent with its own TLS session.

const { adaptive, entries, frugal, paper, runnable } = require('../options/entries');
const { devicesFigure, latencyFigure } = require('../runs/figures');
const { profiles } = require('../options/profiles');
const { quotaRatios, quotaTable } = require('../runs/quota-table');
const { lackingQuota, quotaCases, quotaLoad } = require('../runs/under-quota');
const { caseOf, costTable, latencyMs, latencyTable, ratio } = require('../runs/side-by-side');

/** @typedef {import('../options/chapter').Plan} Plan @typedef {import('../options/chapter').Outcome} Outcome */

const { devices: allCounts, rate, payload, loadOptions, need } = profiles['seganet-paper'];
const baselines = ['agents', 'agents-paho'];
const own = [paper, frugal, adaptive];
/** Baselines that can define a quota: `--systems` adds the second. */
const measures = ['agents', 'agents-processes', 'agents-paho'];
/** More than usual, so that messages wait in the system and not in the generator. */
const inflight = 1024;

/** The paper's results for 64 devices: CPU 77.6 % less, latency 16.7 times better. */
const said = { devices: 64, cpu: 0.776, latency: 16.7 };

/** The most devices for which a Python process per device fits into the memory of a small machine. */
const most = { 'agents-paho': 256 };

/** @param {Plan} plan @returns {number[]} */
function counts({ sizes, all }) {
  if (sizes.devices) return [sizes.devices];
  return all ? allCounts : [1, 16, 64, 256];
}

/** @param {number} devices */
const loadName = (devices) => `${devices.toLocaleString('en')} device${devices === 1 ? '' : 's'}`;

/** @param {Plan} plan */
const chosen = (plan) => entries(plan, own, baselines);

/** Returns the baselines of a plan. @param {Plan} plan */
const bases = (plan) => runnable(chosen(plan)).able.filter(({ name }) => measures.includes(name));

/**
 * @param {Plan} plan @param {number} devices
 * @returns {boolean} true if the runs under a quota have this number of devices
 */
const isLimited = ({ sizes }, devices) => devices === (sizes.devices ?? said.devices);

/**
 * @param {Plan} plan @param {number} devices
 * @returns {import('../options/chapter').Case[]} empty if quotas are unavailable
 */
function limitedCases(plan, devices) {
  if (!isLimited(plan, devices) || lackingQuota()) return [];
  const ours = runnable(chosen(plan)).able.filter((entry) => own.includes(entry));
  const profile = { devices, rate, payload, inflight, alarmEvery: 0, loadOptions };
  return bases(plan).flatMap((base) => quotaCases(plan, base, ours, loadName(devices), profile));
}

/** @param {any} result */
const cores = (result) => result.cores;

/** @param {any} result */
const p99 = (result) => latencyMs(result, 3, 'p99');

/** @param {Outcome[]} outcomes @param {string} load @param {string} base */
const isSaturated = (outcomes, load, base) =>
  outcomes.some(({ key, result }) => result && key === `${quotaLoad(load, base)}/${base}`);

/** @param {Outcome[]} outcomes @param {number} devices */
function comparisons(outcomes, devices) {
  const load = loadName(devices);
  const like = devices === said.devices;
  return own.flatMap(({ name, label: title }) =>
    measures.flatMap((base) => {
      const label = `${title.replace('SegaNet, ', '')} / ${base}, ${load}`;
      const pair = /** @type {[string, string]} */ ([`${load}/${name}`, `${load}/${base}`]);
      const better = /** @type {[string, string]} */ ([pair[1], pair[0]]);
      const reduced = ratio(`CPU saved, ${label}`, outcomes, pair, cores).map(
        ({ median, low, high, ...rest }) => ({
          ...rest,
          target: like ? `≥ ${said.cpu}` : undefined,
          median: 1 - median,
          low: 1 - high,
          high: 1 - low
        })
      );
      // Nothing is saturated here: the paper's factor applies to the runs under a quota, if there are any.
      const target = like && !isSaturated(outcomes, load, base) ? `≥ ${said.latency}` : undefined;
      return [...reduced, ...ratio(`p99 improvement factor, ${label}`, outcomes, better, p99, target)];
    })
  );
}

/** @type {import('../options/chapter').Chapter} */
module.exports = {
  name: 'paper',
  title: "The paper's experiment",
  what: 'The gateway, with the limits of the SegaNet paper and adaptive, against an agent per device (a thread, or a Python process), each with its own TLS session.',
  cases: (plan) =>
    counts(plan).flatMap((devices) => [
      ...runnable(chosen(plan))
        .able.filter(({ name }) => devices <= (most[/** @type {keyof typeof most} */ (name)] ?? Infinity))
        .map((entry) =>
          caseOf(plan, entry, loadName(devices), { devices, rate, payload, alarmEvery: 0, loadOptions })
        ),
      ...limitedCases(plan, devices)
    ]),
  lacking: (plan) => {
    const why = bases(plan).length > 0 ? lackingQuota() : '';
    return [
      ...runnable(chosen(plan)).lacking,
      ...(why ? [{ label: "the runs under a baseline's quota", why }] : [])
    ];
  },
  report: (outcomes, plan) => {
    const all = chosen(plan);
    const each = counts(plan);
    const parts = each.flatMap((devices) => [
      `### ${loadName(devices)} × ${rate} msg/s`,
      costTable(outcomes, loadName(devices), all),
      latencyTable(outcomes, loadName(devices), all),
      ...measures.map((base) => quotaTable(outcomes, loadName(devices), base, all))
    ]);
    const intro = [
      `Each device sends a message every 100 ms, ${loadOptions?.payload} B, QoS 1, over TLS 1.3 to the cloud. The paper (on a Raspberry Pi 4) reports ${(said.cpu * 100).toFixed(1)} % less CPU,`,
      `${said.latency} times better latency and p99 below ${need?.needMs} ms. Its baseline saturated its computer at 64 devices. Where a baseline is not saturated,`,
      'latency cannot improve by that factor, because records wait for a batch on purpose. So read all modes. Where quotas are available,',
      "further runs give every system only a part of the CPU that a baseline needs, so that the baseline saturates as the paper's did",
      `(it used four cores for ${said.devices * rate} messages per second, 6 ms for each: nearer to agents-paho than to agents). The frugal mode is for fleets without alarms: class 1 waits up to 50 ms in it.`
    ].join(' ');
    return {
      heading: "The paper's experiment",
      markdown: [intro, ...parts].filter(Boolean).join('\n\n'),
      ratios: each.flatMap((devices) => [
        ...comparisons(outcomes, devices),
        ...measures.flatMap((base) =>
          quotaRatios(
            outcomes,
            loadName(devices),
            base,
            own,
            devices === said.devices ? `≥ ${said.latency}` : undefined
          )
        )
      ]),
      plots: [
        ...devicesFigure('paper-cpu', 'CPU', outcomes, each, loadName, all, cores, { yLabel: 'cores' }),
        ...devicesFigure('paper-p99', 'Latency, p99', outcomes, each, loadName, all, p99, {
          yLabel: 'ms',
          yLog: true
        }),
        ...each
          .filter((devices) => devices === said.devices)
          .flatMap((devices) =>
            latencyFigure('paper-latency-64', 'Latency, 64 devices', outcomes, loadName(devices), all, 3)
          )
      ],
      warnings: []
    };
  }
};

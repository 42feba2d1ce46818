'use strict';
// Selects the systems that a chapter compares: the gateway in its modes, and the peers of bench/systems.

const { adapters } = require('../systems');
const { coresOf } = require('../report/warnings');

/** @typedef {import('../runs/side-by-side').Entry} Entry @typedef {import('./chapter').Plan} Plan */

/** @type {Entry} */
const adaptive = {
  name: 'seganet',
  label: 'SegaNet, adaptive',
  system: 'seganet',
  env: { 'seganet-batch.flush': 'adaptive' }
};
/** Records that wait for a batch do not need frequent wake-ups of the worker. Class 1 waits up to these 10 ms, too. */
const limits = { 'seganet-batch.flush': 'limits', 'seganet-engine.wakeIntervalUs': '10000' };
/** @type {Entry} */
const paper = {
  name: 'seganet-paper',
  label: "SegaNet, paper's limits",
  system: 'seganet',
  env: limits
};
/**
 * The paper's m holds one or two of its messages of 100 to 1,000 B. This larger m is for fleets without alarms.
 * @type {Entry}
 */
const frugal = {
  name: 'seganet-frugal',
  label: 'SegaNet, frugal (m = 16 KB, wakes every 50 ms)',
  system: 'seganet',
  env: { ...limits, 'seganet-batch.maxBytes': '16384', 'seganet-engine.wakeIntervalUs': '50000' }
};
/** @type {Entry} */
const records = { name: 'seganet-records', label: 'SegaNet, records' };

/** Returns entries with a single worker if several are possible. @param {Plan} plan @returns {Entry[]} */
function oneWorker(plan) {
  const cores = [...coresOf(plan.gatewayCpus)];
  if (cores.length < 2) return [];
  const env = { ...adaptive.env, SEGANET_WORKERS: '1' };
  return [
    { ...adaptive, name: 'seganet-1', label: 'SegaNet, 1 worker', env },
    // The whole gateway on one core shows the gain of its threads from a second core.
    {
      ...adaptive,
      name: 'seganet-1-core',
      label: 'SegaNet, 1 worker, all on one core',
      env: { ...env, 'seganet-engine.cpus': String(cores[0]) }
    }
  ];
}

/**
 * Returns the systems named in the plan, else `own` and `peers`.
 * @param {Plan} plan @param {Entry[]} own modes of the gateway @param {string[]} peers of bench/systems
 * @returns {Entry[]}
 */
function entries(plan, own, peers) {
  const every = [
    ...own,
    ...adapters.filter(({ name }) => !own.some((each) => each.name === name)).map(entryOf)
  ];
  if (plan.systems.length === 0) {
    return every.filter(({ name }) => own.some((each) => each.name === name) || peers.includes(name));
  }
  return every.filter(({ name }) => plan.systems.includes(name));
}

/** @param {import('../systems').Adapter} adapter @returns {Entry} */
const entryOf = ({ name, title }) => ({ name, label: title });

/** @param {Entry} entry @returns {string} '' if it can run here */
function lackingOf({ name, system = name }) {
  return adapters.find((adapter) => adapter.name === system)?.lacking() ?? 'There is no such system.';
}

/** Returns the entries that can run here, and the reasons against the others. @param {Entry[]} all */
function runnable(all) {
  const why = all.map((entry) => ({ entry, why: lackingOf(entry) }));
  return {
    able: why.filter((each) => !each.why).map(({ entry }) => entry),
    lacking: why.filter((each) => each.why).map((each) => ({ label: each.entry.label, why: each.why }))
  };
}

module.exports = { adaptive, frugal, paper, records, oneWorker, entries, runnable };

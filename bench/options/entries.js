'use strict';
// Which systems a chapter compares: the gateway in its modes, and the peers of bench/systems.

const { adapters } = require('../systems');
const { coresOf } = require('../report/warnings');

/** @typedef {import('../runs/side-by-side').Entry} Entry @typedef {import('./chapter').Plan} Plan */

/** @type {Entry} */
const adaptive = {
  name: 'seganet',
  label: 'SegaNet, adaptive',
  system: 'seganet',
  env: { SEGANET_BATCH_FLUSH: 'adaptive' }
};
/** What waits for company anyway needs no worker that looks for it each 1.2 ms. Class 1 waits these 10 ms too, at most. */
const limits = { SEGANET_BATCH_FLUSH: 'limits', SEGANET_WAKE_US: '10000' };
/** @type {Entry} */
const paper = {
  name: 'seganet-paper',
  label: "SegaNet, paper's limits",
  system: 'seganet',
  env: limits
};
/** The paper's m is one or two of its messages of 100 to 1,000 B. The same rule with room for more, for who has no alarms. @type {Entry} */
const frugal = {
  name: 'seganet-frugal',
  label: 'SegaNet, frugal (m = 16 KB, wakes each 50 ms)',
  system: 'seganet',
  env: { ...limits, SEGANET_BATCH_BYTES: '16384', SEGANET_WAKE_US: '50000' }
};
/** @type {Entry} */
const records = { name: 'seganet-records', label: 'SegaNet, records' };

/** With a single worker, where more are possible. @param {Plan} plan @returns {Entry[]} */
function oneWorker(plan) {
  const cores = [...coresOf(plan.gatewayCpus)];
  if (cores.length < 2) return [];
  const env = { ...adaptive.env, SEGANET_WORKERS: '1' };
  return [
    { ...adaptive, name: 'seganet-1', label: 'SegaNet, 1 worker', env },
    // The whole gateway on one core: what its threads gain from a second one.
    {
      ...adaptive,
      name: 'seganet-1-core',
      label: 'SegaNet, 1 worker, all on one core',
      env: { ...env, SEGANET_CPUS: String(cores[0]) }
    }
  ];
}

/**
 * What was asked for, by name, else `defaults`.
 * @param {Plan} plan @param {Entry[]} own the gateway's @param {string[]} peers of bench/systems
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

/** @param {Entry} entry @returns {string} '' when it can run here */
function lackingOf({ name, system = name }) {
  return adapters.find((adapter) => adapter.name === system)?.lacking() ?? 'There is no such system.';
}

/** Those that can run here, and why not the others. @param {Entry[]} all */
function runnable(all) {
  const why = all.map((entry) => ({ entry, why: lackingOf(entry) }));
  return {
    able: why.filter((each) => !each.why).map(({ entry }) => entry),
    lacking: why.filter((each) => each.why).map((each) => ({ label: each.entry.label, why: each.why }))
  };
}

module.exports = { adaptive, frugal, paper, records, oneWorker, entries, runnable };

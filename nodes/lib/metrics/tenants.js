'use strict';
// Metrics of the tenants of an engine, as totals: a series for each of 1,000 tenants would be too many.

/**
 * @typedef {import('./text').Exposition} Exposition
 * @typedef {import('./text').Labels} Labels
 * @typedef {NonNullable<ReturnType<import('../engine/host').EngineHost['snapshot']>['tenants']>} TenantsView
 */

/** @param {Exposition} out @param {Labels} labels @param {TenantsView} tenants */
function addTenants(out, labels, { counts, keeperProblem, totals, tenants }) {
  const states = out.gauge('seganet_tenants', 'Tenants by state.');
  for (const [state, count] of Object.entries(counts)) states.add({ ...labels, state }, count);
  out
    .gauge('seganet_tenants_keeper_trouble', '1 while the keeper cannot be asked to wake a tenant.')
    .add(labels, keeperProblem !== '');
  const sum = (/** @type {'wakes' | 'failures'} */ name) => tenants.reduce((all, row) => all + row[name], 0);
  out
    .counter('seganet_tenants_wakes_total', 'Times that the keeper was asked to wake a tenant.')
    .add(labels, sum('wakes'));
  out
    .counter('seganet_tenants_failures_total', 'Tenants that could not be woken, or whose session ended.')
    .add(labels, sum('failures'));
  out
    .counter('seganet_tenants_published_packets_total', 'PUBLISH packets sent to tenants.')
    .add(labels, totals.published ?? 0);
  out
    .counter('seganet_tenants_acknowledged_packets_total', 'PUBLISH packets that tenants acknowledged.')
    .add(labels, totals.acknowledged ?? 0);
  out
    .counter('seganet_tenants_redelivered_packets_total', 'PUBLISH packets sent to tenants again.')
    .add(labels, totals.redelivered ?? 0);
}

exports.addTenants = addTenants;

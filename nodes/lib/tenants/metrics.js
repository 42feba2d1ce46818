'use strict';
// Metrics of the tenants of an engine: totals, and a few of single tenants, for the first of them only: series for each
// of 1,000 tenants would be too many.

/**
 * @typedef {import('../metrics/text').Exposition} Exposition
 * @typedef {import('../metrics/text').Labels} Labels
 * @typedef {NonNullable<ReturnType<import('../engine/host').EngineHost['snapshot']>['tenants']>} TenantsView
 * @typedef {{ rows: import('./operator/tenant-rows').OperatorRow[], leftOut: number }} SingleTenants
 */

/** @param {Exposition} out @param {Labels} labels @param {TenantsView} tenants */
function addTenants(out, labels, { counts, keeperProblem, totals, tenants }) {
  const states = out.gauge('seganet_tenants', 'Tenants by state.');
  for (const [state, count] of Object.entries(counts)) states.add({ ...labels, state }, count);
  out
    .gauge('seganet_tenants_keeper_trouble', '1 while the keeper cannot be asked to wake a tenant.')
    .add(labels, keeperProblem !== '');
  const sum = (/** @type {'wakes' | 'failures' | 'sessions' | 'rescues' | 'wokenMs'} */ name) =>
    tenants.reduce((all, row) => all + row[name], 0);
  out
    .counter('seganet_tenants_wakes_total', 'Times that the keeper was asked to wake a tenant.')
    .add(labels, sum('wakes'));
  out
    .counter('seganet_tenants_failures_total', 'Tenants that could not be woken, or whose session ended.')
    .add(labels, sum('failures'));
  out
    .counter('seganet_tenants_sessions_total', 'Wakes that ended with a session.')
    .add(labels, sum('sessions'));
  out
    .counter(
      'seganet_tenants_rescues_total',
      'Tenants whose records waited for no reason, and that were tried again.'
    )
    .add(labels, sum('rescues'));
  out
    .counter('seganet_tenants_wake_seconds_total', 'Time that these wakes took, to the session.')
    .add(labels, sum('wokenMs') / 1000);
  out
    .counter('seganet_tenants_published_packets_total', 'PUBLISH packets sent to tenants.')
    .add(labels, totals.published ?? 0);
  out
    .counter('seganet_tenants_acknowledged_packets_total', 'PUBLISH packets that tenants acknowledged.')
    .add(labels, totals.acknowledged ?? 0);
  out
    .counter('seganet_tenants_stalls_total', 'Times that records stood still although a session was up.')
    .add(labels, totals.stalls ?? 0);
  out
    .counter('seganet_tenants_redelivered_packets_total', 'PUBLISH packets sent to tenants again.')
    .add(labels, totals.redelivered ?? 0);
}

/** @param {Exposition} out @param {Labels} labels @param {SingleTenants} tenants */
function addSingleTenants(out, labels, { rows, leftOut }) {
  out
    .gauge('seganet_tenants_left_out', 'Tenants without metrics of their own: those after the first 100.')
    .add(labels, leftOut);
  const gauges = {
    state: out.gauge('seganet_tenant_state', '1 for the state of the tenant.'),
    memory: out.gauge('seganet_tenant_memory_bytes', 'Memory of a tenant that runs, as the keeper says.'),
    wake: out.gauge('seganet_tenant_last_wake_seconds', 'Time that the last wake took.'),
    waiting: out.gauge(
      'seganet_tenant_waiting_bytes',
      'Bytes that wait for the tenant, in memory and on disk.'
    )
  };
  const wakes = out.counter('seganet_tenant_wakes_total', 'Times that records woke the tenant.');
  const refused = out.counter(
    'seganet_tenant_refused_records_total',
    'Records above the limits of the tenant.'
  );
  for (const row of rows) {
    const own = { ...labels, tenant: row.name };
    gauges.state.add({ ...own, state: row.state }, 1);
    if (row.memoryBytes !== null) gauges.memory.add(own, row.memoryBytes);
    if (row.lastWake) gauges.wake.add(own, Math.max(row.lastWake.readyMs, row.lastWake.connectedMs) / 1000);
    wakes.add(own, row.wakes);
    if (row.waitingBytes !== null) gauges.waiting.add(own, row.waitingBytes);
    if (row.refused !== null) refused.add(own, row.refused);
  }
}

module.exports = { addSingleTenants, addTenants };

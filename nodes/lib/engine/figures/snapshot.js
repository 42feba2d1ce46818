'use strict';
// The figures of an engine and its parts, for the stats node, the admin API, the live view and the metrics.

/**
 * @typedef {import('../host').EngineHost} EngineHost
 * @typedef {import('../../../../native/index.js').EngineStats} EngineStats
 *
 * Figures of a node that only its own protocol has; null: none at present.
 * @typedef {{ nodeId: string, name: string, protocol: string, figures: any }} SourceFigures
 */

/**
 * @param {EngineHost} host
 * @param {number} unclaimed messages without a node
 * @returns {EngineStats & { workers: object[], uplinks: object[],
 *   tenants: ReturnType<import('../../tenants/front/tenants-link').TenantsLink['view']> | null, log: object | null,
 *   replicas: { state: import('../replicas').ReplicaState, reason: string } | null, commands: object,
 *   fronts: object[], sources: SourceFigures[], deliveries: object,
 *   filters: { nodeId: string, filtered: number }[], batches: { nodeId: string, waitMs: number[] }[], waiting: number,
 *   unclaimed: number }}
 */
function snapshotOf(host, unclaimed) {
  const { workers, inbox, uplinks, deliveries, members } = host;
  const stats = host.engine.stats();
  const rows = new Map(stats.stages.map((row) => [row.id, row]));
  return {
    ...stats,
    workers,
    uplinks: uplinks.view(),
    tenants: uplinks.tenants?.view() ?? null,
    log: host.log?.view() ?? null,
    replicas: host.replicas?.view() ?? null,
    commands: host.commands.view(),
    fronts: members.flatMap(({ id, tlsState }) => (tlsState ? [{ nodeId: id, ...tlsState }] : [])),
    sources: members.flatMap(({ id, node, protocol, figures }) =>
      figures ? [{ nodeId: id, name: node.name ?? '', protocol, figures: figures() }] : []
    ),
    filters: members
      .filter(({ kind }) => kind === 'filter')
      .map(({ id, stage }) => ({ nodeId: id, filtered: rows.get(stage)?.filtered ?? 0 })),
    batches: members.flatMap(({ id, stage }) => {
      const waitMs = rows.get(stage)?.waitMs;
      return waitMs ? [{ nodeId: id, waitMs }] : [];
    }),
    waiting: inbox.size,
    deliveries: { waiting: deliveries.size, ...deliveries.counters },
    unclaimed
  };
}

exports.snapshotOf = snapshotOf;

'use strict';

/**
 * @typedef {Pick<import('../../engine/member').Member, 'id' | 'stage' | 'kind' | 'planMember'> &
 *   { uplink?: { link: { id: string } } }} BatchMember
 * @typedef {{ plan: { routes: Map<string, { stage: number, next: number[] }> } | null, members: BatchMember[] }} Host
 */

/**
 * Returns the batch stages of the plan in use whose node wants to be sealed ahead of a fall, and the uplinks to which
 * native wires lead from them.
 * @param {Host} host
 * @returns {import('./network-forecast').Batch[]}
 */
function drainedBatches({ plan, members }) {
  if (!plan) return [];
  return members.flatMap((member) => {
    if (member.kind !== 'batch' || !plan.routes.has(member.id)) return [];
    const { drainAhead, flush, patienceMs } =
      /** @type {{ drainAhead?: boolean, flush?: string, patienceMs?: number[] }} */ (
        member.planMember().settings
      );
    if (!drainAhead || (flush !== 'balanced' && flush !== 'thrifty')) return [];
    const links = linksBehind(member.stage, plan.routes, members);
    return { stage: member.stage, patienceMs: Math.max(0, ...(patienceMs ?? [])), links };
  });
}

/**
 * @param {number} stage
 * @param {Map<string, { stage: number, next: number[] }>} routes
 * @param {BatchMember[]} members
 * @returns {Set<string>} ids of uplinks
 */
function linksBehind(stage, routes, members) {
  const nextOf = new Map([...routes.values()].map((route) => [route.stage, route.next]));
  const seen = new Set([stage]);
  for (const each of seen) for (const next of nextOf.get(each) ?? []) seen.add(next);
  return new Set(
    members.flatMap(({ stage: own, uplink }) => (uplink && seen.has(own) ? uplink.link.id : []))
  );
}

module.exports = { drainedBatches };

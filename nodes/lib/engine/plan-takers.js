'use strict';
// Finds the nodes that must not accept records. A record may be acknowledged only if a node accepts it. A node of ours
// that should accept records but cannot (it is inert) shuts every node whose records can reach it. A source without a
// destination is shut too, and so is a source whose devices prove no tenant, if its records can reach a node that
// serves tenants: a device could choose its tenant. A shut node accepts no records.

/**
 * @typedef {import('./plan-compiler').PlanMember} PlanMember
 * @typedef {import('./plan-compiler').Trouble} Trouble
 * @typedef {import('./wire-targets').GetNode} GetNode
 */

/** Node types that lose records if they are inert. Other nodes only observe records, or receive none. */
const MUST_TAKE = [
  'seganet-priority',
  'seganet-filter',
  'seganet-forecast',
  'seganet-batch',
  'seganet-uplink',
  'seganet-kafka-uplink',
  'seganet-parquet-uplink',
  'seganet-tenants',
  'seganet-ingest'
];

/**
 * True for a tap that samples. Without another destination, the records that it skips would be acknowledged and lost.
 * @param {PlanMember} member
 */
function onlyLooks({ kind, settings }) {
  const { everyN = 0, perSecond = 0 } = /** @type {{ everyN?: number, perSecond?: number }} */ (settings);
  return kind === 'tap' && (everyN > 1 || perSecond > 0);
}

/**
 * Follows a member's records over native and message wires between our nodes.
 * @param {PlanMember} from
 * @param {Map<string, PlanMember>} members
 * @param {(wire: string) => string[]} behind
 * @param {GetNode} getNode
 * @returns {Trouble | null} why it must not accept records
 */
function shutBy(from, members, behind, getNode) {
  const seen = new Set([from]);
  let isTaken = false;
  for (const member of seen) {
    const { trouble } = member.division ?? {};
    if (trouble && member !== from) return shutByNode(getNode(member.id)?.name || member.id, trouble);
    if (trouble) return trouble;
    if (member.kind === 'split' && from.kind === 'source' && !from.tenant) return noTenant();
    isTaken ||= member.kind === 'uplink' || member.kind === 'split';
    for (const to of (member.wires[0] ?? []).flatMap(behind)) {
      const next = members.get(to);
      if (next) {
        seen.add(next);
        continue;
      }
      const node = getNode(to);
      // Also one of another engine.
      if (node?.type === 'seganet-tenants' && from.kind === 'source' && !from.tenant) return noTenant();
      if (!node?.inert) isTaken ||= !onlyLooks(member);
      else if (MUST_TAKE.includes(node.type)) return shutByNode(node.name || to, node.inert);
    }
  }
  const isOrigin = from.kind === 'source' || from.kind === 'ingest';
  return isTaken || !isOrigin ? null : noRoute(from);
}

/**
 * @param {string} name
 * @param {Trouble} trouble
 * @returns {Trouble}
 */
function shutByNode(name, { shown, sentence }) {
  const why = sentence ? `${shown}: ${sentence}` : `${shown}.`;
  return {
    shown: `→ ${name}: ${shown}`,
    sentence: `No records are taken, because the node "${name}" in their path cannot take them (${why.replace(/\.$/, '')}). Correct that node and deploy.`
  };
}

/** @returns {Trouble} */
function noTenant() {
  return {
    shown: 'no tenant rule',
    sentence:
      'No records are taken, because they lead to tenants, and this node does not say from what the tenant of a device ' +
      'is known. Choose "Tenant from" in the node, or wire it elsewhere, and deploy.'
  };
}

/**
 * @param {PlanMember} member
 * @returns {Trouble}
 */
function noRoute({ wires }) {
  const isWired = (wires[0] ?? []).length > 0;
  const what = isWired
    ? 'the downstream nodes are deleted or disabled, lead nowhere, or only sample (tap)'
    : 'the node is wired to nothing';
  return {
    shown: `no route: ${isWired ? 'nothing takes records' : 'wired to nothing'}`,
    sentence: `No records are taken, because nothing would take them: ${what}. Wire it to an uplink node, or to another node that takes records, and deploy.`
  };
}

module.exports = { shutBy };

'use strict';
// Where the engine's messages of one node go: over its wires to JavaScript, and into stages that now follow natively.

const { isBatch, toEnvelope, toRecord } = require('../base/record');

/**
 * @typedef {import('./member').Member} Member
 * @typedef {import('./plan-compiler').Plan} Plan
 * @typedef {import('./plan-compiler').Route} Route
 */

/** For messages of stages whose sources are unknown. Their senders have limits of their own. */
const LONGEST = { timeoutMs: 3600000, acknowledges: false };

/**
 * @param {Member} member
 * @param {Plan} plan
 * @param {import('./plan-swap').Rest} [rest] for messages of the previous plan
 * @returns {import('./pump').Outlet}
 */
function outletOf(member, plan, rest) {
  const { host, node, wires, shape } = member;
  const { deliveries } = host;
  const route = /** @type {Route} */ (plan.routes.get(member.id));
  const [origin] = route.origins.length === 1 ? route.origins : [];
  const protocol = (origin && plan.routes.get(origin)?.protocol) || 'ingest';
  const limit = strictest(route.origins.flatMap((id) => host.deliveryOf(id) ?? []));
  const isHeard = rest
    ? rest.enter.length + rest.send.length > 0
    : route.jsWires.some((port) => port.length > 0);
  return {
    send: (msg) => {
      for (const stage of rest?.enter ?? []) enter(member, stage, msg);
      shape?.(msg);
      wires.send(msg, rest?.send);
    },
    // A message that the previous plan sent may have no wire in this one.
    follow: (msg, deferral) =>
      isHeard ? deliveries.start(msg, deferral, node, limit) : deliveries.withhold(deferral),
    origin: origin ? { protocol, nodeId: origin } : undefined
  };
}

/**
 * Puts the record or batch of a message into a stage that now follows natively.
 * @param {Member} member
 * @param {number} stage
 * @param {Record<string, any>} msg
 */
function enter({ host: { deliveries, inbox }, node }, stage, msg) {
  const done = (/** @type {Error | undefined} */ error) => error && node.error(error, msg);
  inbox.put(stage, isBatch(msg) ? toEnvelope(msg) : toRecord(msg), done, {
    early: true,
    safe: deliveries.comesBack(msg)
  });
}

/**
 * Returns the strictest limit of the sources whose records a node sends.
 * @param {import('./deliveries').Limit[]} limits
 * @returns {import('./deliveries').Limit}
 */
function strictest(limits) {
  if (limits.length === 0) return LONGEST;
  return {
    timeoutMs: Math.min(...limits.map(({ timeoutMs }) => timeoutMs)),
    acknowledges: limits.every(({ acknowledges }) => acknowledges)
  };
}

exports.outletOf = outletOf;

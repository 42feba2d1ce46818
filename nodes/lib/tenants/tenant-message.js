'use strict';
// Messages of a tenant events node, from the keeper's events.

/** The keeper's words, in the words of the messages. */
const NAMES = /** @type {Record<string, string>} */ ({
  waking: 'woken',
  ready: 'ready',
  paused: 'slept',
  stopped: 'slept',
  failed: 'failed',
  backup: 'backup'
});

/**
 * @param {import('./keeper/keeper-events').KeeperEvent} event
 * @returns {{ kind: string, msg: { topic: string, payload: Record<string, unknown> } }} kind: as in the node's setting
 */
function messageOf({ at, tenant, event, ...rest }) {
  const name = NAMES[event] ?? event;
  const how = event === 'paused' || event === 'stopped' ? { how: event } : {};
  return {
    kind: NAMES[event] ? name : 'other',
    msg: {
      topic: `tenants/${tenant || 'keeper'}/${name}`,
      payload: { tenant, event: name, at, ...how, ...rest }
    }
  };
}

/** @param {string} problem why there is no stream, '' = it is open @param {number} at */
function streamMessage(problem, at) {
  const event = problem ? 'lost' : 'connected';
  return { topic: `tenants/keeper/${event}`, payload: { event, at, ...(problem && { reason: problem }) } };
}

module.exports = { messageOf, streamMessage };

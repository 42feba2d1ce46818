'use strict';
// The overlay networks of the flow, for the metrics, the live view and the admin API.

/** Peers of a network in a view. */
const MAX_PEERS = 100;

/**
 * @typedef {object} OverlayView
 * @property {string} id of the node
 * @property {string} name
 * @property {string} reason why nothing is known of the program, '' = it answers
 * @property {import('./peers').OverlayStatus | null} status the latest one, with at most 100 peers; null with a reason
 * @property {number} peersLeftOut of the status
 * @property {number} pathChanges since the start of the node
 */

/** All overlay network nodes, running or not. @type {Set<import('../../seganet-overlay').OverlayNode>} */
const overlayNodes = new Set();

/** @param {import('../../seganet-overlay').OverlayNode} node @returns {OverlayView} */
function viewOf({ id, name = '', link, failure }) {
  const shared = { id, name };
  const none = { status: null, peersLeftOut: 0, pathChanges: link?.pathChanges ?? 0 };
  if (!link) return { ...shared, ...none, reason: failure || 'The node is not started.' };
  const { status, pathChanges } = link;
  if (!status) return { ...shared, ...none, reason: link.problem || 'The program is being started.' };
  const peers = status.peers.slice(0, MAX_PEERS);
  const peersLeftOut = status.peersLeftOut + status.peers.length - peers.length;
  return {
    ...shared,
    reason: '',
    status: { ...status, peers, peersLeftOut },
    peersLeftOut,
    pathChanges
  };
}

/** @returns {OverlayView[]} in the order of their ids */
function overlayViews() {
  return [...overlayNodes].map(viewOf).sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** @returns {import('../events/event-book').Fact[]} one for each network in which two programs have this node's identity */
function identityFacts() {
  return [...overlayNodes].flatMap(({ id, name, link }) => {
    const { misuse = '', fqdn = '' } = link?.identity ?? {};
    if (!misuse) return [];
    const key = misuse === 'suspended' ? 'identitySuspended' : 'identity';
    return [{ kind: 'identity', subject: name || id, key, params: { fqdn } }];
  });
}

module.exports = { MAX_PEERS, identityFacts, overlayNodes, overlayViews, viewOf };

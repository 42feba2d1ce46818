'use strict';
// The metrics of overlay networks.

/** @typedef {import('../metrics/text').Exposition} Exposition */
/** @typedef {import('./overlay-nodes').OverlayView} OverlayView */

/** @param {import('./peers').Peer} peer */
const pathOf = ({ path, isSleeping }) => (path === 'none' && isSleeping ? 'asleep' : path);

/** @param {Exposition} out @param {OverlayView} view */
function addOverlay(out, { id, name, status, peersLeftOut, pathChanges }) {
  const labels = { node: id };
  out
    .gauge('seganet_overlay_info', 'Names of the overlay networks and of this node in them.')
    .add({ ...labels, name, fqdn: status?.fqdn ?? '' }, 1);
  out.gauge('seganet_overlay_up', "1 if the overlay's program answers.").add(labels, status !== null);
  out
    .counter('seganet_overlay_path_changes_total', 'Changes of the paths to peers.')
    .add(labels, pathChanges);
  if (!status) return;
  const { services, relay, certificateExpires, usedTwice, peers, refused } = status;
  out
    .gauge('seganet_overlay_services_reached', '1 if the node services are reached.')
    .add(labels, services.areReached);
  out
    .gauge(
      'seganet_overlay_services_refused',
      '1 if the node services refuse this node, for example after a revocation.'
    )
    .add(labels, services.isRevoked || services.isRefused);
  out
    .gauge(
      'seganet_overlay_suspended',
      '1 if the services have suspended this node, because two programs used its identity.'
    )
    .add(labels, services.isSuspended);
  out
    .gauge(
      'seganet_overlay_used_twice_seconds',
      "When another program last had this node's identity, since 1970."
    )
    .add(labels, usedTwice === null ? null : usedTwice / 1000);
  out.gauge('seganet_overlay_relay_open', '1 if a relay is open for this node.').add(labels, relay !== '');
  out
    .gauge('seganet_overlay_certificate_expires_seconds', "End of the node's certificate, since 1970.")
    .add(labels, certificateExpires === null ? null : certificateExpires / 1000);
  const counts = out.gauge('seganet_overlay_peers', 'Peers by path.');
  for (const path of ['direct', 'relay', 'asleep', 'none'])
    counts.add({ ...labels, path }, peers.filter((peer) => pathOf(peer) === path).length);
  out
    .gauge('seganet_overlay_peers_left_out', 'Peers without metrics: those after the first 100.')
    .add(labels, peersLeftOut);
  const bytes = out.counter('seganet_overlay_peer_bytes_total', 'Bytes to and from a peer, by path.');
  const trips = out.gauge(
    'seganet_overlay_peer_rtt_seconds',
    'Round trip to a peer, when it was last measured.'
  );
  for (const peer of peers) {
    const own = { ...labels, peer: peer.name };
    bytes.add({ ...own, path: 'direct' }, peer.bytesDirect);
    bytes.add({ ...own, path: 'relay' }, peer.bytesRelay);
    trips.add(own, peer.rttMs === null ? null : peer.rttMs / 1000);
  }
  const packets = out.counter(
    'seganet_overlay_refused_packets_total',
    'Packets that were refused, by reason.'
  );
  for (const [reason, count] of Object.entries(refused)) packets.add({ ...labels, reason }, count);
}

exports.addOverlay = addOverlay;

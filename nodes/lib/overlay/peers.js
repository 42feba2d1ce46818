'use strict';
// What the overlay's program reports, checked: it is another process, and may be of another version.

/** Peers that are kept of a status. */
const MAX_PEERS = 1024;
/** Services that are kept of a status: the limit of the program. */
const MAX_OFFERED = 64;
const PATHS = /** @type {const} */ (['direct', 'relay', 'none']);
const MAX_TEXT = 300;
/** Characters of a problem that are read: it may have one sentence for each URL of the services. */
const MAX_PROBLEM = 4096;
/** After this time without another sighting, a second program with this node's identity counts as gone. */
const TWICE_MS = 600_000;

/**
 * @typedef {object} Peer
 * @property {string} name
 * @property {'direct' | 'relay' | 'none'} path
 * @property {string} reason why it is not direct; '' if it is
 * @property {boolean} isSleeping nothing was sent for some time; the next packet brings it back
 * @property {boolean} isOffline the services say that it is not connected to them
 * @property {number | null} heardS seconds since its last packet, null = none yet
 * @property {string} via the path with its address
 * @property {number | null} rttMs
 * @property {number} bytesDirect in both directions
 * @property {number} bytesRelay in both directions
 * @property {number} changes of the path
 *
 * @typedef {object} Services
 * @property {boolean} areReached
 * @property {string} problem a sentence, '' = none
 * @property {boolean} isRevoked the certificate of this node is revoked
 * @property {boolean} isSuspended until an operator decides: two programs used the identity of this node
 * @property {boolean} isRefused the services answer, and refuse this node
 *
 * @typedef {{ name: string, network: string, port: number }} Offered
 *
 * @typedef {object} OverlayStatus
 * @property {string} fqdn
 * @property {string} mode 'tun' or 'netstack'
 * @property {string[]} addresses
 * @property {number | null} certificateExpires ms since 1970
 * @property {number | null} usedTwice when another program last had this node's identity, ms since 1970; null = never
 * @property {Services} services
 * @property {Offered[]} offered services of this node
 * @property {string} relay in use, '' = none
 * @property {string} relayProblem '' = none
 * @property {boolean} isRelayOnly direct paths are switched off
 * @property {Peer[]} peers
 * @property {number} peersLeftOut more peers than those
 * @property {Record<string, number>} refused packets by reason, both directions
 *
 * @typedef {object} OverlayEvent
 * @property {number} at ms since 1970
 * @property {string} event up, down, path, refused, or another word
 * @property {string} text a sentence, may be ''
 * @property {Peer | null} peer
 */

/** @param {unknown} value @returns {string} */
function text(value) {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT) : '';
}

/** @param {unknown} value @returns {number} */
function count(value) {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0;
}

/** @param {any} value @returns {number} */
function bytes(value) {
  return typeof value === 'number' ? count(value) : count(value?.in) + count(value?.out);
}

/** @param {any} given @returns {Peer | null} null: it is no peer */
function peerOf(given) {
  const name = text(given?.name) || text(given?.fqdn);
  if (!name) return null;
  const path = PATHS.find((each) => each === given.path) ?? 'none';
  return {
    name,
    path,
    reason: path === 'direct' ? '' : text(given.reason),
    via: text(given.via) || path,
    isSleeping: given.sleeping === true,
    isOffline: given.offline === true,
    heardS: typeof given.heardAgoS === 'number' && given.heardAgoS >= 0 ? Math.round(given.heardAgoS) : null,
    rttMs: typeof given.rttMs === 'number' && given.rttMs >= 0 ? given.rttMs : null,
    bytesDirect: bytes(given.bytesDirect),
    bytesRelay: bytes(given.bytesRelay),
    changes: Array.isArray(given.changes) ? given.changes.length : count(given.changes)
  };
}

/** @param {any} given @returns {OverlayStatus} */
function statusOf(given) {
  const expires = Date.parse(given?.certificateExpires);
  const usedTwice = Date.parse(given?.usedTwice);
  /** @type {Record<string, number>} */
  const refused = {};
  for (const side of Object.values(given?.refused ?? {})) {
    for (const [reason, packets] of Object.entries(typeof side === 'object' && side ? side : {}))
      if (reason !== 'accepted' && count(packets) > 0)
        refused[text(reason)] = (refused[text(reason)] ?? 0) + count(packets);
  }
  return {
    fqdn: text(given?.fqdn),
    mode: text(given?.mode),
    addresses: list(given?.addresses).map(text).filter(Boolean),
    certificateExpires: Number.isNaN(expires) ? null : expires,
    usedTwice: Number.isNaN(usedTwice) ? null : usedTwice,
    services: servicesOf(given),
    offered: list(given?.services)
      .slice(0, MAX_OFFERED)
      .flatMap((each) => offeredOf(each) ?? []),
    relay: text(given?.node?.relay),
    relayProblem: text(given?.node?.relayError),
    isRelayOnly: given?.node?.relayOnly === true,
    peers: list(given?.peers)
      .slice(0, MAX_PEERS)
      .flatMap((each) => peerOf(each) ?? []),
    peersLeftOut: count(given?.peersLeftOut) + Math.max(0, list(given?.peers).length - MAX_PEERS),
    refused
  };
}

/** @param {any} given @returns {Offered | null} null: it is no service */
function offeredOf(given) {
  const [name, network, port] = [text(given?.name), text(given?.proto), count(given?.port)];
  return name && port ? { name, network, port } : null;
}

/** @param {any} given @returns {Services} */
function servicesOf(given) {
  const areReached = given?.node?.signalling === true;
  const whole = areReached ? '' : String(given?.servicesError ?? '').slice(0, MAX_PROBLEM);
  const problem = text(whole);
  const isRevoked = /\bcertificate\b.*\bis revoked\b/.test(problem);
  return {
    areReached,
    problem,
    isRevoked,
    isSuspended: /\bThis node is suspended\b/.test(whole),
    isRefused: /\brefuses the connection: /.test(whole)
  };
}

/** @param {unknown} value @returns {any[]} */
function list(value) {
  return Array.isArray(value) ? value : [];
}

/** @param {any} given @param {number} now ms @returns {OverlayEvent | null} null: it is no event */
function eventOf(given, now) {
  const event = text(given?.event);
  if (!/^[a-z][a-z-]{0,31}$/.test(event)) return null;
  return {
    at: Date.parse(given.time) || now,
    event,
    text: text(given.text),
    peer: peerOf(given.peer)
  };
}

/**
 * @param {OverlayEvent} event
 * @returns {{ topic: string, payload: object }} the message of an overlay peers node
 */
function messageOf({ at, event, text: reason, peer }) {
  const details = peer && {
    peer: peer.name,
    path: peer.path,
    ...(peer.reason && { reason: peer.reason }),
    ...(peer.rttMs !== null && { rttMs: peer.rttMs })
  };
  return {
    topic: `overlay/${peer ? peer.name : 'node'}/${event}`,
    payload: { at, event, ...details, ...(reason && { text: reason }) }
  };
}

/**
 * @param {Pick<OverlayStatus, 'usedTwice' | 'services'>} status
 * @param {number} now ms since 1970
 * @returns {'' | 'twice' | 'suspended'} whether another program has this node's identity, and what the services did
 */
function misuseOf({ usedTwice, services }, now) {
  if (services.isSuspended) return 'suspended';
  return usedTwice !== null && Math.abs(now - usedTwice) < TWICE_MS ? 'twice' : '';
}

/**
 * The status of an overlay peers node.
 * @param {OverlayStatus} status
 * @param {number} [now] ms since 1970
 * @returns {import('../base/status').Shown}
 */
function shownOf({ peers, peersLeftOut, services, usedTwice }, now = Date.now()) {
  const misuse = misuseOf({ services, usedTwice }, now);
  if (misuse === 'suspended') return { fill: 'red', shape: 'ring', text: 'suspended: identity used twice' };
  if (misuse === 'twice') return { fill: 'red', shape: 'dot', text: 'identity used twice' };
  if (services.isRevoked) return { fill: 'red', shape: 'ring', text: 'revoked: invite this node again' };
  if (services.isRefused) return { fill: 'red', shape: 'ring', text: 'the services refuse this node' };
  const direct = peers.filter(({ path }) => path === 'direct').length;
  const relayed = peers.filter(({ path }) => path === 'relay').length;
  const rest = peers.filter(({ path }) => path === 'none');
  const offline = rest.filter(({ isOffline }) => isOffline).length;
  const asleep = rest.filter(({ isSleeping, isOffline }) => isSleeping && !isOffline).length;
  const silent = rest.length - offline - asleep;
  const parts = [`${direct} direct`];
  if (relayed > 0) parts.push(`${relayed} by relay`);
  if (asleep > 0) parts.push(`${asleep} asleep`);
  if (offline > 0) parts.push(`${offline} offline`);
  if (silent > 0) parts.push(`${silent} unreachable`);
  if (peersLeftOut > 0) parts.push(`${peersLeftOut} more`);
  return {
    fill: silent + offline > 0 ? 'yellow' : 'green',
    shape: 'dot',
    text: peers.length === 0 ? 'no peer in use' : parts.join(', ')
  };
}

module.exports = { MAX_PEERS, eventOf, messageOf, misuseOf, peerOf, shownOf, statusOf };

'use strict';
// Tells the desk which requests to /oic/route it may pass to devices by itself, and until when posts to /oic/ps are
// records at once. All others come to Route and Topics.

const { allows } = require('./grants');
const { EXPIRY_GRACE_MS } = require('./sessions');

/** @typedef {import('./cloud').OcfCloud} OcfCloud */
/** @typedef {import('./sessions').Peer} Peer */

/** An end in the past, because 0 means that there is no end. */
const OVER = 1;

class Forwarding {
  #cloud;

  /** @param {OcfCloud} cloud */
  constructor(cloud) {
    this.#cloud = cloud;
  }

  /**
   * Returns what the desk learns of a signed-in connection. Nothing is forwarded before start().
   * @param {Peer} peer
   * @param {number} [forwardUntil]
   * @returns {import('./coap').DeskSession}
   */
  identity({ di, uid, until }, forwardUntil = OVER) {
    return {
      device: di,
      owner: uid,
      // The desk is the second to end the session: until then, the device may sign in again.
      until: until === Infinity ? 0 : until + EXPIRY_GRACE_MS,
      forwardUntil,
      replace: true
    };
  }

  /** A connection signed in, or its session has another end. @param {Peer} peer */
  start(peer) {
    if (!this.#cloud.desk.grant || peer.di === '' || peer.isGone) return;
    // A connection that is watched by its requests (/oic/ping) must show them.
    const isWatched = peer.silentMs > 0;
    const end = peer.until === Infinity ? 0 : peer.until;
    this.#cloud.desk.identify(peer.connection, this.identity(peer, isWatched || peer.isClosing ? OVER : end));
  }

  /** A session ends before its time. REQUIRES: sessions.signOut() follows. @param {Peer} peer */
  stop(peer) {
    const { desk } = this.#cloud;
    if (!desk.grant || peer.di === '' || peer.isGone) return;
    desk.identify(peer.connection, this.identity(peer));
    for (const uid of peer.granted.keys()) desk.revoke?.(peer.connection, uid);
    peer.granted.clear();
  }

  /** Applies with whom a device is shared, if it is signed in. @param {string} di */
  async share(di) {
    const { desk, grants, sessions } = this.#cloud;
    if (!desk.grant || !sessions.of(di)) return;
    const shares = (await grants.of(di))?.shares ?? new Map();
    const peer = sessions.of(di);
    if (!peer) return;
    for (const uid of [...peer.granted.keys()]) {
      if (shares.has(uid)) continue;
      peer.granted.delete(uid);
      desk.revoke?.(peer.connection, uid);
    }
    for (const [uid, rights] of shares) {
      if (peer.granted.get(uid) === rights || !allows(rights, 'GET')) continue;
      peer.granted.set(uid, rights);
      desk.grant(peer.connection, uid, rights);
    }
  }
}

exports.Forwarding = Forwarding;

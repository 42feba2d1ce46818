'use strict';
// How sessions of devices begin and end: by requests, by the desk, at their time, and by other gateways.

const { Refusal } = require('./refusal');
const { EXPIRY_GRACE_MS } = require('./sessions');

/** @typedef {import('./cloud').OcfCloud} OcfCloud */
/** @typedef {import('./sessions').Peer} Peer */

/** The answer to a deletion leaves before the connection closes. */
const DELETED_CLOSE_MS = 500;
const SIGNED_OUT = 'signedOut';
const TAKEN_OVER = 'takenOver';

class SignIns {
  #cloud;

  /** @param {OcfCloud} cloud */
  constructor(cloud) {
    this.#cloud = cloud;
  }

  /**
   * @param {Peer} peer
   * @param {{ di: string, uid: string, until: number }} found
   * @throws {Refusal}
   */
  async signIn(peer, found) {
    const { desk, deviceStates, elsewhere, forwarding, grants, sessions } = this.#cloud;
    const { di, uid } = found;
    if (peer.isGone) return;
    if (peer.di !== '' && (peer.di !== di || peer.uid !== uid)) this.signOut(peer);
    const wasElsewhere = elsewhere.stateOf(di) === 'on';
    sessions.signIn(peer, found);
    try {
      if (!desk.identify(peer.connection, forwarding.identity(peer)))
        throw new Refusal('4.03', 'The device id is not allowed.');
      // The device may have been deleted while its token was checked.
      if ((await grants.of(di))?.uid !== uid) throw new Refusal('4.01', 'The access token is not valid.');
      await forwarding.share(di);
      forwarding.start(peer);
    } catch (error) {
      forwarding.stop(peer);
      if (sessions.signOut(peer)) deviceStates.off(di, 'refused');
      throw error;
    }
    // The connection may have ended, or the device may be on another connection or at another gateway meanwhile.
    if (sessions.of(di) !== peer) return;
    elsewhere.signedIn(di, uid);
    deviceStates.on(di, wasElsewhere);
  }

  /** Ends the session of a connection that stays open. @param {Peer} peer */
  signOut(peer) {
    this.leave(peer, SIGNED_OUT);
    this.#cloud.desk.forget(peer.connection, SIGNED_OUT);
  }

  /** Ends the session of a connection, if it has one. @param {Peer} peer @param {string} reason */
  leave(peer, reason) {
    const di = this.#cloud.sessions.signOut(peer);
    if (di) this.#cloud.deviceStates.off(di, reason);
  }

  /** Closes a connection. @param {Peer} peer @param {string} reason */
  closePeer(peer, reason) {
    peer.isClosing = true;
    try {
      this.#cloud.desk.close(peer.connection, reason);
    } catch (error) {
      this.#cloud.problem(error);
    }
  }

  /**
   * See OcfCloud.gone().
   * @param {number} connection
   * @param {string} device
   * @param {string} reason
   */
  gone(connection, device, reason) {
    // The sign-out is done already, and the connection may have signed in again.
    if (reason === SIGNED_OUT) return;
    const { sessions } = this.#cloud;
    const open = sessions.peek(connection);
    if (open && reason === 'expired' && !open.isClosing) {
      if (open.di !== device || sessions.isSignedIn(open)) return;
      const { endReason } = open;
      this.leave(open, endReason);
      // Upkeep would have done so, if the desk had not been faster.
      this.closePeer(open, endReason);
      return;
    }
    const peer = sessions.take(connection);
    if (peer) this.leave(peer, reason);
  }

  /**
   * A device signed in at another gateway: its connection here is released, and observations through it end.
   * @param {string} di
   */
  takenElsewhere(di) {
    const { forwarding, route, sessions } = this.#cloud;
    route.lost(di, new Refusal('5.03', 'The device signed in at another gateway.'));
    const peer = sessions.of(di);
    if (!peer) return;
    forwarding.stop(peer);
    this.leave(peer, TAKEN_OVER);
    this.closePeer(peer, TAKEN_OVER);
  }

  /** A device was deleted. @param {string} di @param {string[]} viewers users that could see it */
  deleted(di, viewers) {
    const { deviceStates, elsewhere, forwarding, sessions } = this.#cloud;
    const peer = sessions.of(di);
    if (!peer) return elsewhere.signedOut(di, true);
    forwarding.stop(peer);
    sessions.signOut(peer);
    deviceStates.off(di, 'deleted', viewers);
    this.#cloud.later(DELETED_CLOSE_MS, () => this.closePeer(peer, 'deleted'));
  }

  /**
   * Ends the session of a device whose tokens were revoked, after the time in which it may sign in with new ones.
   * @param {string} di
   */
  endSoon(di) {
    const { forwarding, now, sessions } = this.#cloud;
    const peer = sessions.of(di);
    const end = now() + EXPIRY_GRACE_MS;
    if (!peer || peer.until <= end) return;
    Object.assign(peer, { until: end, endReason: 'revoked' });
    forwarding.start(peer);
  }
}

exports.SignIns = SignIns;

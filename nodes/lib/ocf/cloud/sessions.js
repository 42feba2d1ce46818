'use strict';

const { Refusal } = require('./refusal');
const { Relations } = require('./relations');
const { SmallMap } = require('../../base/small-map');

/** Time after the end of a token in which the device may sign in again on its connection. */
const EXPIRY_GRACE_MS = 30000;

/** A connection, signed in or not. */
class Peer {
  /** @param {number} connection @param {string} address */
  constructor(connection, address) {
    this.connection = connection;
    this.address = address;
    /** The signed-in device and its user, '' = none. */
    this.di = '';
    this.uid = '';
    /** End of the session in ms since 1970, Infinity = none. */
    this.until = 0;
    this.isGone = false;
    /** The cloud has told the desk to close it. */
    this.isClosing = false;
    this.relations = new Relations();
    /** With whom the device is shared, as the desk knows it. @type {SmallMap<string, string>} */
    this.granted = new SmallMap();
    /** Resources of its unanswered requests, by token. @type {SmallMap<string, string>} */
    this.unanswered = new SmallMap();
    /** ms: the connection is closed if it is silent until then, Infinity = the client asked for no watch. */
    this.silentUntil = Infinity;
    this.silentMs = 0;
    /** Requests that were taken and whose order is not yet settled. */
    this.queued = 0;
    /** @type {Promise<void> | null} */
    this.last = null;
    /** Why the session ended before its time. */
    this.endReason = 'expired';
    this.since = 0;
  }
}

/** Which connections there are, and which device is signed in on which. */
class Sessions {
  #now;
  /** @type {Map<number, Peer>} */
  #byConnection = new Map();
  /** @type {Map<string, Peer>} */
  #byDevice = new Map();

  /** @param {() => number} now ms since 1970 */
  constructor(now) {
    this.#now = now;
  }

  /** @param {import('./coap').Request} request @returns {Peer} */
  peerOf({ connection, peer: { address } }) {
    let peer = this.#byConnection.get(connection);
    if (!peer) {
      peer = new Peer(connection, address);
      this.#byConnection.set(connection, peer);
    }
    return peer;
  }

  /** @param {number} connection @returns {Peer | undefined} */
  peek(connection) {
    return this.#byConnection.get(connection);
  }

  /** @param {number} connection @returns {Peer | undefined} */
  take(connection) {
    const peer = this.#byConnection.get(connection);
    this.#byConnection.delete(connection);
    if (peer) peer.isGone = true;
    return peer;
  }

  /** True if the connection's session has not ended. @param {Peer} peer */
  isSignedIn(peer) {
    return peer.di !== '' && peer.until > this.#now();
  }

  /** @param {Peer} peer @throws {Refusal} 4.01 */
  checkSignedIn(peer) {
    if (this.isSignedIn(peer)) return;
    throw new Refusal('4.01', peer.di ? 'The session is over. Sign in again.' : 'Sign in first.');
  }

  /** @param {string} di @returns {Peer | undefined} its connection, even if the session has just ended */
  of(di) {
    return this.#byDevice.get(di);
  }

  /** True if requests can reach the device. @param {string} di */
  isReachable(di) {
    const peer = this.#byDevice.get(di);
    return peer !== undefined && this.isSignedIn(peer);
  }

  /**
   * @param {Peer} peer that is signed in as no other device
   * @param {{ di: string, uid: string, until: number }} session
   */
  signIn(peer, { di, uid, until }) {
    const before = this.#byDevice.get(di);
    // Its connection is closed by the desk. What it reports later must not turn the device off.
    if (before && before !== peer) this.#strip(before);
    if (before !== peer) peer.since = this.#now();
    Object.assign(peer, { di, uid, until, endReason: 'expired' });
    this.#byDevice.set(di, peer);
  }

  /**
   * Ends a connection's session.
   * @param {Peer} peer
   * @returns {string} the device that is off now, '' = none
   */
  signOut(peer) {
    const { di } = peer;
    const isOff = di !== '' && this.#byDevice.get(di) === peer;
    if (isOff) this.#byDevice.delete(di);
    this.#strip(peer);
    return isOff ? di : '';
  }

  /** @param {Peer} peer */
  #strip(peer) {
    Object.assign(peer, { di: '', uid: '', until: 0 });
    peer.granted.clear();
    peer.relations.endAll();
  }

  /**
   * Returns the connections whose session or watch has been over long enough to close them.
   * @returns {{ peer: Peer, reason: string }[]}
   */
  overdue() {
    const now = this.#now();
    const found = [];
    for (const peer of this.#byConnection.values()) {
      if (peer.di !== '' && peer.until + EXPIRY_GRACE_MS <= now) found.push({ peer, reason: peer.endReason });
      else if (peer.silentUntil <= now) found.push({ peer, reason: 'silent' });
    }
    return found;
  }

  /** @returns {Iterable<Peer>} those that are signed in */
  signedIn() {
    return this.#byDevice.values();
  }

  /** Connections that have sent a request. */
  get size() {
    return this.#byConnection.size;
  }

  get signedInCount() {
    return this.#byDevice.size;
  }
}

exports.Sessions = Sessions;
exports.Peer = Peer;
exports.EXPIRY_GRACE_MS = EXPIRY_GRACE_MS;

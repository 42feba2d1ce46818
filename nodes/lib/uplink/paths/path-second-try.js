'use strict';
// Replaces a connection that is plain TCP by accident.

/** @typedef {import('../../../../native').MptcpInfo} MptcpInfo */
/** @typedef {import('../session/reason-codes').Reason} Reason */

/** The kernel omits the MPTCP option from the third SYN, which it sends after 3 s (1 s and 2 s). */
const THIRD_SYN_MS = 2500;

/** @type {Reason} */
const AGAIN = {
  code: 'MPTCP_AGAIN',
  reason: 'The connection took long to open, so it is plain TCP. Reconnecting over MPTCP.',
  refused: false,
  atOnce: true
};

/**
 * A connection that is begun while the paths are dead, and succeeds when they are back, is plain TCP although both ends
 * support MPTCP: its first SYNs got no answer, and the last ones are without the option. The connection would stay
 * plain TCP until it ends. It is therefore renewed once if MPTCP was used before. If the new connection is plain TCP
 * again, there is another cause.
 */
class SecondTry {
  constructor() {
    /** A connection of this session used MPTCP, and no plain connection was renewed since. */
    this.hasSpoken = false;
  }

  /**
   * @param {MptcpInfo} info of a session that is connected
   * @param {number} handshakeMs
   * @returns {Reason | null} why the connection is to be renewed
   */
  check({ transport }, handshakeMs) {
    if (transport === 'mptcp') this.hasSpoken = true;
    if (transport !== 'fallback' || !this.hasSpoken || handshakeMs < THIRD_SYN_MS) return null;
    this.hasSpoken = false;
    return AGAIN;
  }
}

exports.SecondTry = SecondTry;

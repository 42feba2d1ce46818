'use strict';
// A connection that is plain TCP by bad luck.

/** @typedef {import('../../../../native').MptcpInfo} MptcpInfo */
/** @typedef {import('../session/reason-codes').Reason} Reason */

/** The kernel leaves the option of MPTCP out of the third SYN, which it sends after 3 s (1 s and 2 s). */
const THIRD_SYN_MS = 2500;

/** @type {Reason} */
const AGAIN = {
  code: 'MPTCP_AGAIN',
  reason: 'The connection took long to open, so it is plain TCP. Reconnecting over MPTCP.',
  refused: false,
  atOnce: true
};

/**
 * A connection that is begun while the paths are dead, and gets through when they are back, is plain TCP though both ends speak MPTCP: its
 * SYNs got no answer, and the last ones are without the option. It would stay so until it ends. So it is made anew, once, where MPTCP has been seen
 * before; where it is plain again something else is the reason.
 */
class SecondTry {
  constructor() {
    /** A connection of this session was of MPTCP, and none of another kind has been made anew since. */
    this.hasSpoken = false;
  }

  /** @param {MptcpInfo} info of a session that is connected @param {number} handshakeMs @returns {Reason | null} why it is to be made anew */
  check({ transport }, handshakeMs) {
    if (transport === 'mptcp') this.hasSpoken = true;
    if (transport !== 'fallback' || !this.hasSpoken || handshakeMs < THIRD_SYN_MS) return null;
    this.hasSpoken = false;
    return AGAIN;
  }
}

exports.SecondTry = SecondTry;

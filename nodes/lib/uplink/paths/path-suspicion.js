'use strict';

/** @typedef {import('../../../../native').Subflow} Subflow */
/** When it has confirmed something last, or had nothing to confirm; retransmits: before that; seen: at the last look. @typedef {{acked: number, isWaiting: boolean, retransmits: number, seen: number, at: number}} Heard */

/** Nothing is confirmed for so long, or for so many round trips, where they are longer. An acknowledgement may be delayed by 40 ms. */
const SILENT_MS = 150;
const ROUND_TRIPS = 4;
/** The kernel has sent again, as it does after 200 ms and a round trip, and that helped nothing: longer than a delayed acknowledgement (40 ms). */
const AGAIN_MS = 60;
const AGAIN_ROUND_TRIPS = 2;

/**
 * Tells early, and maybe wrongly, which subflows of a connection confirm nothing: enough to have their paths asked, not to give anything up.
 * What counts is the kernel's acknowledgement of segments, not the broker's of records.
 */
class PathSuspicion {
  /** @param {() => number} now ms, monotonic */
  constructor(now) {
    this.now = now;
    /** @type {unknown} */
    this.connection = null;
    /** Of each subflow, by its addresses. @type {Map<string, Heard>} */
    this.heard = new Map();
  }

  /**
   * @param {unknown} connection which it is @param {Subflow[]} subflows those that carry
   * @returns {{silent: Subflow[], isWaiting: boolean}} isWaiting: something is not confirmed yet
   */
  look(connection, subflows) {
    const before = connection === this.connection ? this.heard : new Map();
    this.connection = connection;
    this.heard = new Map();
    /** @type {Subflow[]} */
    const silent = [];
    for (const subflow of subflows) {
      const key = `${subflow.local} ${subflow.remote}`;
      const known = before.get(key);
      const heard = this.#hear(subflow, known);
      this.heard.set(key, heard);
      if (heard.at === known?.at && this.#isSilent(subflow, heard)) silent.push(subflow);
    }
    return { silent, isWaiting: subflows.some(({ unacked }) => unacked > 0) };
  }

  /** @param {Subflow} subflow @param {Heard | undefined} known @returns {Heard} */
  #hear({ unacked, bytesAcked: acked, retransmits: seen }, known) {
    const isWaiting = unacked > 0;
    if (isWaiting && known?.isWaiting && known.acked === acked) return { ...known, seen };
    // What was sent again since the last look may be what is not confirmed yet.
    const retransmits = known?.seen ?? seen;
    return { acked, isWaiting, retransmits, seen, at: this.now() };
  }

  /** @param {Subflow} subflow @param {Heard} heard */
  #isSilent({ rttUs }, { retransmits, seen, at }) {
    const [leastMs, trips] = seen > retransmits ? [AGAIN_MS, AGAIN_ROUND_TRIPS] : [SILENT_MS, ROUND_TRIPS];
    return this.now() - at >= Math.max(leastMs, (trips * rttUs) / 1000);
  }
}

exports.PathSuspicion = PathSuspicion;

'use strict';

/** @typedef {import('../../../../native').Subflow} Subflow */
/**
 * Last progress of a subflow. at: when it last confirmed something, or had nothing to confirm; retransmits: the count
 * before that; seen: the count at the last inspection.
 * @typedef {{acked: number, isWaiting: boolean, retransmits: number, seen: number, at: number}} Progress
 */

/**
 * A subflow is silent after this time, or after this many round trips if they are longer, without a confirmation. An
 * acknowledgement may be delayed by 40 ms.
 */
const SILENT_MS = 150;
const ROUND_TRIPS = 4;
/**
 * These limits apply after a retransmission by the kernel, which happens after 200 ms and a round trip, that brought no
 * confirmation either. The time is longer than a delayed acknowledgement (40 ms).
 */
const AGAIN_MS = 60;
const AGAIN_ROUND_TRIPS = 2;

/**
 * Reports early, and possibly wrongly, which subflows of a connection confirm nothing. That is enough to have their
 * paths probed, but not to give them up. It uses the kernel's acknowledgements of segments, not the broker's of
 * records.
 */
class PathSuspicion {
  /** @param {() => number} now ms, monotonic */
  constructor(now) {
    this.now = now;
    /** @type {unknown} */
    this.connection = null;
    /** Progress of each subflow, by its addresses. @type {Map<string, Progress>} */
    this.progress = new Map();
  }

  /**
   * @param {unknown} connection identity of the connection
   * @param {Subflow[]} subflows those that carry data
   * @returns {{silent: Subflow[], isWaiting: boolean}} isWaiting: something is not confirmed yet
   */
  inspect(connection, subflows) {
    const before = connection === this.connection ? this.progress : new Map();
    this.connection = connection;
    this.progress = new Map();
    /** @type {Subflow[]} */
    const silent = [];
    for (const subflow of subflows) {
      const key = `${subflow.local} ${subflow.remote}`;
      const known = before.get(key);
      const progress = this.#update(subflow, known);
      this.progress.set(key, progress);
      if (progress.at === known?.at && this.#isSilent(subflow, progress)) silent.push(subflow);
    }
    return { silent, isWaiting: subflows.some(({ unacked }) => unacked > 0) };
  }

  /**
   * @param {Subflow} subflow
   * @param {Progress | undefined} known
   * @returns {Progress}
   */
  #update({ unacked, bytesAcked: acked, retransmits: seen }, known) {
    const isWaiting = unacked > 0;
    if (isWaiting && known?.isWaiting && known.acked === acked) return { ...known, seen };
    // A retransmission since the last inspection may cover what is not confirmed yet.
    const retransmits = known?.seen ?? seen;
    return { acked, isWaiting, retransmits, seen, at: this.now() };
  }

  /** @param {Subflow} subflow @param {Progress} progress */
  #isSilent({ rttUs }, { retransmits, seen, at }) {
    const [leastMs, trips] = seen > retransmits ? [AGAIN_MS, AGAIN_ROUND_TRIPS] : [SILENT_MS, ROUND_TRIPS];
    return this.now() - at >= Math.max(leastMs, (trips * rttUs) / 1000);
  }
}

exports.PathSuspicion = PathSuspicion;

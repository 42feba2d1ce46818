'use strict';

const { mayGo, names } = require('./path-view');

/** @typedef {import('./session-paths').Paths} Paths @typedef {import('./session-paths').Way} Way */
/**
 * @typedef {import('../../../../native').MptcpInfo} MptcpInfo
 * @typedef {import('../../../../native').Subflow} Subflow
 */
/** @typedef {import('../session/reason-codes').Reason} Reason */

/** States of <netinet/tcp.h> in which a subflow carries data: established, and closed by the far end only. */
const CARRYING = [1, 8];
/** After this many time-outs, a path on which nothing came back recently is acceptable. */
const DESPERATE = 4;
/** MPTCP would silently wait for a path for a minute (net.mptcp.close_timeout). @type {Reason} */
const GONE = {
  code: 'PATHS_GONE',
  reason: 'The connection has no path left. Reconnecting.',
  refused: false,
  atOnce: true
};
/** A slow path is given this many round trips if that is more than the time-out. */
const ROUND_TRIPS = 4;

/** @param {MptcpInfo | null} info @returns {Subflow[]} */
const carrying = (info) => info?.subflows.filter(({ state }) => CARRYING.includes(state)) ?? [];

/**
 * Detects that a connection has lost all its paths while another path exists: a new connection over that path is faster
 * than waiting. An MPTCP connection with several paths is left to the kernel.
 */
class PathWatch {
  /** @param {{paths: Paths, lossMs: number, now?: () => number}} parts lossMs: nothing is acknowledged for this time */
  constructor({ paths, lossMs, now = () => performance.now() }) {
    this.paths = paths;
    this.lossMs = lossMs;
    this.now = now;
    /** Identity of the connection. @type {unknown} */
    this.connection = null;
    this.acked = -1;
    /** When something last came back, or nothing was pending. */
    this.heardAt = 0;
    /** When something last came back. */
    this.confirmedAt = 0;
  }

  /**
   * Call it several times a second.
   * @param {unknown} connection null = there is none
   * @param {MptcpInfo | null} info of its socket
   * @returns {(Reason & {isReturn?: boolean}) | null} why the connection is to be replaced; isReturn: in an orderly way
   */
  check(connection, info) {
    if (!connection || !info) {
      this.connection = null;
      return null;
    }
    const subflows = carrying(info);
    const silentMs = this.#silentMs(connection, subflows);
    const slowestMs = Math.max(0, ...subflows.map(({ rttUs }) => rttUs)) / 1000;
    const isSilent = silentMs >= Math.max(this.lossMs, ROUND_TRIPS * slowestMs);
    if (subflows.length === 0 && isSilent) return GONE;
    const ways = this.paths.having(subflows.map(({ local }) => local));
    const isDown = ways.length > 0 && ways.every((way) => this.paths.isDown(way));
    if (isSilent)
      return this.#lost(ways, silentMs, `acknowledged nothing for ${(silentMs / 1000).toFixed(1)} s`);
    if (isDown) return this.#lost(ways, silentMs, 'is down');
    if (this.#isSuspect(ways)) return this.#lost(ways, silentMs, 'was abandoned by another session');
    return this.#back(ways, info);
  }

  /**
   * Returns how long the far end has confirmed nothing although something is to be confirmed.
   * @param {unknown} connection
   * @param {Subflow[]} subflows
   */
  #silentMs(connection, subflows) {
    const now = this.now();
    const acked = subflows.reduce((sum, { bytesAcked }) => sum + bytesAcked, 0);
    const isWaiting = subflows.length === 0 || subflows.some(({ unacked }) => unacked > 0);
    const isNews = connection !== this.connection || acked !== this.acked;
    if (isNews) this.confirmedAt = now;
    if (isNews || !isWaiting) this.heardAt = now;
    this.connection = connection;
    this.acked = acked;
    return now - this.heardAt;
  }

  /**
   * True if another session found the paths silent, and this session, which may have nothing to send, has received
   * nothing since.
   * @param {Way[]} ways
   */
  #isSuspect(ways) {
    const isLeft = (/** @type {Way} */ { name }) => {
      const at = this.paths.failedAt(name);
      return at > this.confirmedAt && this.now() - at > this.lossMs / 2;
    };
    return ways.length > 0 && ways.every(isLeft);
  }

  /**
   * @param {Way[]} ways
   * @param {number} silentMs
   * @param {string} what happened to the path
   * @returns {Reason | null}
   */
  #lost(ways, silentMs, what) {
    const [next] = this.paths.besides(ways, silentMs > DESPERATE * this.lossMs);
    if (!next) return null;
    for (const { name } of ways) this.paths.failed(name);
    const reason = `The path ${names(ways)} ${what}. Connecting over ${next.name}.`;
    return { code: 'PATH_LOST', reason, refused: false, atOnce: true };
  }

  /**
   * Returns a reason to leave a backup path, if the kernel does not do it.
   * @param {Way[]} ways
   * @param {MptcpInfo} info
   * @returns {(Reason & {isReturn: boolean}) | null}
   */
  #back(ways, info) {
    if (ways.length === 0 || ways.some(({ role }) => role === 'active') || mayGo(info)) return null;
    const better = this.paths.steady();
    if (!better) return null;
    const reason = `The preferred path ${better.name} is up. Connecting over it instead of ${names(ways)}.`;
    return { code: 'PATH_BACK', reason, refused: false, atOnce: true, isReturn: true };
  }
}

exports.PathWatch = PathWatch;
exports.carrying = carrying;

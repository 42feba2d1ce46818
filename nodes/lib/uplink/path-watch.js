'use strict';

const { mayGo, names } = require('./path-view');

/** @typedef {import('./paths').Paths} Paths @typedef {import('./paths').Way} Way */
/** @typedef {import('../../../native').MptcpInfo} MptcpInfo */
/** @typedef {import('./reasons').Reason} Reason */

/** As in <netinet/tcp.h>: established, and closed by the far end only. */
const CARRYING = [1, 8];
/** A slow path is given more than the time-out: so many round trips. */
const ROUND_TRIPS = 4;

/**
 * Tells when a connection has lost all its paths while there is another: then a new connection by that one is faster than waiting. A
 * connection of MPTCP that has several paths is left to the kernel.
 */
class PathWatch {
  /** @param {{paths: Paths, lossMs: number, now?: () => number}} parts lossMs: nothing is acknowledged for so long */
  constructor({ paths, lossMs, now = () => performance.now() }) {
    this.paths = paths;
    this.lossMs = lossMs;
    this.now = now;
    /** Which connection it is. @type {unknown} */
    this.connection = null;
    this.acked = -1;
    /** When something came back last, or there was nothing to come back. */
    this.heardAt = 0;
    /** @type {Way[]} */
    this.ways = [];
  }

  /**
   * Several times a second. @param {unknown} connection null = there is none @param {MptcpInfo | null} info of its socket
   * @returns {(Reason & {isReturn?: boolean}) | null} why it is to be made anew; isReturn: in an orderly way
   */
  check(connection, info) {
    const now = this.now();
    if (!connection || !info) {
      this.connection = null;
      return null;
    }
    const carrying = info.subflows.filter(({ state }) => CARRYING.includes(state));
    const acked = carrying.reduce((sum, { bytesAcked }) => sum + bytesAcked, 0);
    const isWaiting = carrying.length === 0 || carrying.some(({ unacked }) => unacked > 0);
    if (connection !== this.connection || acked !== this.acked || !isWaiting) this.heardAt = now;
    this.connection = connection;
    this.acked = acked;
    const ways = this.paths.having(carrying.map(({ local }) => local));
    if (ways.length > 0) this.ways = ways;
    const slowestMs = Math.max(0, ...carrying.map(({ rttUs }) => rttUs)) / 1000;
    const silentMs = now - this.heardAt;
    const isSilent = silentMs >= Math.max(this.lossMs, ROUND_TRIPS * slowestMs);
    const isDown = this.ways.length > 0 && this.ways.every(({ name }) => this.paths.stateOf(name) === 'down');
    if (isSilent || isDown) return this.#lost(isDown, silentMs);
    return this.#back(info);
  }

  /** @param {boolean} isDown @param {number} silentMs @returns {Reason | null} */
  #lost(isDown, silentMs) {
    const [next] = this.paths.besides(this.ways);
    if (!next) return null;
    for (const { name } of this.ways) this.paths.failed(name);
    const what = isDown ? 'is down' : `took nothing for ${(silentMs / 1000).toFixed(1)} s`;
    const reason = `The path ${names(this.ways)} ${what}. Connecting by ${next.name}.`;
    return { code: 'PATH_LOST', reason, refused: false, atOnce: true };
  }

  /** From a backup path, where the kernel does not do it. @param {MptcpInfo} info @returns {(Reason & {isReturn: boolean}) | null} */
  #back(info) {
    if (this.ways.length === 0 || this.ways.some(({ role }) => role === 'active') || mayGo(info)) return null;
    const better = this.paths.steady();
    if (!better) return null;
    const reason = `The path ${better.name} is up again. Connecting by it instead of ${names(this.ways)}.`;
    return { code: 'PATH_BACK', reason, refused: false, atOnce: true, isReturn: true };
  }
}

exports.PathWatch = PathWatch;

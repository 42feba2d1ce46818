'use strict';
// Counts the bytes that the far end has confirmed on all connections of a session. The kernel counts them, so TLS and
// MQTT overhead is included.

/**
 * @typedef {import('../../../../native').MptcpInfo} MptcpInfo
 * @typedef {import('../../../../native').Subflow} Subflow
 */

class AckedBytes {
  /** @param {{session: {client: unknown, fd: number | null}, native: {mptcpInfo?: (fd: number) => MptcpInfo}}} parts */
  constructor({ session, native }) {
    this.session = session;
    this.native = native;
    this.total = 0;
    /** The connection that `before` belongs to. @type {unknown} */
    this.connection = null;
    /** Bytes at the last reading, by addresses. @type {Map<string, number>} */
    this.before = new Map();
  }

  /**
   * Call it about once a second: bytes confirmed between the last reading and the end of a connection are not counted.
   * @returns {number} bytes, never less than before
   */
  read() {
    const { client, fd } = this.session;
    if (client !== this.connection) this.before.clear();
    this.connection = client;
    for (const [way, bytes] of byWay(this.#subflows(fd))) {
      // A subflow that is opened again with the same addresses begins at 0. That second is not counted.
      this.total += Math.max(0, bytes - (this.before.get(way) ?? 0));
      this.before.set(way, bytes);
    }
    return this.total;
  }

  /** @param {number | null} fd */
  #subflows(fd) {
    const { native } = this;
    if (fd === null || !native.mptcpInfo) return [];
    try {
      return native.mptcpInfo(fd).subflows;
    } catch {
      // The connection was closed just now.
      return [];
    }
  }
}

/**
 * Sums up the bytes by addresses. A deleted subflow may stay listed beside its successor.
 * @param {Subflow[]} subflows
 */
function byWay(subflows) {
  /** @type {Map<string, number>} */
  const ways = new Map();
  for (const { local, remote, bytesAcked } of subflows) {
    const way = `${local} ${remote}`;
    // -1: unknown.
    if (bytesAcked >= 0) ways.set(way, (ways.get(way) ?? 0) + bytesAcked);
  }
  return ways;
}

exports.AckedBytes = AckedBytes;

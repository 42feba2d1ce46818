'use strict';
// What the far end has confirmed of a session's connections, all of them together. Counted where the kernel counts it, so with
// what TLS and MQTT add.

/** @typedef {import('../../../../native').MptcpInfo} MptcpInfo @typedef {import('../../../../native').Subflow} Subflow */

class AckedBytes {
  /** @param {{session: {client: unknown, fd: number | null}, native: {mptcpInfo?: (fd: number) => MptcpInfo}}} parts */
  constructor({ session, native }) {
    this.session = session;
    this.native = native;
    this.total = 0;
    /** Which connection `before` is of. @type {unknown} */
    this.connection = null;
    /** By addresses, at the last look. @type {Map<string, number>} */
    this.before = new Map();
  }

  /** Call it each second or so: what came between the last look and the end of a connection is not seen. @returns {number} bytes, never less than before */
  read() {
    const { client, fd } = this.session;
    if (client !== this.connection) this.before.clear();
    this.connection = client;
    for (const [way, bytes] of byWay(this.#subflows(fd))) {
      // A subflow that was made anew with the same addresses begins at 0: that second is not counted.
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
      // It was closed just now.
      return [];
    }
  }
}

/** One that was deleted may stay listed beside its successor. @param {Subflow[]} subflows */
function byWay(subflows) {
  /** @type {Map<string, number>} */
  const ways = new Map();
  for (const { local, remote, bytesAcked } of subflows) {
    const way = `${local} ${remote}`;
    // -1: not known.
    if (bytesAcked >= 0) ways.set(way, (ways.get(way) ?? 0) + bytesAcked);
  }
  return ways;
}

exports.AckedBytes = AckedBytes;

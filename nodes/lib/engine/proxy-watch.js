'use strict';
// Warns of connections from a listed proxy that were closed because they had no PROXY header. No device is known yet,
// so nothing else would show it.

const { Complaints } = require('../base/complaints');

class ProxyWatch {
  #complaints;
  /** Closed so far. */
  #before = 0;

  /** @param {(sentence: string) => void} warn */
  constructor(warn) {
    this.#complaints = new Complaints(warn);
  }

  /**
   * Call it once a second.
   * @param {Partial<import('../../../native/index.js').EngineStats>} stats
   * @param {{ tlsState: import('../tls/tls-thread').TlsState | null }[]} members
   */
  tick({ protocolErrors = {} }, members) {
    const byTls = members.map(({ tlsState }) => tlsState?.refused['no PROXY header'] ?? 0);
    const closed = byTls.reduce((sum, count) => sum + count, protocolErrors.noProxyHeader ?? 0);
    // After a deploy, the counts of a listener start at zero again.
    if (closed > this.#before)
      this.#complaints.tell(
        'proxy',
        'Connections from an address in Proxies begin without a PROXY header, so they are closed. Have the load balancer send one (HAProxy: send-proxy-v2), or remove its address from Proxies.',
        closed - this.#before
      );
    this.#before = closed;
  }
}

exports.ProxyWatch = ProxyWatch;

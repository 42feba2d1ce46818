'use strict';

const net = require('node:net');

/** Failures without a delay. A mistake in a device's settings is not an attack. */
const FREE = 5;
const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 4000;
/** An address is forgotten after this time without a failure. */
const FORGET_MS = 600000;
const MAX_ADDRESSES = 10000;

/** Counts failed logins by address. After several failures, the next login of the address is delayed. */
class FailedAttempts {
  #now;
  /** Least recent first. @type {Map<string, { failures: number, at: number }>} */
  #byAddress;

  /** @param {() => number} [now] ms */
  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#byAddress = new Map();
  }

  /** @param {string} address such as 192.0.2.7:40312 @returns {number} ms to wait */
  delay(address) {
    const known = this.#byAddress.get(networkOf(address));
    if (!known || known.failures < FREE || this.#now() - known.at > FORGET_MS) return 0;
    return Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(known.failures - FREE, 10));
  }

  /** @param {string} address */
  failed(address) {
    const network = networkOf(address);
    const known = this.#byAddress.get(network);
    const now = this.#now();
    const failures = known && now - known.at <= FORGET_MS ? known.failures + 1 : 1;
    this.#byAddress.delete(network);
    this.#byAddress.set(network, { failures, at: now });
    if (this.#byAddress.size <= MAX_ADDRESSES) return;
    const [oldest] = this.#byAddress.keys();
    this.#byAddress.delete(oldest);
  }

  get size() {
    return this.#byAddress.size;
  }
}

/**
 * Returns the address, or the /64 network of an IPv6 address, because a host usually controls a whole /64.
 * @param {string} address with a port
 */
function networkOf(address) {
  const host = address
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
    .replace(/%.*$/, '')
    // An IPv4 address as a socket on :: shows it (RFC 4291, 2.5.5.2). All of them are in one /64.
    .replace(/^::ffff:(?=\d+\.)/i, '');
  if (!net.isIPv6(host)) return host;
  const [head, tail = ''] = host.split('::');
  const groups = head.split(':').filter(Boolean);
  const rest = tail.split(':').filter(Boolean);
  const missing = host.includes('::') ? 8 - groups.length - rest.length : 0;
  return [...groups, ...Array(missing).fill('0'), ...rest].slice(0, 4).join(':');
}

module.exports = { FailedAttempts, networkOf };

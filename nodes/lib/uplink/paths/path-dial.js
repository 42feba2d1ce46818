'use strict';
// Determines the order in which the addresses of a broker are tried over the paths of an uplink, and how long each may
// take.

const net = require('node:net');

/** @typedef {import('./session-paths').Paths} Paths @typedef {import('./session-paths').Way} Way */

/**
 * One try.
 * @typedef {object} Try
 * @property {string} address of the broker
 * @property {number} patienceMs part of the remaining time
 * @property {Way | null} way null = as the system's routes determine
 * @property {{device?: string, localAddress?: string, mptcp?: boolean}} options of the socket
 */

/**
 * A path that does not answer a SYN within this time (one retransmission and its round trip) waits for the second
 * round.
 */
const PATIENCE_MS = 1000;

/** Errors that prove that the path carries packets. */
const ANSWERS = ['ECONNREFUSED', 'ECONNRESET'];

/**
 * Yields the tries of one attempt. The first round gives each path a second, so that a dead one costs no more. The
 * second round gives a slow path all the remaining time.
 * @param {{address: string}[]} addresses
 * @param {Paths | undefined} paths
 * @param {() => number} leftMs
 * @returns {Generator<Try, void, {code?: string} | null>} next() receives the error of the last try
 */
function* tries(addresses, paths, leftMs) {
  if (!paths) return yield* plain(addresses, leftMs, {});
  const ways = paths.inOrder();
  /** @type {Omit<Try, 'patienceMs'>[]} */
  const all = ways.flatMap((way) =>
    addresses.flatMap(({ address }) => {
      const localAddress = way.addresses.find((own) => net.isIPv4(own) === net.isIPv4(address));
      // An interface without an address of this family has no path there.
      return localAddress
        ? [{ address, way, options: { device: way.device, localAddress, mptcp: paths.usesMptcp } }]
        : [];
    })
  );
  /** @type {typeof all} */
  const slow = [];
  for (const [i, each] of all.entries()) {
    const patienceMs = Math.min(PATIENCE_MS, Math.ceil(leftMs() / (all.length - i)));
    const error = yield { ...each, patienceMs };
    if (!ANSWERS.includes(String(error?.code))) paths.failed(/** @type {Way} */ (each.way).name);
    if (error?.code === 'ETIMEDOUT') slow.push(each);
  }
  for (const [i, each] of slow.entries()) {
    // Nothing may be left after the first round.
    if (leftMs() > 1) yield { ...each, patienceMs: Math.ceil(leftMs() / (slow.length - i)) };
  }
  // Automatic paths must not block a broker that is reachable otherwise, such as one in the same network.
  if (paths.isAuto && leftMs() > 1) yield* plain(addresses, leftMs, { mptcp: paths.usesMptcp });
}

/**
 * @param {{address: string}[]} addresses
 * @param {() => number} leftMs
 * @param {Try['options']} options
 * @returns {Generator<Try, void, {code?: string} | null>}
 */
function* plain(addresses, leftMs, options) {
  for (const [i, { address }] of addresses.entries()) {
    yield { address, way: null, options, patienceMs: Math.ceil(leftMs() / (addresses.length - i)) };
  }
}

/**
 * Wraps a lookup of the broker's addresses. The resolver may be behind a dead path: its last answer is used then.
 * @param {(host: string) => Promise<{address: string}[]>} lookup
 * @param {Paths} paths
 * @returns {(host: string) => Promise<{address: string}[]>}
 */
function remembering(lookup, paths) {
  return async (host) => {
    const fresh = lookup(host).then((addresses) => {
      if (addresses.length > 0) paths.addresses.set(host, addresses);
      return addresses;
    });
    const before = paths.addresses.get(host);
    if (!before) return fresh;
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const known = new Promise((resolve) => (timer = setTimeout(() => resolve(before), PATIENCE_MS)));
    try {
      return await Promise.race([fresh.catch(() => before), known]);
    } finally {
      clearTimeout(timer);
    }
  };
}

module.exports = { PATIENCE_MS, remembering, tries };

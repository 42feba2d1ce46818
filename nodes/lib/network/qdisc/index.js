'use strict';
// Checks whether the interface used by the uplink sends urgent packets first.

const os = require('node:os');
const { isLoopback } = require('../../base/loopback');
const { verdictOf } = require('./verdict');
const { inspect } = require('./inspect-qdisc');

/** Limit for the whole check, which is repeated and must not pile up. */
const LIMIT_MS = 2000;

/**
 * @typedef {object} NetworkView
 * @property {string} interface '' = no interface has the address
 * @property {boolean} ok urgent packets go first, or need not (loopback)
 * @property {string} kind htb, tbf-pfifo_fast, prio, pfifo_fast …; none = unknown
 * @property {string} reason a sentence
 * @property {import('./verdict').BandCounters[]} bands most urgent first; only one, 'all', if the kernel does not count
 *   them separately
 */

/** @param {string} address as a socket reports it @returns {string} without a zone, and mapped IPv4 as IPv4 */
const plainAddress = (address) =>
  address
    .toLowerCase()
    .replace(/%.*$/, '')
    .replace(/^::ffff:(?=\d+\.)/, '');

/**
 * @param {string} address
 * @param {ReturnType<typeof os.networkInterfaces>} [interfaces]
 * @returns {{ name: string, internal: boolean } | null}
 */
function interfaceWith(address, interfaces = os.networkInterfaces()) {
  const plain = plainAddress(address);
  // All of 127.0.0.0/8 is local, but only one of its addresses is listed.
  if (isLoopback(plain)) return { name: 'lo', internal: true };
  const zone = /%(.+)$/.exec(address)?.[1];
  for (const [name, addresses = []] of Object.entries(interfaces)) {
    if (zone !== undefined && zone !== name) continue;
    const found = addresses.find((each) => each.address.toLowerCase() === plain);
    if (found) return { name, internal: found.internal };
  }
  return null;
}

/**
 * Checks the interface of a session. Needs no privileges, never rejects, and takes 2 s at most.
 * @param {string} localAddress of the session's socket
 * @returns {Promise<NetworkView>}
 */
async function checkUplink(localAddress) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  // A process blocked in the kernel does not end even by SIGKILL.
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(none('', `tc did not answer within ${LIMIT_MS} ms.`)), LIMIT_MS);
    timer.unref();
  });
  const view = await Promise.race([inspectUplink(localAddress), late]);
  clearTimeout(timer);
  return view;
}

/** @param {string} localAddress @returns {Promise<NetworkView>} */
async function inspectUplink(localAddress) {
  let name = '';
  try {
    const found = interfaceWith(String(localAddress));
    if (!found) {
      return none('', `No interface has the address ${String(localAddress).slice(0, 64)}.`);
    }
    // A session to a broker on this machine uses one of its own addresses, but goes through lo, too.
    if (found.internal) return { interface: 'lo', ok: true, kind: 'none', reason: 'loopback', bands: [] };
    name = found.name;
    const { ok, kind, reason, bands } = verdictOf(await inspect(name, LIMIT_MS));
    return { interface: name, ok, kind, reason, bands };
  } catch (error) {
    return none(name, /** @type {Error} */ (error).message);
  }
}

/**
 * @param {string} name
 * @param {string} reason
 * @returns {NetworkView}
 */
const none = (name, reason) => ({ interface: name, ok: false, kind: 'none', reason, bands: [] });

module.exports = { checkUplink, interfaceWith };

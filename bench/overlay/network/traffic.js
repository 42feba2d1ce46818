'use strict';
// Starts bench/overlay/peers/load in a place, and reads what it prints.

const { PORT } = require('./home');
const { program } = require('./programs');

const READY_MS = 10_000;

/**
 * @param {import('./star').Place} place
 * @param {string} [address] '' = all; of a place with several, a datagram is answered from the one it was sent to only
 *          if that is named
 */
async function startServer(place, address = '') {
  const server = place.start(program('load'), ['serve', `${address}:${PORT}`], {
    name: 'the receiver of the load'
  });
  await server.until((output) => output.includes('ready'), READY_MS);
  return server;
}

/**
 * @param {import('./star').Place} place @param {string[]} args of load
 * @param {Record<string, string>} [env]
 * @returns {Promise<any>} what it prints
 * @throws {Error} with what it says, if it fails
 */
async function load(place, args, env = {}) {
  const child = place.start(program('load'), args, {
    name: `load ${args[0]} in ${place.name}`,
    env: { ...process.env, ...env }
  });
  const { code } = await child.exited;
  if (code !== 0) throw new Error(`${child.name} failed: ${child.output.slice(-1000)}`);
  return child.jsonLines()[0];
}

/** @typedef {{ sent: number, answered: number, first: number, p50: number, p99: number, most: number }} Times ms */

/**
 * ICMP echoes at fixed times.
 * @param {import('./star').Place} place @param {string} to @param {number} seconds @param {number} [every] seconds
 * @returns {Promise<Times>}
 */
const ping = (place, to, seconds, every = 0.01) => load(place, ['ping', to, String(seconds), String(every)]);

/**
 * @param {import('./star').Place} place @param {string} to @param {number} warmup s @param {number} seconds
 * @param {number} mbits in blocks of 128 KiB, as iperf3 sends them; 0 = no limit
 * @returns {Promise<{ mbits: number, retransmits: number }>}
 */
const tcp = (place, to, warmup, seconds, mbits) =>
  load(place, ['tcp', `${to}:${PORT}`, String(warmup), String(seconds), String(mbits)]);

/**
 * @param {import('./star').Place} place @param {string} to @param {number} seconds @param {number} mbits 0 = no limit
 * @returns {Promise<{ sent: number, received: number, duplicates: number, outOfOrder: number, mbits: number }>}
 */
const udp = (place, to, seconds, mbits) =>
  load(place, ['udp', `${to}:${PORT}`, String(seconds), String(mbits)]);

module.exports = { load, ping, startServer, tcp, udp };

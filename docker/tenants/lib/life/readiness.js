'use strict';
// When a tenant is ready: the only proof is that it accepts a connection, and, with MQTT, a login.

const net = require('node:net');
const { connectPacket, readConnack, DISCONNECT } = require('./mqtt-login');

/**
 * Time between two tries to connect: a twentieth of the time that the tenant has taken, within these limits. A paused
 * tenant is ready after the first tries. Each try costs the processor time that the start of a tenant needs.
 */
const EVERY_MS = { min: 5, max: 25, share: 20 };
/** If a tenant accepts a connection and does not answer, the keeper opens another one after this time. */
const ANSWER_MS = 2000;
/** Time for a tenant to close the connection after a login. */
const CLOSE_MS = 500;

/**
 * One try.
 * @param {{ host: string, port: number, login: { user: string, password: string } | null }} target login null: a
 *   connection is enough
 * @param {AbortSignal} signal
 * @returns {Promise<boolean>}
 */
function tryOnce({ host, port, login }, signal) {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port });
    let answer = Buffer.alloc(0);
    let isReady = false;
    const giveUp = () => socket.destroy();
    signal.addEventListener('abort', giveUp);
    socket.setTimeout(ANSWER_MS, giveUp);
    socket.on('error', giveUp);
    // The tenant closes after the DISCONNECT, so the front does not see this login as a device.
    socket.once('close', () => {
      signal.removeEventListener('abort', giveUp);
      resolve(isReady);
    });
    socket.once('connect', () => {
      if (login) return socket.write(connectPacket(login));
      isReady = true;
      socket.destroy();
    });
    socket.on('data', (part) => {
      answer = Buffer.concat([answer, part]);
      const code = readConnack(answer);
      if (isReady || code === null) return;
      isReady = code === 0;
      if (isReady) socket.setTimeout(CLOSE_MS).end(DISCONNECT);
      else socket.destroy();
    });
  });
}

/**
 * @param {{ host: string, port: number }} target
 * @returns {Promise<boolean>} true if something accepts a connection there
 */
const accepts = (target) => tryOnce({ ...target, login: null }, new AbortController().signal);

/**
 * Resolves when the tenant accepts connections. Stays pending until then, or until the signal.
 * @param {{ host: string, port: number, login: { user: string, password: string } | null }} target
 * @param {AbortSignal} signal
 */
async function untilAccepts(target, signal) {
  const began = performance.now();
  const { min, max, share } = EVERY_MS;
  while (!signal.aborted) {
    if (await tryOnce(target, signal)) return;
    const wait = Math.min(max, Math.max(min, (performance.now() - began) / share));
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
  await new Promise(() => {});
}

module.exports = { untilAccepts, accepts };

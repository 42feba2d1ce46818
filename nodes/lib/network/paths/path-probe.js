'use strict';
// Probes the broker over one path: a TCP connection that is closed at once, sent ahead of all other packets. A refusal
// is an answer, too.

const net = require('node:net');

/**
 * host: an address.
 * @typedef {{ host: string, port: number, device: string, address: string, timeoutMs: number }} Question
 */
/** ok null: no probe could be sent. @typedef {{ ok: boolean | null, why: string }} Answer */

/** Urgent in every queue: behind a full queue, a probe would find its path dead [docs/use/network.md]. */
const PRIORITY = 6;

/** @returns {typeof import('../../../../native') | null} */
function native() {
  try {
    return require('../../../../native');
  } catch {
    return null;
  }
}

/**
 * @param {unknown} error
 * @param {Question} question
 * @returns {Answer}
 */
function readError(error, { host, port, timeoutMs }) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  if (code === 'ECONNREFUSED') return { ok: true, why: `${host} answers` };
  if (code === 'ETIMEDOUT')
    return { ok: false, why: `${host} port ${port} did not answer in ${timeoutMs} ms` };
  return { ok: false, why: `${host} port ${port} cannot be reached: ${code ?? message}` };
}

/**
 * @param {NonNullable<ReturnType<typeof native>>} addon
 * @param {Question} question
 * @returns {Promise<Answer>}
 */
async function askByAddon({ openSocket, waitConnect, closeSocket }, question) {
  const { host, port, device, address, timeoutMs } = question;
  let fd = -1;
  try {
    ({ fd } = openSocket(host, port, { priority: PRIORITY, device, localAddress: address }));
    await waitConnect(fd, timeoutMs);
    return { ok: true, why: `${host} answers` };
  } catch (error) {
    return readError(error, question);
  } finally {
    if (fd >= 0) closeSocket(fd);
  }
}

/**
 * Probes without the addon: from the path's address, whose rule leads to its table, but without priority.
 * @param {Question} question
 * @returns {Promise<Answer>}
 */
function askByNode(question) {
  const { host, port, address, timeoutMs } = question;
  return new Promise((resolve) => {
    const socket = net.connect({ host, port, localAddress: address, timeout: timeoutMs });
    const end = (/** @type {Answer} */ answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end({ ok: true, why: `${host} answers` }));
    socket.once('timeout', () => end(readError({ code: 'ETIMEDOUT' }, question)));
    socket.once('error', (error) => end(readError(error, question)));
  });
}

/** @returns {{ ask: (question: Question) => Promise<Answer>, isUrgent: boolean }} */
function prober() {
  const addon = native();
  return addon
    ? { ask: (question) => askByAddon(addon, question), isUrgent: true }
    : { ask: askByNode, isUrgent: false };
}

module.exports = { prober, readError };

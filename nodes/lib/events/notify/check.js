'use strict';
// Tries the targets of notifications without sending one.

const net = require('node:net');
const tls = require('node:tls');
const { verify } = require('./mail');
const { TIMEOUT_MS } = require('./webhook');

/**
 * @param {{ url: string, mail: import('./mail').Mail | null }} targets url: '' = no webhook
 * @returns {Promise<{ step: 'webhook' | 'mail', ok: boolean, ms: number, code: string, text: string }[]>} text: a
 *   sentence
 */
async function checkTargets({ url, mail }) {
  const results = [];
  if (url) results.push(await step('webhook', () => reach(url)));
  if (mail) {
    const text = `The mail server ${new URL(mail.smtp).host} can be used. Nothing was sent.`;
    results.push(await step('mail', () => verify(mail).then(() => text)));
  }
  return results;
}

/**
 * @template {string} T
 * @param {T} name
 * @param {() => Promise<string>} work
 */
async function step(name, work) {
  const began = performance.now();
  const [ok, text] = await work().then(
    (found) => /** @type {const} */ ([true, found]),
    (error) => /** @type {const} */ ([false, /** @type {Error} */ (error).message])
  );
  return { step: name, ok, ms: Math.round(performance.now() - began), code: '', text };
}

/** Connects, with TLS if the address says so. @param {string} url @returns {Promise<string>} @throws {Error} */
function reach(url) {
  const { protocol, hostname, host, port } = new URL(url);
  const isTls = protocol === 'https:';
  const name = hostname.replace(/^\[|\]$/g, '');
  const target = { host: name, port: Number(port) || (isTls ? 443 : 80) };
  return new Promise((resolve, reject) => {
    const socket = isTls
      ? tls.connect({ ...target, servername: net.isIP(name) ? '' : name })
      : net.connect(target);
    /** @param {string} why */
    const fail = (why) => {
      socket.destroy();
      reject(new Error(`The webhook at ${host} cannot be reached (${why}).`));
    };
    socket.setTimeout(TIMEOUT_MS, () => fail('ETIMEDOUT'));
    socket.once('error', (/** @type {NodeJS.ErrnoException} */ error) => fail(error.code ?? error.message));
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      socket.destroy();
      resolve(`The webhook at ${host} can be reached. Nothing was sent.`);
    });
  });
}

module.exports = { checkTargets };

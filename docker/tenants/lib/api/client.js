'use strict';
// Sends requests to a running keeper.

const http = require('node:http');
const { CliError } = require('../base/errors');

/** @typedef {{ status: number, body: any }} Answer */

/** Errors of a socket without a listener. */
const NOBODY = ['ENOENT', 'ECONNREFUSED'];

/**
 * @param {string} socket
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<Answer | null>} null: no keeper runs
 */
function ask(socket, method, path, body) {
  const text = body === undefined ? '' : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = http.request({
      socketPath: socket,
      method,
      path,
      agent: false,
      headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }
    });
    sent.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      if (NOBODY.includes(error.code ?? '')) return resolve(null);
      reject(new CliError(`The keeper at ${socket} does not answer: ${error.message}.`));
    });
    sent.once('response', async (response) => {
      /** @type {Buffer[]} */
      const parts = [];
      try {
        for await (const part of response) parts.push(part);
        const answer = Buffer.concat(parts).toString();
        resolve({ status: response.statusCode ?? 0, body: answer === '' ? {} : JSON.parse(answer) });
      } catch (error) {
        reject(error);
      }
    });
    sent.end(text);
  });
}

/**
 * Sends a request, and throws unless it succeeds.
 * @param {string} socket
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<any>}
 */
async function request(socket, method, path, body) {
  const answer = await ask(socket, method, path, body);
  if (!answer) throw new CliError(`No keeper runs at ${socket}. Start it with "seganet-tenants run".`);
  if (answer.status >= 400) throw new CliError(answer.body.error ?? `The keeper answered ${answer.status}.`);
  return answer.body;
}

module.exports = { ask, request };

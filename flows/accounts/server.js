'use strict';
// The HTTP server of the provider.

const http = require('node:http');
const https = require('node:https');
const { Logins, Refused } = require('./logins');
const { errorPage, pageHeaders } = require('./pages');
const { makeProvider } = require('./provider');

const TIMEOUT_MS = 10000;
const MOST_CONNECTIONS = 512;
const MOST_HEADER_BYTES = 16384;

/**
 * @typedef {object} Running
 * @property {string} issuer
 * @property {() => Promise<void>} close
 */

/**
 * Starts the provider.
 * @param {object} parts
 * @param {string} parts.host
 * @param {number} parts.port 0 = any
 * @param {string} parts.issuer '' = the address of the server
 * @param {{ cert: Buffer, key: Buffer } | null} parts.tls
 * @param {{ id: string, secret: string, redirectUris: string[] }} parts.client redirectUris besides the own page
 * @param {import('./storage').Storage} parts.storage
 * @param {import('../../nodes/lib/login/password-verifier').PasswordVerifier} parts.passwords
 * @param {(sentence: string) => void} parts.warn
 * @returns {Promise<Running>}
 * @throws {Error} of the system, if the port cannot be opened
 */
async function startServer({ host, port, issuer: given, tls, client, storage, passwords, warn }) {
  const options = {
    maxHeaderSize: MOST_HEADER_BYTES,
    headersTimeout: TIMEOUT_MS,
    requestTimeout: TIMEOUT_MS,
    keepAliveTimeout: 5000
  };
  const server = tls
    ? https.createServer({ ...options, ...tls, minVersion: 'TLSv1.2' })
    : http.createServer(options);
  server.maxConnections = MOST_CONNECTIONS;
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve(undefined));
  });
  const { port: ownPort } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const issuer = given || `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${ownPort}`;
  const redirectUris = [...new Set([`${issuer}/code`, ...client.redirectUris])];
  const all = { ...client, redirectUris };
  const origins = redirectUris.map((uri) => new URL(uri).origin).filter((origin) => origin !== issuer);
  const problem = (/** @type {Error} */ error) => warn(`A request failed: ${error.message}`);
  const isKnown = (/** @type {string} */ user) => passwords.isKnown(user);
  const provider = await makeProvider({ issuer, client: all, storage, isKnown, problem });
  const headers = pageHeaders([...new Set(origins)]);
  /** @param {http.ServerResponse} response @param {number} status @param {string} html @param {object} [more] */
  const send = (response, status, html, more = {}) => {
    response.writeHead(status, { ...headers, ...more });
    response.end(html);
  };
  const logins = new Logins({ provider, passwords, issuer, client: all, send });
  const serve = provider.callback();
  server.on('request', async (request, response) => {
    try {
      const url = URL.parse(request.url ?? '/', 'http://none');
      if (!url) throw new Refused(400, 'The address of the page is wrong.');
      if (!(await logins.answer(request, response, url))) await serve(request, response);
    } catch (error) {
      if (response.headersSent) return response.destroy();
      const isOurs = error instanceof Refused;
      if (!isOurs) problem(/** @type {Error} */ (error));
      // The rest of an overlong form is not read.
      const close = { Connection: 'close' };
      const sentence = isOurs ? error.message : 'The server failed. Try again.';
      send(response, isOurs ? error.status : 500, errorPage('The login did not work', sentence), close);
    }
  });
  server.on('error', problem);
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { issuer, close };
}

exports.startServer = startServer;

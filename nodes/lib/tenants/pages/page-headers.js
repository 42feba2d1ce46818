'use strict';
// The headers of requests and answers between a browser and the pages of a tenant (RFC 9110, section 7.6).

const { isLink } = require('../../base/request-origin');
const { HEADER } = require('../common/front-header');

/** Headers of one connection, which a proxy does not pass on. */
const OF_CONNECTION = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade'
];
/** What the gateway itself says of the client, and the password, which is not the tenant's business. */
const OWN = [
  'authorization',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-seganet-user',
  HEADER
];
const DOMAIN = /;\s*domain\s*=[^;]*/gi;

/**
 * @typedef {import('node:http').IncomingMessage} Message
 * @typedef {{ user: string, isTls: boolean }} Client user: without the name of the tenant
 */

/**
 * Returns the headers with which a request goes on to the tenant. For the tenant, its own address is that of the page:
 * a gateway without a password answers only to that (DNS rebinding).
 * @param {Message} request
 * @param {Client} client
 * @param {string} address host:port of the tenant
 * @returns {Record<string, string | string[]>}
 */
function requestHeaders(request, { user, isTls }, address) {
  const { host = '', origin } = request.headers;
  const isOwn = origin !== undefined && hostOf(origin) === host.toLowerCase();
  return {
    ...kept(request, [...OF_CONNECTION, ...OWN]),
    host: address,
    ...(isOwn && { origin: `http://${address}` }),
    // The user has a login here. So other sites may link to all pages of the tenant, as if the user typed the address.
    ...(isLink(request.headers) && { 'sec-fetch-site': 'none' }),
    // Node.js would send the body of a GET without its length, and the tenant would read it as a request.
    ...(request.headers['transfer-encoding'] && { 'transfer-encoding': 'chunked' }),
    'x-forwarded-for': request.socket.remoteAddress ?? '',
    'x-forwarded-host': host,
    'x-forwarded-proto': isTls ? 'https' : 'http',
    'x-seganet-user': encodeURIComponent(user)
  };
}

/**
 * Returns the headers with which an answer of the tenant goes on to the browser.
 * @param {Message} answer
 * @returns {Record<string, string | string[]>}
 */
function answerHeaders(answer) {
  const headers = kept(answer, OF_CONNECTION);
  const cookies = headers['set-cookie'];
  // A cookie for a whole domain would reach the pages of other tenants.
  if (cookies) headers['set-cookie'] = [cookies].flat().map((cookie) => cookie.replace(DOMAIN, ''));
  return headers;
}

/** @param {Message} message @param {string[]} without @returns {Record<string, string | string[]>} */
function kept(message, without) {
  const named = (message.headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  const left = new Set([...without, ...named.filter((name) => name !== 'content-length' && name !== 'host')]);
  /** @type {Record<string, string | string[]>} */
  const headers = {};
  for (const [name, values = []] of Object.entries(message.headersDistinct)) {
    if (!left.has(name)) headers[name] = values.length === 1 ? values[0] : values;
  }
  return headers;
}

/** @param {string} origin @returns {string} '' = none */
function hostOf(origin) {
  try {
    return new URL(origin).host;
  } catch {
    return '';
  }
}

module.exports = { requestHeaders, answerHeaders };

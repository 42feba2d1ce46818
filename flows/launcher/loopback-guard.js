'use strict';

// Protects an editor and "http in" nodes without a password from web pages. Only this machine can connect to them, but
// so can a browser on this machine on behalf of any page: a page whose name is made to resolve to 127.0.0.1 (DNS
// rebinding), a page that opens the editor's WebSocket, to which browsers apply no same-origin rule, or a page with an
// image whose address is that of an "http in" node. Headers of their requests reveal all three.

const { isLoopback } = require('../../nodes/lib/base/loopback');
const { isFromHere, isLink } = require('../../nodes/lib/base/request-origin');

/** The editor and the pages of this package, to which other sites may link. They change nothing by themselves. */
const PAGES = /^\/(seganet(\/([a-z-]+\.html)?)?)?$/;

/**
 * @param {import('http').IncomingMessage} request
 * @returns {boolean} true if it was sent to a loopback name, without a page, by a page of the editor itself, or by a
 *   link to a page
 */
function isOwnRequest({ headers, method, url = '' }) {
  const { host } = headers;
  if (!host || !isLoopback(nameOf(`http://${host}`))) return false;
  if (isFromHere(headers, (origin) => origin === `http://${host}`)) return true;
  return method === 'GET' && isLink(headers) && PAGES.test(url.split('?')[0]);
}

/** @param {string} url */
function nameOf(url) {
  try {
    return new URL(url).hostname;
  } catch {
    return '';
  }
}

/**
 * Express middleware for the admin API and "http in" nodes.
 * @param {import('http').IncomingMessage} request
 * @param {import('http').ServerResponse} response
 * @param {() => void} next
 */
function guardRequests(request, response, next) {
  if (isOwnRequest(request)) return next();
  response.writeHead(403, { 'content-type': 'text/plain' });
  response.end(
    'This gateway has no password and answers only to http://127.0.0.1 or http://localhost, and to no page of another site.\n'
  );
}

/** The same for WebSockets, which do not pass through Express. @param {import('http').Server} server */
function guardUpgrades(server) {
  server.prependListener('upgrade', (request, socket) => {
    if (!isOwnRequest(request)) socket.destroy();
  });
}

module.exports = { isOwnRequest, guardRequests, guardUpgrades };

'use strict';

// Protects an editor and "http in" nodes without a password from web pages. Only this machine can connect to them, but
// so can a browser on this machine on behalf of any page: a page whose name is made to resolve to 127.0.0.1 (DNS
// rebinding), or a page that opens the editor's WebSocket, to which browsers apply no same-origin rule. The names in
// their requests reveal both.

const { isLoopback } = require('../../nodes/lib/base/loopback');

/**
 * @param {import('http').IncomingMessage} request
 * @returns {boolean} true if it was sent to a loopback name, without a page or by a page of the editor itself
 */
function isOwnRequest(request) {
  const { host, origin } = request.headers;
  if (!host || !isLoopback(nameOf(`http://${host}`))) return false;
  return origin === undefined || origin === `http://${host}`;
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
  response.end('This gateway has no password and answers only to http://127.0.0.1 or http://localhost.\n');
}

/** The same for WebSockets, which do not pass through Express. @param {import('http').Server} server */
function guardUpgrades(server) {
  server.prependListener('upgrade', (request, socket) => {
    if (!isOwnRequest(request)) socket.destroy();
  });
}

module.exports = { isOwnRequest, guardRequests, guardUpgrades };

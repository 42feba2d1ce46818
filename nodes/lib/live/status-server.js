'use strict';
// The status page on a port of its own: an HTTP server that passes only the requests of the page, of health checks and
// of Prometheus to Node-RED's server, which checks the login as it does for the editor. The editor and the rest of the
// admin API cannot be reached here.

const http = require('node:http');
const https = require('node:https');
const { isLoopback } = require('../base/loopback');
const { openPort } = require('../base/open-port');
const { isFromHere, isLink } = require('../base/request-origin');

/** Open connections; one more is closed at once. The live stream alone has up to 16. */
const MAX_CONNECTIONS = 64;
/** Time for a whole request, and for its head, ms. A client that sends slower gets 408. */
const REQUEST_MS = 15000;
const HEAD_MS = 10000;
const CHECK_MS = 2000;
/** A connection on which nothing moves for this long ends, ms. The live stream sends once a second. */
const IDLE_MS = 60000;
const MAX_HEAD_BYTES = 16 << 10;
const MAX_BODY_BYTES = 64 << 10;
/** Logins that are checked at the same time. Each costs a tenth of a second of processor time. */
const MAX_LOGINS = 2;

/** Paths below the root of the admin API, by method. */
const GET =
  /^(seganet\/?|seganet\/(live|values(\/stream)?|topics|texts\.json|[a-z-]+\.(html|css|mjs)|engines\/[^/]+\/dead-letters|events|audit|logins|demand|shadow|healthz|readyz|metrics|overlay-services(\/(policy|audit))?|directory(\/[^/]+\/(things|q))?)|auth\/login)$/;
const POST =
  /^(seganet\/engines\/[^/]+\/dead-letters|seganet\/events\/\d+\/acknowledge|seganet\/logins\/(add|revoke)|seganet\/demand|seganet\/shadow|seganet\/overlay-services\/(invite|withdraw|revoke|resume|policy(\/review)?)|seganet\/ocf\/[^/]+\/(codes|delete)|seganet\/tenants\/[^/]+\/(wake|sleep|backup|logs|add|remove|rollout)|auth\/token)$/;
const DELETE = /^seganet\/(demand|shadow)\/[^/]+$/;
/** Of these, the pages, to which other sites may link. They change nothing by themselves. */
const PAGES = /^seganet(\/([a-z-]+\.html)?)?$/;

/**
 * @typedef {object} StatusServerOptions
 * @property {string} host
 * @property {number} port 0 = any free one
 * @property {string} root of the admin API, begins and ends with /
 * @property {boolean} hasLogin
 * @property {import('node:https').ServerOptions | null} tls null = plain HTTP
 * @property {(request: http.IncomingMessage, response: http.ServerResponse) => void} pass gets the requests of the page
 */

class StatusServer {
  #options;
  #server;
  #logins = 0;

  /**
   * @param {StatusServerOptions} options
   * @throws {Error} with a sentence if the page would be open to the network without a login
   */
  constructor(options) {
    const { host, hasLogin, tls } = options;
    if (!hasLogin && !isLoopback(host)) {
      throw new Error(
        `The status page would be open to the network at ${host} without a login. Set a login for the editor (adminAuth), or use 127.0.0.1.`
      );
    }
    this.#options = options;
    const limits = {
      requestTimeout: REQUEST_MS,
      headersTimeout: HEAD_MS,
      connectionsCheckingInterval: CHECK_MS,
      maxHeaderSize: MAX_HEAD_BYTES
    };
    const answer = (
      /** @type {http.IncomingMessage} */ request,
      /** @type {http.ServerResponse} */ response
    ) => this.#answer(request, response);
    this.#server = tls
      ? https.createServer({ ...tls, ...limits }, answer)
      : http.createServer(limits, answer);
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.setTimeout(IDLE_MS);
    // A handshake that does not end is no request yet.
    if (tls) /** @type {any} */ (this.#server).handshakeTimeout = HEAD_MS;
  }

  /** @returns {Promise<number>} the port; rejects if it cannot be opened */
  open() {
    return openPort(this.#server, this.#options);
  }

  close() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** @param {http.IncomingMessage} request @param {http.ServerResponse} response */
  #answer(request, response) {
    const { root, hasLogin, pass } = this.#options;
    const [path] = (request.url ?? '').split('?');
    const { method = '' } = request;
    const below = path.startsWith(root) ? path.slice(root.length) : '';
    const isPage = method === 'GET' && (path === '/' || PAGES.test(below));
    if (!hasLogin && !isOwn(request, isPage))
      return refuse(
        response,
        403,
        'Only http://127.0.0.1 and http://localhost, and no page of another site.'
      );
    if (path === '/' && root !== '/seganet/') {
      response.writeHead(302, { location: `${root}seganet/` });
      return response.end();
    }
    const isRead = ['GET', 'HEAD'].includes(method);
    const isChange = (method === 'POST' && POST.test(below)) || (method === 'DELETE' && DELETE.test(below));
    if (!(isRead ? GET.test(below) : isChange))
      return refuse(response, 404, 'Only the status page, metrics and health checks are here.');
    if (isRead) return pass(request, response);
    // A DELETE has no body.
    const { 'content-length': given, 'transfer-encoding': coding } = request.headers;
    const length = Number(given ?? (method === 'DELETE' && !coding ? 0 : NaN));
    if (!(length <= MAX_BODY_BYTES))
      return refuse(response, 413, 'The body is too long, or of unknown length.');
    if (below === 'auth/token') {
      if (this.#logins >= MAX_LOGINS) return refuse(response, 429, 'Too many logins at the same time.');
      this.#logins++;
      response.once('close', () => this.#logins--);
    }
    pass(request, response);
  }
}

/**
 * Returns whether a request was sent to a loopback name, by no page, by a page from here, or by a link to a page.
 * Without a login, this keeps out pages of other sites, also those whose name resolves to 127.0.0.1.
 * @param {http.IncomingMessage} request
 * @param {boolean} isPage
 */
function isOwn({ headers }, isPage) {
  const { host = '' } = headers;
  try {
    if (!isLoopback(new URL(`http://${host}`).hostname)) return false;
    return isFromHere(headers, (origin) => new URL(origin).host === host) || (isPage && isLink(headers));
  } catch {
    return false;
  }
}

/** @param {http.ServerResponse} response @param {number} status @param {string} sentence */
function refuse(response, status, sentence) {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
  response.end(`${sentence}\n`);
}

module.exports = { StatusServer, MAX_CONNECTIONS, MAX_LOGINS, MAX_BODY_BYTES };

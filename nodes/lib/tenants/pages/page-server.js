'use strict';
// The pages of all tenants on one port: a user logs in, the tenant is woken if it sleeps, and the request goes on to
// its HTTP server, or a WebSocket to it. No body is read before that: it waits in the kernel.

const http = require('node:http');
const https = require('node:https');
const net = require('node:net');
const { isLoopback } = require('../../base/loopback');
const { openPort } = require('../../base/open-port');
const { watchTlsFiles } = require('../../base/tls-files');
const { requestHeaders, answerHeaders } = require('./page-headers');
const { HEADER } = require('../common/front-header');
const { HeldLeases } = require('../keeper/held-leases');
const { whoIs } = require('./page-login');

/** Open connections; one more is closed at once. */
const MAX_CONNECTIONS = 1024;
/** Requests that wait for their tenants: in total, and of one tenant. */
const MAX_WAITING = 256;
const MAX_WAITING_OF_TENANT = 64;
/** Open requests and WebSockets of one tenant, so that its users cannot take all connections. */
const MAX_OPEN_OF_TENANT = 256;
/** Longest wait for a tenant that sleeps; then 503 with Retry-After, and the tenant goes on starting. */
const HOLD_MS = 10000;
/** Longest time from a request to the head of its answer. */
const ANSWER_MS = 120000;
const HEAD_MS = 10000;
const CHECK_MS = 2000;
const MAX_HEAD_BYTES = 16 << 10;
const KEEP_ALIVE_MS = 60000;
const RETRY_S = 5;

/**
 * @typedef {import('node:http').IncomingMessage} Request
 * @typedef {import('./page-login').Refusal} Refusal
 * @typedef {import('../keeper/held-leases').Hold} Hold
 *
 * @typedef {object} PageServerOptions
 * @property {string} host
 * @property {number} port 0 = any free one
 * @property {import('../../sources/http/http-server').Tls | null} tls null = plain HTTP, on a loopback address only
 * @property {import('./page-login').Verifier} verifier
 * @property {import('../keeper/held-leases').Keeper} keeper
 * @property {(tenant: string) => number} pagesOf port of the tenant's HTTP server, 0 = it has none
 * @property {(sentence: string) => void} warn
 * @property {number} [holdMs]
 */

class PageServer {
  #options;
  #server;
  #leases;
  /** Waiting requests by tenant. @type {Map<string, number>} */
  #waiting;
  #closing;
  /** Of WebSockets, which the HTTP server no longer knows. @type {Set<import('node:stream').Duplex>} */
  #sockets;
  /** Who each of them, and each request, is of. @type {Map<import('node:stream').Writable, string>} */
  #users;
  #files;

  /**
   * @param {PageServerOptions} options
   * @throws {Error} with a sentence if passwords would cross the network in the clear
   */
  constructor(options) {
    const { host, tls } = options;
    if (!tls && !isLoopback(host)) {
      throw new Error(
        `The passwords of the tenants' pages would cross the network in the clear at ${host}. Choose a TLS configuration, or use 127.0.0.1.`
      );
    }
    this.#options = options;
    this.#leases = new HeldLeases(options.keeper, options.warn);
    this.#waiting = new Map();
    this.#closing = new AbortController();
    this.#sockets = new Set();
    this.#users = new Map();
    this.counts = { passed: 0, refused: 0, failed: 0 };
    const limits = {
      headersTimeout: HEAD_MS,
      requestTimeout: 0, // the tenant's own limit
      connectionsCheckingInterval: CHECK_MS,
      maxHeaderSize: MAX_HEAD_BYTES
    };
    this.#files = tls?.files ? watchTlsFiles(tls.files) : null;
    const server = tls
      ? https.createServer({ ...tls.options, ...this.#files?.read(), ...limits })
      : http.createServer(limits);
    server.maxConnections = MAX_CONNECTIONS;
    if (tls) /** @type {any} */ (server).handshakeTimeout = HEAD_MS;
    server.on('connection', (socket) => socket.setKeepAlive(true, KEEP_ALIVE_MS));
    const answer = (/** @type {Request} */ request, /** @type {http.ServerResponse} */ response) =>
      void this.#answer(request, response).catch((error) => this.#onFault(error, response));
    server.on('request', answer);
    server.on('checkContinue', answer);
    server.on('upgrade', (request, socket, head) => {
      void this.#upgrade(request, socket, head).catch((error) => this.#onFault(error, socket));
    });
    this.#server = server;
  }

  /** @returns {Promise<number>} the port; rejects if it cannot be opened */
  open() {
    return openPort(this.#server, this.#options);
  }

  /** Ends all connections, and gives the leases back. */
  async close() {
    this.#closing.abort(new Error('The gateway ends.'));
    this.#server.close();
    this.#server.closeAllConnections();
    for (const socket of this.#sockets) socket.destroy();
    await this.#leases.close();
  }

  /**
   * Ends the requests and the WebSockets of a user.
   * @param {string} name such as acme/alice
   * @returns {number} how many
   */
  endUser(name) {
    const own = [...this.#users].filter(([, user]) => user === name);
    for (const [client] of own) client.destroy();
    return own.length;
  }

  /** Uses renewed certificates for new connections. Call it several times a minute. */
  async refresh() {
    const { tls, warn } = this.#options;
    try {
      if (!this.#files || !(await this.#files.haveChanged())) return;
      const server = /** @type {https.Server} */ (this.#server);
      server.setSecureContext({ ...tls?.options, ...this.#files.read() });
    } catch (error) {
      warn(`${/** @type {Error} */ (error).message} The previous version stays in use.`);
    }
  }

  /** @param {Error} error of this program @param {import('node:stream').Writable} client */
  #onFault(error, client) {
    this.counts.failed++;
    this.#options.warn(`A request for a page of a tenant failed: ${error.message}`);
    client.destroy();
  }

  /** Open WebSockets, and connections that asked for one. */
  get connections() {
    return this.#sockets.size;
  }

  get figures() {
    let waiting = 0;
    for (const count of this.#waiting.values()) waiting += count;
    return { ...this.counts, waiting, awake: this.#leases.size };
  }

  /** @param {Request} request @param {http.ServerResponse} response */
  async #answer(request, response) {
    const abort = new AbortController();
    response.once('close', () => abort.abort(new Error('The client has gone.')));
    const { refusal, hold, user, port } = await this.#admit(request, response, abort);
    if (!hold) {
      if (!response.destroyed) refuse(response, refusal);
      return;
    }
    response.once('close', hold.release);
    if (request.headers.expect) response.writeContinue();
    const forward = this.#forward(request, { hold, port, user });
    const fail = (/** @type {Refusal} */ why) => {
      this.counts.failed++;
      forward.destroy();
      if (response.headersSent || response.destroyed) response.destroy();
      else refuse(response, why);
    };
    forward.setTimeout(
      ANSWER_MS,
      () => response.headersSent || fail({ status: 504, sentence: 'The tenant did not answer in time.' })
    );
    forward.on('error', () => fail({ status: 502, sentence: 'The tenant ended the connection.' }));
    forward.on('response', (answer) => {
      answer.on('error', () => response.destroy());
      try {
        // Without the tenant's phrase, which may have characters that Node.js refuses to send.
        response.writeHead(answer.statusCode ?? 502, answerHeaders(answer));
      } catch {
        return fail({ status: 502, sentence: 'The answer of the tenant is not valid.' });
      }
      this.counts.passed++;
      answer.pipe(response);
    });
    // Also after a 101 that nobody asked for.
    forward.once('close', () => {
      if (!response.headersSent && !response.destroyed)
        fail({ status: 502, sentence: 'The tenant ended the connection.' });
    });
    response.once('close', () => forward.destroy());
    request.on('error', () => forward.destroy());
    request.pipe(forward);
  }

  /** @param {Request} request @param {import('node:stream').Duplex} socket @param {Buffer} head */
  async #upgrade(request, socket, head) {
    const abort = new AbortController();
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      abort.abort(new Error('The client has gone.'));
    });
    socket.on('error', () => socket.destroy());
    const { refusal, hold, user, port } = await this.#admit(request, socket, abort);
    const refuseSocket = (/** @type {Refusal} */ why) =>
      void socket.end(rawRefusal(why), () => socket.destroy());
    if (!hold) return refuseSocket(refusal);
    socket.once('close', hold.release);
    const forward = this.#forward(
      request,
      { hold, port, user },
      { connection: 'upgrade', upgrade: request.headers.upgrade ?? '' }
    );
    const fail = () => {
      this.counts.failed++;
      refuseSocket({ status: 502, sentence: 'The tenant ended the connection.' });
    };
    forward.setTimeout(ANSWER_MS, () => forward.destroy(new Error('The tenant did not answer.')));
    forward.on('error', fail);
    forward.on('response', (answer) => {
      // The tenant does not want to change the protocol.
      answer.resume();
      refuseSocket({ status: answer.statusCode ?? 502, sentence: 'The tenant refused the WebSocket.' });
    });
    forward.on('upgrade', (answer, stream, first) => {
      this.counts.passed++;
      forward.setTimeout(0);
      stream.setTimeout(0);
      forward.off('error', fail);
      stream.on('error', () => socket.destroy());
      stream.once('close', () => socket.destroy());
      socket.once('close', () => stream.destroy());
      socket.write(
        rawHead(101, 'Switching Protocols', {
          ...answerHeaders(answer),
          connection: 'Upgrade',
          upgrade: answer.headers.upgrade ?? ''
        })
      );
      socket.write(first);
      stream.write(head);
      stream.pipe(socket).pipe(stream);
    });
    socket.once('close', () => forward.destroy());
    forward.end();
  }

  /**
   * Checks who asks, and wakes the tenant.
   * @param {Request} request
   * @param {http.ServerResponse | import('node:stream').Duplex} client
   * @param {AbortController} abort of the connection
   * @returns {Promise<{ hold: Hold | null, refusal: Refusal, user: string, port: number }>}
   */
  async #admit(request, client, abort) {
    const refusal = (/** @type {Refusal} */ why) => {
      this.counts.refused++;
      return { hold: null, refusal: why, user: '', port: 0 };
    };
    if (!request.url?.startsWith('/'))
      return refusal({ status: 400, sentence: 'The path must begin with /.' });
    const guest = await whoIs(request, this.#options.verifier);
    if ('status' in guest) return refusal(guest);
    const { tenant, user } = guest;
    if (!client.destroyed) {
      this.#users.set(client, `${tenant}/${user}`);
      client.once('close', () => this.#users.delete(client));
    }
    const port = this.#options.pagesOf(tenant);
    if (port === 0) return refusal({ status: 404, sentence: `${tenant} has no pages.` });
    const waiting = this.#waiting.get(tenant) ?? 0;
    if (waiting >= MAX_WAITING_OF_TENANT || this.figures.waiting >= MAX_WAITING) {
      return refusal(later('Too many requests wait for tenants.'));
    }
    if (this.#leases.usersOf(tenant) >= MAX_OPEN_OF_TENANT) {
      return refusal(later('Too many requests of this tenant are open.'));
    }
    this.#waiting.set(tenant, waiting + 1);
    const timer = setTimeout(() => abort.abort(new Error('too late')), this.#options.holdMs ?? HOLD_MS);
    const end = () => abort.abort(this.#closing.signal.reason);
    this.#closing.signal.addEventListener('abort', end);
    try {
      const hold = await this.#leases.hold(tenant, abort.signal);
      return { hold, refusal: { status: 0, sentence: '' }, user, port };
    } catch (error) {
      const { retryMs = 0 } = /** @type {{ retryMs?: number }} */ (error);
      return refusal(later(`${tenant} is not ready yet.`, retryMs));
    } finally {
      clearTimeout(timer);
      this.#closing.signal.removeEventListener('abort', end);
      const left = (this.#waiting.get(tenant) ?? 1) - 1;
      if (left > 0) this.#waiting.set(tenant, left);
      else this.#waiting.delete(tenant);
    }
  }

  /**
   * @param {Request} request
   * @param {{ hold: Hold, port: number, user: string }} to
   * @param {Record<string, string>} [more] headers
   */
  #forward(request, { hold: { host, password, agent }, port, user }, more = {}) {
    const isTls = this.#options.tls !== null;
    const { method, url: path } = request;
    const headers = {
      ...requestHeaders(request, { user, isTls }, net.isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`),
      // A web server that others could reach, too, asks who it is.
      ...(password !== '' && !isLoopback(host) && { [HEADER]: password }),
      ...more
    };
    return http.request({ host, port, method, path, headers, agent: more.upgrade ? false : agent });
  }
}

/** @param {string} sentence @param {number} [retryMs] @returns {Refusal} */
function later(sentence, retryMs = 0) {
  return { status: 503, sentence, headers: { 'retry-after': String(Math.ceil(retryMs / 1000) || RETRY_S) } };
}

/** @param {http.ServerResponse} response @param {Refusal} refusal */
function refuse(response, { status, sentence, headers }) {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', connection: 'close', ...headers }); // prettier-ignore
  response.end(`${sentence}\n`);
}

/** @param {Refusal} refusal */
function rawRefusal({ status, sentence, headers }) {
  const body = `${sentence}\n`;
  const length = String(Buffer.byteLength(body));
  const all = {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': length,
    connection: 'close',
    ...headers
  };
  return `${rawHead(status, http.STATUS_CODES[status] ?? '', all)}${body}`;
}

/** @param {number} status @param {string} message @param {Record<string, string | string[]>} headers */
function rawHead(status, message, headers) {
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}\r\n`)
  );
  return `HTTP/1.1 ${status} ${message}\r\n${lines.join('')}\r\n`;
}

module.exports = { PageServer, MAX_WAITING, MAX_WAITING_OF_TENANT };

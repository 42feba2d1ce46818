'use strict';
// The listener of an http devices node: a Node.js server with a limit on every resource that a client can hold.

const http = require('node:http');
const https = require('node:https');
const { watchTlsFiles } = require('../../base/tls-files');
const { Connections } = require('./connections');

const MAX_HEADER_BYTES = 16384;
const MAX_HEADERS = 64;
const CHECK_MS = 1000;
const FILES_EVERY_MS = 10000;
/** Lingering close: how long, and how much, a refused client may continue to send, so that it receives the response. */
const LINGER_MS = 500;
const LINGER_BYTES = 1024 * 1024;
/** @type {Record<string, string>} */
const BROKEN = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large'
};

/**
 * @typedef {import('node:http').IncomingMessage} Request
 * @typedef {import('node:http').ServerResponse} Response
 *
 * @typedef {object} Tls
 * @property {import('node:tls').SecureContextOptions} options
 * @property {import('../../settings/uplink-options').TlsFiles} [files] read again when they change
 */

/**
 * @typedef {Pick<import('./http-options').Settings, 'host' | 'port' | 'maxConnections' | 'headerTimeoutS' |
 *   'bodyTimeoutS' | 'keepAliveS'>} Settings
 * @typedef {object} Requests
 * @property {(request: Request, goOn?: () => void) => Promise<import('./request-handler').Answer>} answer
 * @property {boolean} ending true while the engine or the node closes
 */

class HttpServer {
  #settings;
  #requests;
  #tls;
  #onError;
  #files;
  #filesAt;
  /** @type {http.Server | https.Server | null} */
  #server;

  /**
   * @param {Settings} settings
   * @param {Requests} requests
   * @param {Tls | null} tls
   * @param {(error: Error) => void} onError gets errors that a client did not cause
   */
  constructor(settings, requests, tls, onError) {
    this.#settings = settings;
    this.#requests = requests;
    this.#tls = tls;
    this.#onError = onError;
    this.connections = new Connections(settings.maxConnections);
    this.#files = tls?.files ? watchTlsFiles(tls.files) : null;
    this.#filesAt = 0;
    this.broken = 0;
    this.#server = null;
  }

  /** @returns {number} 0 = not listening */
  get port() {
    const address = this.#server?.listening ? this.#server.address() : null;
    return address && typeof address === 'object' ? address.port : 0;
  }

  /** @returns {Promise<void>} rejects with the system's error code, or an error about the certificate */
  async listen() {
    const settings = this.#settings;
    const server = this.#make();
    await new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(settings.port, settings.host, () => {
        server.off('error', reject);
        resolve(undefined);
      });
    });
    server.on('error', this.#onError);
    this.#server = server;
  }

  #make() {
    const { headerTimeoutS, bodyTimeoutS, keepAliveS } = this.#settings;
    const options = {
      headersTimeout: headerTimeoutS * 1000,
      requestTimeout: bodyTimeoutS * 1000,
      keepAliveTimeout: keepAliveS * 1000,
      connectionsCheckingInterval: CHECK_MS,
      maxHeaderSize: MAX_HEADER_BYTES
    };
    const server = this.#tls
      ? https.createServer({
          ...options,
          ...this.#tls.options,
          ...this.#files?.read(),
          handshakeTimeout: headerTimeoutS * 1000
        })
      : http.createServer(options);
    server.maxHeadersCount = MAX_HEADERS;
    server.on('connection', (socket) => this.connections.add(socket));
    server.on('request', (request, response) => this.#serve(request, response));
    server.on('checkContinue', (request, response) =>
      this.#serve(request, response, () => response.writeContinue())
    );
    server.on('clientError', (error, socket) => this.#onBroken(error, /** @type {any} */ (socket)));
    server.on('tlsClientError', () => void this.broken++);
    return server;
  }

  /**
   * Uses renewed certificates for new connections.
   * @param {number} now ms
   */
  async refresh(now) {
    if (!this.#files || !this.#server || now - this.#filesAt < FILES_EVERY_MS) return;
    this.#filesAt = now;
    if (!(await this.#files.haveChanged())) return;
    const server = /** @type {https.Server} */ (this.#server);
    server?.setSecureContext({ .../** @type {Tls} */ (this.#tls).options, ...this.#files.read() });
  }

  /**
   * Accepts no more requests. Open requests are answered while there is time.
   * @param {number} timeoutMs
   */
  async close(timeoutMs) {
    this.#requests.ending = true;
    const server = this.#server;
    this.#server = null;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(() => resolve(undefined)));
    server.closeIdleConnections();
    const timer = setTimeout(() => this.connections.endAll(), timeoutMs);
    await closed;
    clearTimeout(timer);
  }

  /** @param {Request} request @param {Response} response @param {() => void} [goOn] */
  async #serve(request, response, goOn) {
    const { socket } = request;
    this.connections.count(socket, 1);
    response.once('close', () => this.connections.count(socket, -1));
    response.on('error', () => {});
    try {
      this.#send(request, response, await this.#requests.answer(request, goOn));
    } catch (error) {
      this.#onError(/** @type {Error} */ (error));
      this.#send(request, response, {
        status: 500,
        headers: {},
        body: { error: 'Internal error in the gateway.' }
      });
    }
  }

  /**
   * @param {Request} request
   * @param {Response} response
   * @param {import('./request-handler').Answer} answer
   */
  #send(request, response, { status, headers, body, bytes, stream }) {
    if (response.destroyed) return;
    const content = body ? Buffer.from(`${JSON.stringify(body)}\n`) : bytes;
    response.sendDate = false;
    const isWhole = request.complete;
    if (!isWhole || this.#requests.ending) response.shouldKeepAlive = false;
    response.writeHead(status, {
      ...headers,
      ...(body && { 'Content-Type': 'application/json' }),
      ...(content && { 'Content-Length': content.length })
    });
    if (stream) return stream(response);
    if (isWhole || request.destroyed) return void response.end(content);
    if (content) response.write(content);
    linger(request, () => response.end());
  }

  /**
   * @param {NodeJS.ErrnoException} error
   * @param {import('node:net').Socket & { _httpMessage?: { headersSent: boolean } }} socket
   */
  #onBroken({ code = '' }, socket) {
    this.broken++;
    if (code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent) {
      return void socket.destroy();
    }
    const status = BROKEN[code] ?? '400 Bad Request';
    socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () =>
      socket.destroy()
    );
  }
}

/**
 * Lingering close: reads for a short time before the connection closes. Closing with unread bytes resets the
 * connection, and the client may lose the response.
 * @param {Request} request
 * @param {() => void} end called once
 */
function linger(request, end) {
  let left = LINGER_BYTES;
  let isOver = false;
  const stop = () => {
    clearTimeout(timer);
    if (!isOver) end();
    isOver = true;
  };
  const timer = setTimeout(stop, LINGER_MS);
  request.on('data', (chunk) => (left -= chunk.length) < 0 && stop());
  for (const event of ['end', 'close', 'error']) request.once(event, stop);
  request.resume();
}

exports.HttpServer = HttpServer;

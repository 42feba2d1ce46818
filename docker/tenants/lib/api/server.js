'use strict';
// The keeper's socket: HTTP/1.1 with JSON on a Unix socket that only this user can open.

const fs = require('node:fs');
const http = require('node:http');
const { CliError, TenantError, messageOf } = require('../base/errors');
const { readBody } = require('./body');
const { routeOf } = require('./routes');

/** @typedef {import('./routes').Served} Served */

/** Time in which a request must be complete, ms. Its answer may take longer. */
const REQUEST_MS = 10_000;
const MAX_CONNECTIONS = 256;
const MAX_HEADER_BYTES = 8 << 10;
/** Event streams at once, and what may wait in one before it is closed. */
const MAX_STREAMS = 32;
const MAX_WAITING_BYTES = 1 << 20;

/** @type {Record<import('../base/errors').Code, number>} */
const STATUS = {
  ...{ unknown: 404, leased: 409, gone: 410, invalid: 400, failed: 503, busy: 503, engine: 503 },
  ...{ taken: 409, limit: 409, full: 507 }
};

class ApiServer {
  #served;
  #report;
  /** @type {Set<http.ServerResponse>} */
  #streams = new Set();
  #server;

  /**
   * @param {Served} served
   * @param {{ report: (sentence: string) => void }} options report gets errors of this program
   */
  constructor(served, { report }) {
    this.#served = served;
    this.#report = report;
    const limits = {
      requestTimeout: REQUEST_MS,
      headersTimeout: REQUEST_MS,
      maxHeaderSize: MAX_HEADER_BYTES
    };
    // Node checks the limits above only at this interval: every half second.
    this.#server = http.createServer({ ...limits, connectionsCheckingInterval: 500 }, (request, response) => {
      void this.#handle(request, response);
    });
    this.#server.maxConnections = MAX_CONNECTIONS;
    served.keeper.on('event', (event) => this.#tell(event));
  }

  /**
   * Opens the socket. The caller has made sure that no other keeper runs.
   * @param {string} file
   */
  async open(file) {
    try {
      fs.rmSync(file, { force: true });
      const before = process.umask(0o177);
      try {
        await new Promise((resolve, reject) => {
          this.#server.once('error', reject);
          this.#server.listen(file, () => resolve(undefined));
        });
      } finally {
        process.umask(before);
      }
      fs.chmodSync(file, 0o600);
    } catch (error) {
      throw new CliError(`The socket ${file} cannot be opened: ${messageOf(error)}.`);
    }
    this.#server.on('error', (error) => this.#report(messageOf(error)));
  }

  async close() {
    for (const stream of this.#streams) stream.end();
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  /** @param {http.IncomingMessage} request @param {http.ServerResponse} response */
  async #handle(request, response) {
    try {
      const url = URL.parse(request.url ?? '', 'http://keeper');
      if (!url) throw new TenantError('invalid', 'The address is not valid.');
      if (url.pathname === '/v1/events' && request.method === 'GET') return this.#stream(request, response);
      const route = routeOf(url.pathname);
      if (!route) return send(response, 404, { error: 'There is no such address.', code: 'unknown' });
      const answer =
        Object.hasOwn(route.methods, request.method ?? '') && route.methods[request.method ?? ''];
      if (!answer) {
        response.setHeader('Allow', Object.keys(route.methods).join(', '));
        return send(response, 405, { error: 'This address does not know the method.', code: 'invalid' });
      }
      const body = await readBody(request);
      const gone = new AbortController();
      response.once('close', () => gone.abort());
      const value = await answer(this.#served, {
        name: route.name,
        query: url.searchParams,
        body,
        signal: gone.signal
      });
      // If the client has just left, its lease would keep the tenant awake until it expires.
      const { lease } = /** @type {{ lease?: string }} */ (value ?? {});
      if (gone.signal.aborted && lease) this.#served.keeper.release(lease);
      send(response, value === null ? 204 : 200, value);
    } catch (error) {
      this.#fail(request, response, error);
    }
  }

  /** @param {http.IncomingMessage} request @param {http.ServerResponse} response @param {unknown} error */
  #fail(request, response, error) {
    if (response.headersSent) return response.destroy();
    if (error instanceof TenantError) {
      const { code, retryMs, message } = error;
      // The rest of a body that is too long would be parsed as the next request.
      if (!request.complete) response.setHeader('Connection', 'close');
      return send(response, STATUS[code], { error: message, code, ...(retryMs > 0 && { retryMs }) });
    }
    if (request.destroyed && !request.complete) return response.destroy();
    const isTold = error instanceof CliError;
    if (!isTold) this.#report(`${request.method} ${request.url}: ${messageOf(error)}`);
    send(response, 500, { error: messageOf(error), code: 'internal' });
  }

  /** @param {http.IncomingMessage} request @param {http.ServerResponse} response */
  #stream(request, response) {
    request.resume();
    if (this.#streams.size >= MAX_STREAMS) {
      return send(response, 503, { error: 'Too many event streams are open.', code: 'busy', retryMs: 5000 });
    }
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
    response.flushHeaders();
    this.#streams.add(response);
    response.once('close', () => this.#streams.delete(response));
  }

  /** @param {object} event */
  #tell(event) {
    const line = `${JSON.stringify(event)}\n`;
    for (const stream of this.#streams) {
      // A client that does not read gets a closed stream instead of a gap.
      if (stream.writableLength > MAX_WAITING_BYTES) stream.destroy();
      else stream.write(line);
    }
  }
}

/** @param {http.ServerResponse} response @param {number} status @param {object | null} body */
function send(response, status, body) {
  if (response.destroyed) return;
  const text = body === null ? '' : JSON.stringify(body);
  response.writeHead(status, {
    'Content-Type': 'application/json',
    ...(status !== 204 && { 'Content-Length': Buffer.byteLength(text) })
  });
  response.end(text);
}

exports.ApiServer = ApiServer;

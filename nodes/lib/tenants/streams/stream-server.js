'use strict';
// A TCP service of each tenant on one port, for clients with a certificate: the organization in it is the tenant. The
// tenant is woken if it sleeps, and gets the client's bytes without TLS. Until then they wait in a buffer.

const net = require('node:net');
const tls = require('node:tls');
const { SSL_OP_NO_TICKET } = require('node:crypto').constants;
const { openPort } = require('../../base/open-port');
const { watchTlsFiles } = require('../../base/tls-files');
const { isTenant } = require('../../base/tenant-id');
const { organizationOf } = require('../../tls/certificate-name');
const { HeldLeases } = require('../keeper/held-leases');

/** Open connections; one more is closed at once. */
const MAX_CONNECTIONS = 1024;
/** Connections of one tenant, so that its clients cannot take all. */
const MAX_OF_TENANT = 256;
/** Longest wait for a tenant that sleeps. The client cannot be told to come back, as HTTP can. */
const HOLD_MS = 30000;
const CONNECT_MS = 10000;
const HANDSHAKE_MS = 10000;
const KEEP_ALIVE_MS = 60000;
/** Longest time for the last bytes to one end when the other one has gone. */
const LAST_BYTES_MS = 10000;

/**
 * @typedef {object} StreamServerOptions
 * @property {string} host
 * @property {number} port 0 = any free one
 * @property {import('../../sources/http/http-server').Tls} tls it contains the authority of the clients' certificates
 * @property {import('../keeper/held-leases').Keeper} keeper
 * @property {(tenant: string) => number} portOf the tenant's service, 0 = it has none
 * @property {(sentence: string) => void} warn
 * @property {number} [holdMs]
 * @property {number} [handshakeMs]
 */

class StreamServer {
  #options;
  #server;
  #leases;
  #files;
  #closing = new AbortController();
  /** @type {Set<net.Socket>} */
  #sockets = new Set();

  /** @param {StreamServerOptions} options */
  constructor(options) {
    this.#options = options;
    this.#leases = new HeldLeases(options.keeper, options.warn, { holder: 'streams' });
    this.counts = { passed: 0, refused: 0, failed: 0 };
    this.#files = options.tls.files ? watchTlsFiles(options.tls.files) : null;
    this.#server = tls.createServer(
      { ...this.#secrets(), handshakeTimeout: options.handshakeMs ?? HANDSHAKE_MS, allowHalfOpen: true },
      (socket) => void this.#serve(socket)
    );
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on('connection', (socket) => {
      socket.setNoDelay(true);
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('tlsClientError', (_error, socket) => {
      this.counts.refused++;
      socket.destroy();
    });
  }

  #secrets() {
    const { options } = this.#options.tls;
    return {
      ...options,
      ...this.#files?.read(),
      requestCert: true,
      rejectUnauthorized: true,
      // A resumed session would outlive a change of the authority.
      secureOptions: (options.secureOptions ?? 0) | SSL_OP_NO_TICKET
    };
  }

  /** @returns {Promise<number>} the port; rejects if it cannot be opened */
  open() {
    return openPort(this.#server, this.#options);
  }

  /** Ends all connections, and gives the leases back. */
  async close() {
    this.#closing.abort(new Error('The gateway ends.'));
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await this.#leases.close();
  }

  /** Uses renewed certificates and authorities for new connections. Call it several times a minute. */
  async refresh() {
    try {
      if (!this.#files || !(await this.#files.haveChanged())) return;
      this.#server.setSecureContext(this.#secrets());
    } catch (error) {
      this.#options.warn(`${/** @type {Error} */ (error).message} The previous version stays in use.`);
    }
  }

  get figures() {
    return { ...this.counts, connections: this.#sockets.size, awake: this.#leases.size };
  }

  /** @param {tls.TLSSocket} client whose certificate is valid */
  async #serve(client) {
    const abort = new AbortController();
    client.on('error', () => client.destroy());
    client.once('close', () => abort.abort(new Error('The client has gone.')));
    // Reads up to a buffer, so that a reset is noticed. An end is not: the client may wait for an answer.
    client.read(0);
    const end = () => abort.abort(this.#closing.signal.reason);
    this.#closing.signal.addEventListener('abort', end);
    const timer = setTimeout(end, this.#options.holdMs ?? HOLD_MS);
    try {
      const { tenant, port } = this.#admit(client);
      const { host, release } = await this.#leases.hold(tenant, abort.signal);
      client.once('close', release);
      const service = await connected(host, port, abort.signal);
      this.counts.passed++;
      splice(client, service);
    } catch (error) {
      if (error instanceof Refusal) this.counts.refused++;
      else if (!client.destroyed) this.counts.failed++;
      client.destroy();
    } finally {
      clearTimeout(timer);
      this.#closing.signal.removeEventListener('abort', end);
    }
  }

  /**
   * @param {tls.TLSSocket} client
   * @returns {{ tenant: string, port: number }} of its service
   * @throws {Refusal}
   */
  #admit(client) {
    const certificate = client.getPeerX509Certificate();
    const tenant = certificate ? organizationOf(certificate) : '';
    const port = isTenant(tenant) ? this.#options.portOf(tenant) : 0;
    if (port === 0 || this.#leases.usersOf(tenant) >= MAX_OF_TENANT) throw new Refusal();
    return { tenant, port };
  }
}

/** The client has no tenant with a service, or the tenant has too many connections. */
class Refusal extends Error {}

/**
 * @param {string} host
 * @param {number} port
 * @param {AbortSignal} signal
 * @returns {Promise<net.Socket>}
 */
function connected(host, port, signal) {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = net.connect({ host, port, noDelay: true, keepAlive: true, allowHalfOpen: true });
    const fail = (/** @type {Error} */ error) => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    const stop = () => fail(signal.reason);
    const timer = setTimeout(() => fail(new Error('The service did not answer.')), CONNECT_MS);
    signal.addEventListener('abort', stop, { once: true });
    socket.once('error', fail);
    socket.once('connect', () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      socket.off('error', fail);
      resolve(socket);
    });
  });
}

/**
 * Passes bytes both ways, and the end of each direction.
 * @param {net.Socket} client
 * @param {net.Socket} service
 */
function splice(client, service) {
  service.on('error', () => client.destroy());
  service.once('close', () => leave(client));
  client.once('close', () => leave(service));
  if (client.destroyed) return void service.destroy();
  client.pipe(service);
  service.pipe(client);
}

/** Sends what the other end wrote last, and closes. @param {net.Socket} socket */
function leave(socket) {
  const timer = setTimeout(() => socket.destroy(), LAST_BYTES_MS).unref();
  socket.once('close', () => clearTimeout(timer));
  socket.destroySoon();
}

module.exports = { StreamServer, MAX_OF_TENANT };

'use strict';
// The port for other regions: TLS with certificates of our authorities, and a greeting as the first request.

const tls = require('node:tls');
const { connectionName } = require('../../../base/connection-name');
const { CODE, readGreeting, refusal } = require('./greeting');
const { Link } = require('./link');

/** @typedef {import('./link').Incoming} Incoming */
/** @typedef {InstanceType<typeof Link>} OpenLink */
/**
 * @typedef {object} ListenerParts
 * @property {{ host: string, port: number }} listen port 0 = any free one
 * @property {InstanceType<typeof import('./peers').LinkSecrets>} secrets
 * @property {import('./links').Limits} limits
 * @property {{ accepted: number, refused: number }} counts
 * @property {(greeting: import('./greeting').Greeting, socket: tls.TLSSocket) => import('./greeting').Reply} greeted
 *   decides about a link
 * @property {(link: OpenLink, ci: string) => void} up
 * @property {(link: OpenLink, ci: string, reason: string) => void} down
 * @property {(incoming: Incoming, ci: string) => void} asked
 * @property {(sentence: string) => void} report
 */

/** Time for the last messages of links. */
const CLOSE_MS = 1500;

class Listener {
  #parts;
  /** Connections that have not shown who they are. @type {Set<OpenLink>} */
  #unknown = new Set();
  /** Connections to the port. @type {Set<import('node:net').Socket>} */
  #sockets = new Set();
  /** Names of those that have not shown who they are. @type {Set<string>} */
  #strangers = new Set();
  /** @type {tls.Server | null} */
  #server = null;
  /** @type {NodeJS.Timeout | undefined} */
  #filesTimer;
  #isClosed = false;

  /** @param {ListenerParts} parts */
  constructor(parts) {
    this.#parts = parts;
  }

  /**
   * @returns {Promise<number>} the port
   * @throws {Error} of the system, or with a sentence
   */
  async listen() {
    const { counts, limits, listen, secrets } = this.#parts;
    const server = tls.createServer(
      {
        ...secrets.read(),
        handshakeTimeout: limits.helloMs,
        requestCert: true,
        rejectUnauthorized: true,
        ALPNProtocols: ['coap']
      },
      (socket) => this.#accept(socket)
    );
    server.on('connection', (socket) => this.#enter(socket));
    server.on('tlsClientError', (_error, socket) => {
      counts.refused++;
      socket.destroy();
    });
    await new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(listen, () => resolve(undefined));
    });
    this.#server = server;
    server.removeAllListeners('error').on('error', () => {});
    if (this.#isClosed) {
      server.close();
      return 0;
    }
    this.#filesTimer = setInterval(() => void this.#checkFiles(), limits.filesMs);
    this.#filesTimer.unref();
    return /** @type {import('node:net').AddressInfo} */ (server.address()).port;
  }

  async #checkFiles() {
    const { secrets, report } = this.#parts;
    try {
      if (await secrets.haveChanged()) this.#server?.setSecureContext(secrets.read());
    } catch (error) {
      report(`${/** @type {Error} */ (error).message} The previous version stays in use.`);
    }
  }

  /** Closes the port when all its connections have ended, which they do soon. */
  async close() {
    this.#isClosed = true;
    clearInterval(this.#filesTimer);
    for (const link of [...this.#unknown]) link.end('closing');
    const server = this.#server;
    if (!server?.listening) return;
    await new Promise((resolve) => {
      server.close(() => resolve(undefined));
      const timer = setTimeout(() => {
        for (const socket of this.#sockets) socket.destroy();
      }, CLOSE_MS);
      server.once('close', () => clearTimeout(timer));
    });
  }

  /** @param {import('node:net').Socket} socket */
  #enter(socket) {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    const name = connectionName(socket);
    this.#strangers.add(name);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#strangers.delete(name);
    });
    if (this.#strangers.size <= this.#parts.limits.mostUnknown) return;
    this.#parts.counts.refused++;
    socket.destroy();
  }

  /** A gateway with a certificate of our authorities has connected. @param {tls.TLSSocket} socket */
  #accept(socket) {
    const { asked, counts, down, limits, up } = this.#parts;
    socket.on('error', () => {});
    /** Its region, '' = it has not said. */
    let ci = '';
    const link = new Link(
      socket,
      {
        asked: (incoming) => {
          if (ci !== '') return asked(incoming, ci);
          const { code, answer } = this.#greet(incoming, socket);
          incoming.answer(code, [], Buffer.from(JSON.stringify(answer)));
          if (typeof answer.ci !== 'string' || code !== CODE.CHANGED) {
            counts.refused++;
            return link.end('refused');
          }
          clearTimeout(timer);
          this.#unknown.delete(link);
          this.#strangers.delete(connectionName(socket));
          ci = answer.peer;
          counts.accepted++;
          up(link, ci);
        },
        ended: (reason) => {
          clearTimeout(timer);
          this.#unknown.delete(link);
          if (ci !== '') down(link, ci, reason);
        }
      },
      limits.link
    );
    this.#unknown.add(link);
    const timer = setTimeout(() => link.end('refused'), limits.helloMs);
  }

  /** @param {Incoming} incoming the first request of a connection @param {tls.TLSSocket} socket */
  #greet({ message }, socket) {
    const greeting = readGreeting(message);
    if (!greeting) return refusal(CODE.BAD_REQUEST, 'The first request must be a greeting.');
    return this.#parts.greeted(greeting, socket);
  }
}

exports.Listener = Listener;

'use strict';

// Protects the editor and "http in" nodes of a tenant in a container. They have no password of their own: the front has
// checked the user. So they answer to nobody else. The front proves itself with its password for this tenant, which the
// keeper made for this start, and of which the tenant has the hash.

const crypto = require('crypto');
const { PasswordVerifier } = require('../../nodes/lib/login/password-verifier');
const { HEADER } = require('../../nodes/lib/tenants/common/front-header');

const USER = 'front';

class FrontGuard {
  #file;
  #warn;
  /** @type {PasswordVerifier | null} */
  #verifier = null;
  /** Of the password that was accepted last. @type {Buffer | null} */
  #accepted = null;
  /** A request may pass both middlewares. @type {WeakSet<import('http').IncomingMessage>} */
  #proven = new WeakSet();

  /** @param {string} file passwords of this tenant @param {(sentence: string) => void} [warn] */
  constructor(file, warn = () => {}) {
    this.#file = file;
    this.#warn = warn;
    // Express and the server call them without an object.
    this.guardRequests = this.guardRequests.bind(this);
  }

  /** Removes the password from a request, so that no flow sees it. @param {import('http').IncomingMessage} request */
  #take(request) {
    const given = String(request.headers[HEADER] ?? '');
    delete request.headers[HEADER];
    for (let i = request.rawHeaders.length - 2; i >= 0; i -= 2) {
      if (request.rawHeaders[i].toLowerCase() === HEADER) request.rawHeaders.splice(i, 2);
    }
    return given;
  }

  /** @param {string} password */
  #isAccepted(password) {
    return this.#accepted !== null && crypto.timingSafeEqual(hashOf(password), this.#accepted);
  }

  /** @param {string} password @param {string} address @returns {Promise<boolean>} */
  async #verify(password, address) {
    if (password === '') return false;
    if (this.#isAccepted(password)) return true;
    this.#verifier ??= new PasswordVerifier(this.#file, { warn: this.#warn });
    const verdict = await this.#verifier.verify(USER, Buffer.from(password), address);
    if (verdict) this.#accepted = hashOf(password);
    return Boolean(verdict);
  }

  /**
   * Express middleware for the admin API and "http in" nodes.
   * @param {import('http').IncomingMessage} request
   * @param {import('http').ServerResponse} response
   * @param {() => void} next
   */
  guardRequests(request, response, next) {
    if (this.#proven.has(request)) return next();
    const password = this.#take(request);
    const { remoteAddress = '', remotePort = 0 } = request.socket;
    const refuse = () => {
      response.writeHead(403, { 'content-type': 'text/plain' });
      response.end('This gateway is a tenant, and answers only to its front.\n');
    };
    this.#verify(password, `${remoteAddress}:${remotePort}`).then(
      (isFront) => {
        if (!isFront) return refuse();
        this.#proven.add(request);
        next();
      },
      (error) => {
        this.#warn(`The front cannot be checked: ${error.message}`);
        refuse();
      }
    );
  }

  /**
   * The same for WebSockets, which do not pass through Express. Only a password that a request has proven counts: the
   * page that opens a WebSocket was loaded before.
   * @param {import('http').Server} server
   */
  guardUpgrades(server) {
    server.prependListener('upgrade', (request, socket) => {
      const password = this.#take(request);
      if (password === '' || !this.#isAccepted(password)) socket.destroy();
    });
  }
}

/** @param {string} password */
const hashOf = (password) => crypto.createHash('sha256').update(password).digest();

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {string} the password file of a tenant that a front guards; '' = this gateway is none
 */
function passwordsOfTenant({ SEGANET_TENANT: tenant = '', SEGANET_TENANT_PASSWORDS: file = '' }) {
  return tenant === '' ? '' : file;
}

module.exports = { FrontGuard, passwordsOfTenant };

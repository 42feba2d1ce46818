'use strict';

const { EventEmitter } = require('node:events');
const net = require('node:net');
const tls = require('node:tls');
const { connectionName } = require('../base/connection-name');
const { bridge } = require('./stream-bridge');
const { NO_TENANT, idByRule } = require('../base/tenant-id');
const { deviceOf, organizationOf } = require('./certificate-name');
const { HandshakeLimit } = require('./handshake-limit');
const { amongProxies, readProxyHeader } = require('./proxy-header');
const { TlsSecrets } = require('./tls-secrets');
const { WebSocketEndpoint } = require('./web-socket-endpoint');

const KEEP_ALIVE_MS = 60000;
const MAX_REASONS = 64;
const MAX_NAME_BYTES = 512;

/**
 * @typedef {object} TlsListenerOptions can be cloned into another thread
 * @property {'tls' | 'ws' | 'wss'} transport
 * @property {string} host
 * @property {number} port 0 = any free one
 * @property {string[]} [proxies] whose connections begin with a PROXY header, see ListenOptions
 * @property {'TLSv1.2' | 'TLSv1.3'} minTls
 * @property {import('./tls-secrets').TlsContents} [tls]
 * @property {import('./tls-secrets').TlsFiles} [tlsFiles] read again when they change
 * @property {'no' | 'wanted' | 'required'} clientCert a certificate must be valid, also if it is only wanted
 * @property {'cn' | 'san'} certIdentity
 * @property {boolean} certIsLogin true: the name in the certificate is the device id; false: the device also needs a
 *   login
 * @property {import('../base/tenant-id').TenantRule} [tenant] makes the device id of a proven one; default: it stays
 * @property {boolean} [certNote] true: a request desk gets the valid certificate of a connection
 * @property {string} [pskFile] of pre-shared keys; the identity is the device id
 * @property {string[]} alpn protocols (RFC 7301); a client that offers only other protocols is refused
 * @property {import('./web-socket-endpoint').WebSocketOptions} webSocket
 * @property {number} maxConnections
 * @property {number} maxHalfOpen
 * @property {number} handshakeTimeoutMs
 *
 * @typedef {import('../../../native/index.js').StreamPeer} StreamPeer
 */

/**
 * A port that terminates TLS, WebSocket or both. The engine receives the decoded streams as if they were plain sockets.
 *
 * Events: 'problem' (sentence): replaced files cannot be used, so the previous version stays in use.
 */
class TlsServer extends EventEmitter {
  #options;
  #openStream;
  #parseHeader;
  #isProxy;
  #limit;
  /** By connection name. @type {Map<string, import('./handshake-limit').Pass>} */
  #passes;
  /** Refused connections by reason. @type {Map<string, number>} */
  #refused;
  #accepted;
  #isChecking;
  #net;
  #webSockets;
  #secrets;
  /** Device ids that a handshake proved. @type {WeakMap<import('node:stream').Duplex, string>} */
  #devices;
  /** For a request desk: certificates that a handshake proved, as JSON. @type {WeakMap<import('node:stream').Duplex, string>} */
  #notes;
  /**
   * Identities whose key OpenSSL requested. They are not proven before the handshake is complete.
   * @type {WeakMap<import('node:stream').Duplex, string>}
   */
  #identities;

  /**
   * @param {TlsListenerOptions} options
   * @param {(peer: StreamPeer) => import('node:stream').Duplex} openStream the engine's end; may throw
   * @param {typeof import('../../../native/index.js').parseProxyHeader} parseHeader
   */
  constructor(options, openStream, parseHeader) {
    super();
    this.#options = options;
    this.#openStream = openStream;
    this.#parseHeader = parseHeader;
    this.#isProxy = amongProxies(options.proxies ?? []);
    this.#limit = new HandshakeLimit(options);
    this.#passes = new Map();
    this.#refused = new Map();
    this.#accepted = 0;
    this.#isChecking = false;
    const { transport, webSocket } = options;
    this.#net = net.createServer({ allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS }, (socket) => this.#onAccept(socket)); // prettier-ignore
    this.#webSockets =
      transport === 'tls'
        ? null
        : new WebSocketEndpoint(
            webSocket,
            (stream, socket) => this.#onOpen(stream, /** @type {net.Socket} */ (socket)),
            (reason) => this.#count(reason)
          );
    this.#secrets = transport === 'ws' ? null : new TlsSecrets({ ...options, asksCertificate: options.clientCert !== 'no' }); // prettier-ignore
    /** @type {tls.Server | null} */
    this.tls = null;
    this.#devices = new WeakMap();
    this.#notes = new WeakMap();
    this.#identities = new WeakMap();
  }

  /** @returns {Promise<number>} the port; rejects with an Error that has the system's code, or a sentence */
  async listen() {
    if (this.#secrets) this.tls = this.#makeTls(this.#secrets);
    const { host, port } = this.#options;
    await new Promise((resolve, reject) => {
      this.#net.once('error', reject);
      this.#net.listen({ host, port }, () => resolve(undefined));
    });
    // Without an 'error' listener, a failed accept (EMFILE) would end the thread.
    this.#net.removeAllListeners('error').on('error', (error) => this.#count(codeOf(error)));
    return /** @type {net.AddressInfo} */ (this.#net.address()).port;
  }

  /** Accepts no more connections. Open connections continue. */
  hold() {
    if (this.#net.listening) this.#net.close();
  }

  close() {
    this.hold();
    this.#limit.endAll('closed');
  }

  get state() {
    const { open, halfOpen } = this.#limit;
    return { open, halfOpen, accepted: this.#accepted, refused: Object.fromEntries(this.#refused) };
  }

  /** Uses replaced files for new connections. */
  async checkFiles() {
    if (this.#isChecking || !this.#secrets) return;
    this.#isChecking = true;
    try {
      if (await this.#secrets.haveChanged()) this.tls?.setSecureContext(this.#secrets.read());
    } catch (error) {
      this.emit('problem', `${/** @type {Error} */ (error).message} The previous version stays in use.`);
    } finally {
      this.#isChecking = false;
    }
  }

  /** @param {TlsSecrets} secrets */
  #makeTls(secrets) {
    const { clientCert, handshakeTimeoutMs, alpn } = this.#options;
    const server = tls.createServer(
      {
        ...secrets.read(),
        allowHalfOpen: true,
        // HandshakeLimit ends handshakes, and is patient after a standstill.
        handshakeTimeout: 3 * handshakeTimeoutMs,
        requestCert: clientCert !== 'no',
        // Checked in #whoIs(), which knows the reason.
        rejectUnauthorized: false,
        ...(alpn.length > 0 && { ALPNProtocols: alpn }),
        ...(secrets.hasKeys && {
          pskCallback: (socket, identity) => {
            const key = secrets.keys.get(identity) ?? null;
            if (key) this.#identities.set(socket, identity);
            return key;
          }
        })
      },
      (socket) => this.#onSecure(socket)
    );
    server.on('tlsClientError', (error, socket) => {
      this.#count(codeOf(error));
      socket.destroy();
    });
    return server;
  }

  /** @param {net.Socket} socket */
  #onAccept(socket) {
    this.#accepted++;
    socket.on('error', () => {});
    const pass = this.#limit.enter((reason) => {
      if (reason !== 'closed') this.#count(reason);
      socket.destroy();
    });
    if (!pass) {
      this.#count('full');
      return void socket.destroy();
    }
    const name = connectionName(socket);
    this.#passes.set(name, pass);
    socket.once('close', () => {
      this.#limit.leave(pass);
      if (this.#passes.get(name) === pass) this.#passes.delete(name);
    });
    if (!this.#isProxy(socket.remoteAddress)) return this.#handshake(socket);
    readProxyHeader(socket, this.#parseHeader, ({ status, address }) => {
      if (status === 'bad') return pass.end('no PROXY header');
      if (address) pass.address = address;
      this.#handshake(socket);
    });
  }

  /** @param {net.Socket} socket */
  #handshake(socket) {
    if (this.tls) this.tls.emit('connection', socket);
    else this.#webSockets?.take(socket);
  }

  /** @param {tls.TLSSocket} socket */
  #onSecure(socket) {
    socket.on('error', () => {});
    const { device, refusal } = this.#whoIs(socket);
    if (refusal) {
      this.#count(refusal);
      return void socket.destroy();
    }
    if (device) this.#devices.set(socket, device);
    if (this.#webSockets) this.#webSockets.take(socket);
    else this.#onOpen(socket, socket);
  }

  /** @param {tls.TLSSocket} socket @returns {{ device?: string, refusal?: string }} */
  #whoIs(socket) {
    const { clientCert, certIdentity, certIsLogin, pskFile, tenant = NO_TENANT } = this.#options;
    const asked = this.#identities.get(socket);
    // A handshake with a key has no certificates (RFC 8446, 4.3.2), so a key cannot replace a required certificate.
    if (asked !== undefined && usedKey(socket) && clientCert !== 'required') {
      return inTenant(idByRule(tenant, { device: asked }));
    }
    const certificate = clientCert === 'no' ? undefined : socket.getPeerX509Certificate();
    if (!certificate) {
      if (pskFile && clientCert !== 'required') return { refusal: 'no key' };
      return clientCert === 'required' ? { refusal: 'no certificate' } : {};
    }
    if (!socket.authorized) return { refusal: String(socket.authorizationError ?? 'certificate') };
    if (this.#options.certNote) this.#notes.set(socket, noteOf(certificate));
    if (!certIsLogin) return {};
    const device = deviceOf(certificate, certIdentity);
    if (!device) return { refusal: 'no name in the certificate' };
    return inTenant(idByRule(tenant, { device, organization: organizationOf(certificate) }));
  }

  /**
   * @param {import('node:stream').Duplex} stream decoded, without TLS and frames
   * @param {net.Socket} socket the TCP socket below it
   */
  #onOpen(stream, socket) {
    const pass = this.#passes.get(connectionName(socket));
    if (!pass || !this.#limit.opened(pass)) return void stream.destroy();
    const device = this.#devices.get(socket);
    const note = this.#notes.get(socket);
    const address = pass.address ?? addressOf(socket);
    try {
      bridge(stream, this.#openStream({ address, ...(device && { device }), ...(note && { note }) }));
    } catch (error) {
      this.#count(codeOf(error));
      stream.destroy();
    }
  }

  /** @param {string} reason */
  #count(reason) {
    const known = this.#refused.size < MAX_REASONS || this.#refused.has(reason) ? reason : 'other';
    this.#refused.set(known, (this.#refused.get(known) ?? 0) + 1);
  }
}

/**
 * True if the finished handshake proved the pre-shared key. OpenSSL requests the key of an identity even if it then
 * does not use it, such as for a TLS 1.3 suite with another hash. In TLS 1.3 a used key counts as a resumed session,
 * whose binder was checked. Listeners with keys resume no other sessions (see TlsSecrets).
 * @param {tls.TLSSocket} socket
 */
function usedKey(socket) {
  return socket.getProtocol() === 'TLSv1.3'
    ? socket.isSessionReused()
    : /(^|-)PSK-/.test(socket.getCipher()?.name ?? '');
}

/** @param {string} device '' = the rule finds no tenant */
const inTenant = (device) => (device ? { device } : { refusal: 'no tenant' });

/** @param {net.Socket} socket */
function addressOf({ remoteAddress = '', remotePort = 0 }) {
  // A socket on :: shows IPv4 addresses in this form (RFC 4291, 2.5.5.2).
  const address = remoteAddress.replace(/^::ffff:(?=\d+\.)/, '');
  return address.includes(':') ? `[${address}]:${remotePort}` : `${address}:${remotePort}`;
}

/**
 * Returns what a request desk learns of a certificate, as JSON. Long names are left out, because the engine takes 4096
 * bytes.
 * @param {import('node:crypto').X509Certificate} certificate
 */
function noteOf({ subject, subjectAltName = '', issuer, fingerprint256 }) {
  const known = { subject, subjectAltName, issuer };
  const short = Object.entries(known).filter(
    ([, value]) => value && Buffer.byteLength(value) <= MAX_NAME_BYTES
  );
  return JSON.stringify({ ...Object.fromEntries(short), fingerprint256 });
}

/** @param {unknown} error */
function codeOf(error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  return code ?? message;
}

exports.TlsServer = TlsServer;

'use strict';
// The device listener of a node. It opens with the first plan. A listener that cannot open is retried every second.

const dns = require('node:dns');
const net = require('node:net');

const { shorten } = require('../base/status');

const FILES_MS = 5000;

/**
 * @typedef {import('../../../native/index.js').ListenOptions} ListenOptions
 * @typedef {import('../tls/tls-server').TlsListenerOptions} TlsListenerOptions
 * @typedef {import('../tls/tls-thread').TlsState} TlsState
 *
 * @typedef {object} ListenerParts the listener's part of a Stage
 * @property {ListenOptions} listener
 * @property {Omit<TlsListenerOptions, 'maxConnections'>} [tls] for TLS or WebSocket; it has the port, and the
 *   transport of `listener` is 'streams'
 * @property {import('../tls/dtls-secrets').DtlsListenerOptions} [dtls] if the transport of `listener` is 'dtls'
 * @property {(login: import('../../../native/index.js').Login, member: import('./member').Member) =>
 *   Promise<import('../login/login-dispatcher').Verdict>} [checkLogin] if the login of `listener` is 'ask'
 * @property {() => void} [endLogins] called when the node is closed
 * @property {import('../settings/overlay-offer').OfferPlace} [offer] offers the open listener to an overlay
 * @property {() => Promise<void>} [prepare] must resolve before the listener opens. If it rejects (with a
 *   sentence, and with `shown` for the status), it is called again after a second
 * @property {() => Promise<void>} [end] called when the node is closed, after the listener is
 */

class Listening {
  #member;
  #parts;
  #isOpening;
  #isPrepared;
  #isClosed;
  /** Counts opens and closes. The result of an earlier DNS lookup is ignored. */
  #turn;
  /** Closes the listener in the TLS thread. */
  #closeTls;
  /** Withdraws the listener from the overlay. @type {(() => Promise<void>) | undefined} */
  #withdraw;
  #withdrawn = Promise.resolve();
  /** Checks the files of a DTLS listener. @type {NodeJS.Timeout | undefined} */
  #filesTimer;

  /**
   * @param {import('./member').Member} member
   * @param {ListenerParts} parts
   */
  constructor(member, parts) {
    this.#member = member;
    this.#parts = parts;
    this.open = false;
    this.port = 0;
    /** @type {string} why the listener is not open, for the status */
    this.refused = '';
    /** @type {TlsState | null} with TLS or WebSocket */
    this.state = null;
    this.#isOpening = false;
    this.#isPrepared = !parts.prepare;
    this.#isClosed = false;
    this.#turn = 0;
    this.#closeTls = () => {};
  }

  /** Opens the listener, if it is not open. */
  start() {
    const parts = this.#parts;
    if (this.open || this.#isOpening || this.#isClosed) return;
    if (parts.prepare && !this.#isPrepared) return this.#prepare(parts.prepare);
    const { host } = parts.listener;
    if (!host || net.isIP(host)) return this.#listen(parts.listener);
    // The engine accepts only addresses, because a synchronous DNS lookup would block Node-RED.
    const isWanted = this.#wait();
    dns.promises.lookup(host).then(
      ({ address }) => isWanted() && this.#listen({ ...parts.listener, host: address }),
      (error) =>
        isWanted() && this.#refuse(Object.assign(new Error(error.message), { code: 'EADDRNOTAVAIL' }))
    );
  }

  /** @returns {() => boolean} ends the wait; false if the listener was closed meanwhile */
  #wait() {
    this.#isOpening = true;
    const turn = this.#turn;
    return () => {
      if (turn !== this.#turn) return false;
      this.#isOpening = false;
      return !this.#isClosed;
    };
  }

  /** @param {() => Promise<void>} prepare */
  #prepare(prepare) {
    const isWanted = this.#wait();
    prepare().then(
      () => {
        this.#isPrepared = true;
        if (isWanted()) this.start();
      },
      (error) => isWanted() && this.#refuse(error)
    );
  }

  /** @param {ListenOptions} listener */
  #listen(listener) {
    const member = this.#member;
    const parts = this.#parts;
    const { engine, logins } = member.host;
    try {
      const secrets = parts.dtls && dtlsSecrets(parts.dtls);
      const port = engine.listen(member.stage, secrets ? { ...listener, dtls: secrets.read() } : listener);
      if (secrets) this.#watch(secrets);
      const { checkLogin } = parts;
      if (checkLogin) logins.serve(member.stage, (login) => checkLogin(login, member));
      if (parts.tls) this.#startTls(parts.tls);
      else this.#opened(port);
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** Uses replaced files for new handshakes. @param {ReturnType<typeof dtlsSecrets>} secrets */
  #watch(secrets) {
    const { node, stage, host } = this.#member;
    const complain = () => {
      const sentence = secrets.complaint();
      if (sentence) node.warn(sentence);
    };
    complain();
    let isChecking = false;
    const check = async () => {
      if (isChecking) return;
      isChecking = true;
      try {
        if (!(await secrets.areDue()) || this.#filesTimer !== timer) return;
        host.engine.renewDtls(stage, secrets.read());
        complain();
      } catch (error) {
        node.warn(`${/** @type {Error} */ (error).message} The previous version stays in use.`);
      } finally {
        isChecking = false;
      }
    };
    const timer = setInterval(check, FILES_MS).unref();
    this.#filesTimer = timer;
  }

  #unwatch() {
    clearInterval(this.#filesTimer);
    this.#filesTimer = undefined;
  }

  /** @param {Omit<TlsListenerOptions, 'maxConnections'>} parts */
  #startTls(parts) {
    const member = this.#member;
    // The engine would refuse more connections than this.
    const options = { ...parts, maxConnections: member.host.maxDevices };
    this.#isOpening = true;
    const { opened, close } = member.host.tls.open(member.stage, options, {
      onState: (state) => (this.state = state),
      onProblem: (sentence) => member.node.warn(sentence),
      onLost: (error) => this.#lose(error)
    });
    this.#closeTls = close;
    // False if the listener was closed in the meantime.
    const isThis = () => this.#closeTls === close;
    opened.then(
      (port) => isThis() && this.#opened(port),
      (error) => isThis() && this.#lose(error)
    );
  }

  /** @param {number} port */
  #opened(port) {
    this.#isOpening = false;
    if (this.#isClosed) return;
    this.port = port;
    this.open = true;
    this.refused = '';
    this.#offer(port);
  }

  /** @param {number} port */
  #offer(port) {
    const { offer, tls, listener } = this.#parts;
    const { host = '', transport } = tls ?? listener;
    const network = transport === 'udp' || transport === 'dtls' ? 'udp' : 'tcp';
    this.#withdraw = offer?.({ host, port, network });
  }

  /** Withdraws the listener from the overlay. @returns {Promise<void>} when it is withdrawn */
  #endOffer() {
    const withdraw = this.#withdraw;
    this.#withdraw = undefined;
    if (withdraw) this.#withdrawn = withdraw();
    return this.#withdrawn;
  }

  /** @param {Error} error */
  #lose(error) {
    if (this.#isClosed || !(this.open || this.#isOpening)) return;
    this.#isOpening = false;
    this.open = false;
    this.#unlisten();
    this.#refuse(error);
  }

  /** @param {unknown} error reported once */
  #refuse(error) {
    const member = this.#member;
    const { host, port } = this.#parts.tls ?? this.#parts.listener;
    const { code = '', message, shown } = /** @type {NodeJS.ErrnoException & { shown?: string }} */ (error);
    const refused = shown ?? listenStatus(port, code, message);
    if (refused !== this.refused) member.node.error(listenSentence(host, port, code, message));
    this.refused = refused;
    member.status.red(refused);
  }

  /** Closes the listener until the next start(), and disconnects its devices. */
  shut() {
    this.#turn++;
    if (this.open || this.#isOpening) this.#unlisten();
    this.open = false;
    this.#isOpening = false;
    this.refused = '';
  }

  #unlisten() {
    const member = this.#member;
    void this.#endOffer();
    this.#closeTls();
    this.#closeTls = () => {};
    this.#unwatch();
    member.host.logins.leave(member.stage);
    member.host.engine.unlisten(member.stage);
  }

  /**
   * Call it when the node is closed. If the engine closes too, devices stay connected, so that they still receive
   * acknowledgements.
   */
  async close() {
    this.#isClosed = true;
    this.#unwatch();
    this.#parts.endLogins?.();
    if (this.open || this.#isOpening) await this.#leave();
    await this.#parts.end?.();
    // The end of an offer ends its connections, and devices of an engine that ends still get acknowledgements.
    if (this.#withdraw) await this.#member.host.closing?.catch(() => {});
    await this.#endOffer();
  }

  async #leave() {
    // Node-RED calls the close handlers of all nodes in one turn. After it, the engine's handler has run if it closes
    // too.
    await new Promise((resolve) => setImmediate(resolve));
    if (!this.#member.host.closing) this.#unlisten();
    this.open = false;
  }
}

/** @param {import('../tls/dtls-secrets').DtlsListenerOptions} options */
function dtlsSecrets(options) {
  // Loaded for the first listener with DTLS.
  const { DtlsSecrets } = require('../tls');
  return new DtlsSecrets(options);
}

/**
 * @param {number} port
 * @param {string} code
 * @param {string} message
 */
function listenStatus(port, code, message) {
  if (code === 'EADDRINUSE') return `port ${port} in use`;
  if (code === 'EACCES') return `port ${port} not allowed`;
  if (code === 'EADDRNOTAVAIL') return 'no such local address';
  if (isSentence(message)) return /certificate|key/i.test(message) ? 'certificate or key' : 'no listener';
  return shorten(`port ${port}: ${code || message}`);
}

/**
 * @param {string} host
 * @param {number} port
 * @param {string} code
 * @param {string} message
 */
function listenSentence(host, port, code, message) {
  const what = `Devices cannot connect: ${host}:${port}`;
  if (code === 'EADDRINUSE')
    return `${what} is used by another node or another program. Stop it, or choose another port.`;
  if (code === 'EACCES') return `${what} is not allowed for this user. Choose a port from 1024 on.`;
  if (code === 'EADDRNOTAVAIL')
    return `${what} is not an address of this machine. Use 127.0.0.1, or 0.0.0.0 for all.`;
  if (isSentence(message)) return `Devices cannot connect. ${message}`;
  return `${what} could not be opened (${code || message}).`;
}

/** @param {string} message */
const isSentence = (message) => /^[A-Z].*\.$/s.test(message);

module.exports = { Listening, listenStatus, listenSentence };

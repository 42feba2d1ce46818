'use strict';

const dns = require('node:dns');
const net = require('node:net');
const { remembering, tries } = require('../paths/path-dial');

/** @typedef {import('../../../../native').UplinkSocketOptions} SocketOptions */
/** @typedef {typeof import('../../../../native')} Addon */
/** @typedef {Partial<Pick<Addon, 'openSocket' | 'waitConnect' | 'closeSocket' | 'UplinkConnection' | 'BrokerReader'>>} Native */

/**
 * @typedef {object} DialOptions
 * @property {string} host
 * @property {number} port
 * @property {() => Promise<{host: string, port: number}>} [place] asked for the place that leads to the host and port
 * @property {number} timeoutMs for the whole attempt
 * @property {SocketOptions} socket
 * @property {Native} [native] without it, or without its openSocket, Node.js makes the socket
 * @property {boolean} [wantsDescriptor] returns the descriptor of a socket that the addon made
 * @property {(host: string) => Promise<{address: string}[]>} [lookup]
 * @property {import('../paths/session-paths').Paths} [paths] the connection is bound to one of them, and uses MPTCP if
 *   possible
 */

/**
 * @typedef {object} Reached
 * @property {net.Socket} [socket] connected; either socket or fd is set, and cancel() closes it until handOver()
 * @property {number} [fd] connected: one of the two. cancel() closes it, until handOver()
 * @property {string[]} unknown options that were not set
 * @property {string} [noMptcp] error code that made plain TCP replace MPTCP
 * @property {import('../paths/session-paths').Way | null} [way] the path it is bound to
 * @property {number} [handshakeMs] time until the answer, without earlier tries
 */

/** Errors that are the least informative if there are several addresses: no route, or no answer. */
const NO_WAY = ['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'ETIMEDOUT'];

/**
 * One attempt to make a TCP connection: the name is looked up, and its addresses are tried in the resolver's order.
 * Each gets its share of the remaining time, so that a dead one does not use up all of it.
 */
class Dial {
  /** @param {DialOptions} options */
  constructor(options) {
    this.options = options;
    this.endsAt = performance.now() + options.timeoutMs;
    this.isCancelled = false;
    /** Ends the present step when the attempt is cancelled. */
    this.end = () => {};
  }

  /**
   * Connects. Rejects with the system's code, or with ECANCELED after cancel(). Call it once.
   * @returns {Promise<Reached>}
   */
  async connect() {
    const { place } = this.options;
    if (place) Object.assign(this.options, await this.#inTime(place()));
    const addresses = await this.#lookup();
    const failures = [];
    const { paths } = this.options;
    const each = tries(addresses, paths, () => this.leftMs());
    for (let next = each.next(null); !next.done; next = each.next(failures.at(-1) ?? null)) {
      const { way } = next.value;
      if (this.isCancelled) throw failure('ECANCELED');
      const beganAt = performance.now();
      try {
        const made = await this.#reach(next.value);
        const reached = { ...made, way, handshakeMs: performance.now() - beganAt };
        if (way) paths?.worked(way.name);
        // The attempt may be cancelled before the caller has the result.
        this.end = () => this.#close(reached);
        if (this.isCancelled) this.end();
        return reached;
      } catch (error) {
        failures.push(/** @type {NodeJS.ErrnoException} */ (error));
      }
    }
    if (this.isCancelled) throw failure('ECANCELED');
    throw (
      failures.find(({ code }) => !NO_WAY.includes(String(code))) ??
      failures[0] ??
      failure(addresses.length > 0 ? 'ENETUNREACH' : 'ENOTFOUND')
    );
  }

  /** Cancels the attempt: connect() rejects, or its socket is closed unless it was handed over. */
  cancel() {
    this.isCancelled = true;
    this.end();
  }

  /** The result of connect() has another owner, which closes it. */
  handOver() {
    this.end = () => {};
  }

  /** @param {Reached} reached */
  #close({ socket, fd }) {
    socket?.destroy();
    if (fd !== undefined) this.options.native?.closeSocket?.(fd);
  }

  /** Returns the remaining time of the whole attempt, at least 1. */
  leftMs() {
    return Math.max(1, this.endsAt - performance.now());
  }

  #lookup() {
    const { host, paths, lookup: ask = lookupAll } = this.options;
    return this.#inTime((paths ? remembering(ask, paths) : ask)(host));
  }

  /**
   * Waits for a step that cannot be cancelled, and may take longer than the attempt.
   * @template T
   * @param {Promise<T>} step
   * @returns {Promise<T>}
   */
  #inTime(step) {
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    /** @type {Promise<T>} */
    const result = new Promise((resolve, reject) => {
      timer = setTimeout(() => reject(failure('EAI_AGAIN')), this.leftMs());
      this.end = () => reject(failure('ECANCELED'));
      step.then(resolve, reject);
    });
    return result.finally(() => {
      clearTimeout(timer);
      this.end = () => {};
    });
  }

  /** @param {import('../paths/path-dial').Try} one @returns {Promise<Reached>} */
  #reach(one) {
    const { native } = this.options;
    return native?.openSocket
      ? this.#reachNative(/** @type {Required<Native>} */ (native), one)
      : this.#reachByNode(one);
  }

  /** @param {Required<Native>} native @param {import('../paths/path-dial').Try} one */
  async #reachNative(native, { address, patienceMs, options: bound }) {
    const { port, socket } = this.options;
    const { fd, unknown: lacking, noMptcp } = native.openSocket(address, port, { ...socket, ...bound });
    // MPTCP does not support this option; PathWatch is faster.
    const unknown =
      bound.mptcp && noMptcp === '' ? lacking.filter((name) => name !== 'userTimeoutMs') : lacking;
    let isOpen = true;
    const close = () => {
      if (isOpen) native.closeSocket(fd);
      isOpen = false;
    };
    this.end = close;
    try {
      await native.waitConnect(fd, patienceMs);
      // The attempt may have been cancelled between the end of the wait and this line.
      if (this.isCancelled) throw failure('ECANCELED');
      const { wantsDescriptor } = this.options;
      const own = wantsDescriptor
        ? { fd }
        : { socket: new net.Socket({ fd, readable: true, writable: true }) };
      isOpen = false;
      return { ...own, unknown, noMptcp };
    } finally {
      close();
    }
  }

  /** @param {import('../paths/path-dial').Try} one @returns {Promise<Reached>} */
  #reachByNode({ address, patienceMs, options: { localAddress, ...bound } }) {
    const { port, socket: options } = this.options;
    const { noDelay, keepIdleS = 0, ...others } = { ...options, ...bound };
    const keepAlive = { keepAlive: keepIdleS > 0, keepAliveInitialDelay: keepIdleS * 1000 };
    const socket = net.connect({ host: address, port, noDelay, localAddress, ...keepAlive });
    // 0 is the system's default, so it is not a missing option.
    const unknown = Object.entries(others).flatMap(([name, value]) => (value ? [name] : []));
    return new Promise((resolve, reject) => {
      /** @param {Error} error */
      const fail = (error) => {
        clearTimeout(timer);
        socket.destroy();
        reject(error);
      };
      const timer = setTimeout(() => fail(failure('ETIMEDOUT')), patienceMs);
      this.end = () => fail(failure('ECANCELED'));
      socket.once('error', fail);
      socket.once('connect', () => {
        clearTimeout(timer);
        socket.off('error', fail);
        this.end = () => {};
        resolve({ socket, unknown, noMptcp: bound.mptcp ? 'EPROTONOSUPPORT' : '' });
      });
    });
  }
}

/** @param {string} host */
function lookupAll(host) {
  return dns.promises.lookup(host, { all: true });
}

/** @param {string} code */
function failure(code) {
  return Object.assign(new Error(`connect ${code}`), { code });
}

exports.Dial = Dial;

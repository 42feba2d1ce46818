'use strict';
// The first steps of a test of a broker, whatever it speaks: its name, the connection, and TLS.

const net = require('node:net');
const dns = require('node:dns');
const { watchTlsFiles } = require('../../base/tls-files');
const { secure, secureContext, socketOptions } = require('./connection-options');
const { Dial } = require('./dial');

/**
 * @typedef {object} Step
 * @property {string} step name, connect, tls, login …
 * @property {boolean} ok
 * @property {number} ms how long it took
 * @property {string} code of a failure, '' = none
 * @property {string} text what was found, or a sentence with the remedy
 * @property {string} [at] address, if several are tested
 * @property {boolean} [isMinor] it failed, but another address works
 */

/**
 * @typedef {Pick<import('../../settings/uplink-options').CheckedOptions, 'host' | 'port' | 'secure' | 'tls' | 'tlsFiles' |
 *   'minTls' | 'connectTimeoutMs' | 'userTimeoutMs' | 'dialer'> & { congestion?: string }} Target
 */

/** A certificate that ends within this time is named. */
const SOON_MS = 14 * 24 * 3600 * 1000;

/** A step failed for this reason. */
class Failure extends Error {
  /** @param {{ code: string, reason: string }} why */
  constructor({ code, reason }) {
    super(reason);
    this.code = code;
  }
}

/** Runs steps one after another; the time limit is that of all of them. */
class TestSteps {
  #explain;
  #endsAt;

  /**
   * @param {Target} options
   * @param {(error: unknown) => { code: string, reason: string }} explain an error that is no Failure
   */
  constructor(options, explain) {
    this.options = options;
    this.#explain = explain;
    this.#endsAt = performance.now() + options.connectTimeoutMs;
    /** Those that were tried; only the last one can have failed. @type {Step[]} */
    this.steps = [];
    /** @type {net.Socket | null} */
    this.socket = null;
  }

  /**
   * @param {string} step
   * @param {() => Promise<string>} work returns what was found; rejects with a Failure, or an error that is explained
   * @returns {Promise<boolean>} false if it failed
   */
  async step(step, work) {
    const beganAt = performance.now();
    /** @param {{ ok: boolean, code?: string, text: string }} end */
    const add = ({ ok, code = '', text }) => {
      this.steps.push({ step, ok, ms: Math.round(performance.now() - beganAt), code, text });
      return ok;
    };
    try {
      return add({ ok: true, text: await work() });
    } catch (error) {
      if (error instanceof Failure) return add({ ok: false, code: String(error.code), text: error.message });
      const { code, reason } = this.#explain(error);
      return add({ ok: false, code, text: reason });
    }
  }

  /** Returns the remaining time of all steps, at least 1. */
  get leftMs() {
    return Math.max(1, this.#endsAt - performance.now());
  }

  /** Leaves a connected socket, behind TLS if the options say so. @returns {Promise<boolean>} false if a step failed */
  async reach() {
    const { host, dialer, secure: isSecure } = this.options;
    /** @type {{ address: string }[] | undefined} */
    let addresses;
    const isName = !dialer && net.isIP(host) === 0;
    return (
      (!isName || (await this.step('name', async () => names((addresses = await this.#lookup()))))) &&
      (await this.step('connect', () => this.#connect(addresses))) &&
      (!isSecure || (await this.step('tls', () => this.#secure())))
    );
  }

  close() {
    this.socket?.destroy();
  }

  #lookup() {
    return this.inTime(dns.promises.lookup(this.options.host, { all: true }), 'EAI_AGAIN');
  }

  /**
   * @template T
   * @param {Promise<T>} work
   * @param {string} code of the error when the time is up
   * @returns {Promise<T>}
   */
  async inTime(work, code) {
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(Object.assign(new Error(`${code}`), { code })), this.leftMs);
    });
    try {
      return /** @type {T} */ (await Promise.race([work, late]));
    } finally {
      clearTimeout(timer);
    }
  }

  /** @param {{ address: string }[] | undefined} addresses undefined = the host is one, or the overlay finds it */
  async #connect(addresses) {
    const { host, port, dialer } = this.options;
    const dial = new Dial({
      host,
      port,
      place: dialer ? () => require(dialer.module).placesOf(dialer.address).place(host, port) : undefined,
      timeoutMs: this.leftMs,
      socket: socketOptions(this.options),
      ...(addresses && { lookup: async () => addresses })
    });
    const { socket } = await dial.connect();
    dial.handOver();
    this.socket = /** @type {net.Socket} */ (socket);
    // Each step waits for its own events; an error between two of them ends the next one.
    this.socket.on('error', () => {});
    return `${this.socket.remoteAddress}:${this.socket.remotePort}`;
  }

  async #secure() {
    const options = /** @type {import('../../settings/uplink-options').CheckedOptions} */ (this.options);
    const files = watchTlsFiles(options.tlsFiles, '').read();
    const socket = secure(
      /** @type {net.Socket} */ (this.socket),
      options,
      secureContext(options, files, '')
    );
    this.socket = socket;
    socket.on('error', () => {});
    await this.inTime(settled(socket, 'secureConnect'), 'ETIMEDOUT');
    const { valid_to: until } = socket.getPeerCertificate();
    const leftMs = Date.parse(until) - Date.now();
    const ends =
      leftMs < SOON_MS ? `; its certificate ends on ${new Date(Date.parse(until)).toISOString()}` : '';
    return `${socket.getProtocol()}${ends}`;
  }
}

/** @param {net.Socket} socket @param {string} event @returns {Promise<void>} rejects with the socket's error */
function settled(socket, event) {
  return new Promise((resolve, reject) => {
    socket.once(event, resolve).once('error', reject);
    socket.once('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
  });
}

/** @param {{ address: string }[]} addresses */
const names = (addresses) => addresses.map(({ address }) => address).join(', ');

module.exports = { Failure, TestSteps };

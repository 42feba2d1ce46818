'use strict';
// Tries a broker step by step, with the options of its node: the name, the connection, TLS, the login, and whether this
// client may publish. It stops at the first step that fails, and says which one and the remedy.

const net = require('node:net');
const dns = require('node:dns');
const { watchTlsFiles } = require('../../base/tls-files');
const { secure, secureContext, socketOptions } = require('./connection-options');
const { Dial } = require('./dial');
const { makeClient } = require('./mqtt-client');
const { NOT_ACCEPTED, explain, explainDisconnect, refusalName } = require('./reason-codes');

/** @typedef {import('../../settings/uplink-options').CheckedOptions} CheckedOptions */
/** @typedef {'name' | 'connect' | 'tls' | 'login' | 'publish'} StepName */

/**
 * @typedef {object} Step
 * @property {StepName} step
 * @property {boolean} ok
 * @property {number} ms how long it took
 * @property {string} code of a failure, '' = none
 * @property {string} text what was found, or a sentence with the remedy
 */

/** A certificate that ends within this time is named. */
const SOON_MS = 14 * 24 * 3600 * 1000;
const REFUSED = 0x80;
/** Behind TLS, each end knows that the other one speaks TLS: the broker refuses something else. */
const RESETS = ['ECONNRESET', 'EPIPE'];

const ALLOW = 'Allow this client to publish there, or change the topic of the uplink node.';

/** A step failed for this reason. */
class Failure extends Error {
  /** @param {{ code: string, reason: string }} why */
  constructor({ code, reason }) {
    super(reason);
    this.code = code;
  }
}

/**
 * Makes one connection beside those of the gateway, under a client id of its own.
 * @param {CheckedOptions} options
 * @param {string[]} topics each gets one empty message with QoS 1
 * @returns {Promise<Step[]>} those that were tried; only the last one can have failed
 */
async function testConnection(options, topics) {
  const test = new ConnectionTest({ ...options, clientId: `${options.clientId}-test` });
  try {
    await test.run(topics);
  } finally {
    test.close();
  }
  return test.steps;
}

class ConnectionTest {
  /** @param {CheckedOptions} options */
  constructor(options) {
    this.options = options;
    this.endsAt = performance.now() + options.connectTimeoutMs;
    /** @type {Step[]} */
    this.steps = [];
    /** @type {net.Socket | null} */
    this.socket = null;
    /** @type {import('mqtt').MqttClient | null} */
    this.client = null;
  }

  /** @param {string[]} topics */
  async run(topics) {
    const { options } = this;
    const { host, dialer } = options;
    /** @type {{ address: string }[] | undefined} */
    let addresses;
    const isName = !dialer && net.isIP(host) === 0;
    const works =
      (!isName || (await this.#step('name', async () => names((addresses = await this.#lookup()))))) &&
      (await this.#step('connect', () => this.#connect(addresses))) &&
      (!options.secure || (await this.#step('tls', () => this.#secure()))) &&
      (await this.#step('login', () => this.#login()));
    if (works && topics.length > 0) await this.#step('publish', () => this.#publish(topics));
  }

  close() {
    this.client?.end(true);
    this.client?.on('error', () => {});
    this.socket?.destroy();
  }

  /**
   * @param {StepName} step
   * @param {() => Promise<string>} work returns what was found; rejects with a Failure, or an error that is explained
   * @returns {Promise<boolean>} false if it failed
   */
  async #step(step, work) {
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
      const { code, reason } = explain(error, this.options);
      return add({ ok: false, code, text: reason });
    }
  }

  get leftMs() {
    return Math.max(1, this.endsAt - performance.now());
  }

  #lookup() {
    return this.#inTime(dns.promises.lookup(this.options.host, { all: true }), 'EAI_AGAIN');
  }

  /**
   * @template T
   * @param {Promise<T>} work
   * @param {string} code of the error when the time is up
   * @returns {Promise<T>}
   */
  async #inTime(work, code) {
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
    const { options } = this;
    const files = watchTlsFiles(options.tlsFiles, '').read();
    const socket = secure(
      /** @type {net.Socket} */ (this.socket),
      options,
      secureContext(options, files, '')
    );
    this.socket = socket;
    socket.on('error', () => {});
    await this.#inTime(settled(socket, 'secureConnect'), 'ETIMEDOUT');
    const { valid_to: until } = socket.getPeerCertificate();
    const leftMs = Date.parse(until) - Date.now();
    const ends =
      leftMs < SOON_MS ? `; its certificate ends on ${new Date(Date.parse(until)).toISOString()}` : '';
    return `${socket.getProtocol()}${ends}`;
  }

  async #login() {
    const { options } = this;
    const stream = /** @type {net.Socket} */ (this.socket);
    /** @type {unknown} */
    let broken;
    const onError = (/** @type {unknown} */ error) => (broken ??= error);
    stream.on('error', onError);
    const client = makeClient({ options, stream, timeoutMs: this.leftMs, onError: () => {} });
    this.client = client;
    client.on('error', onError);
    client.connect();
    const { type } = await new Promise((resolve) => {
      for (const name of ['connect', 'error', 'close'])
        client.once(/** @type {'close'} */ (name), () => resolve({ type: name }));
    });
    if (type === 'connect')
      return `MQTT ${options.protocolVersion === 5 ? '5' : '3.1.1'}, client id ${options.clientId}`;
    const isReset = options.secure && RESETS.includes(/** @type {any} */ (broken)?.code);
    throw broken && !isReset ? broken : new Failure(NOT_ACCEPTED);
  }

  /** @param {string[]} topics */
  async #publish(topics) {
    const client = /** @type {import('mqtt').MqttClient} */ (this.client);
    /** @type {{ code: string, reason: string } | undefined} */
    let why;
    client.on('disconnect', ({ reasonCode }) => (why = explainDisconnect(reasonCode)));
    for (const topic of topics) {
      const end = await Promise.race([
        published(client, topic),
        new Promise((resolve) => client.once('close', () => resolve('closed'))),
        new Promise((resolve) => setTimeout(resolve, this.leftMs, 'late').unref())
      ]);
      if (end === 'closed') throw new Failure(closedAt(topic, why));
      if (end === 'late')
        throw new Failure({
          code: 'NO_PUBACK',
          reason: `The broker does not acknowledge a message to ${topic}. See its log.`
        });
      if (end >= REFUSED)
        throw new Failure({
          code: `PUBACK ${end}`,
          reason: `The broker refused a message to ${topic} (${refusalName(end)}). ${ALLOW}`
        });
    }
    return topics.join(', ');
  }
}

/** @param {string} topic @param {{ code: string, reason: string } | undefined} why the broker's own reason */
function closedAt(topic, why) {
  const said = why ? ` ${why.reason}` : '';
  return {
    code: why?.code ?? 'CLOSED',
    reason: `The broker closed the connection when a message to ${topic} came.${said} ${ALLOW}`
  };
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

/**
 * @param {import('mqtt').MqttClient} client
 * @param {string} topic
 * @returns {Promise<any>} the reason code of the PUBACK
 */
function published(client, topic) {
  return new Promise((resolve) => {
    client.publish(topic, '', { qos: 1 }, (error) => {
      const { code } = /** @type {any} */ (error ?? { code: 0 });
      // The connection ended: another event says why.
      if (typeof code === 'number') resolve(code);
    });
  });
}

exports.testConnection = testConnection;

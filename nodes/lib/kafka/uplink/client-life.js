'use strict';

const { Backoff } = require('../../base/backoff');
const { ClientOptions } = require('./client-options');
const { accessSentence, meaningOf } = require('./errors');

/** @typedef {import('./errors').Meaning} Meaning */
/** @typedef {'connecting' | 'connected' | 'disconnected' | 'refused' | 'stopped'} State */

/** Longest wait for a client to close. */
const CLOSE_MS = 5000;
/** Errors whose message is a sentence for the user. */
const OWN_ERRORS = new Set(['NO_CLIENT', 'NODE_VERSION', 'TLS_FILE', 'TOPIC_UNFIT']);
/** How the client itself tries a call again. */
const RETRIES = { retries: 3, retryDelay: 300 };

/**
 * What a user of ClientLife does.
 * @typedef {object} LifeParts
 * @property {() => any} load the client's module
 * @property {(connection: Connection, client: any, options: Record<string, any>) => Promise<void>} open makes clients
 *   of the module with the options, and adds them to the connection; fails with any error
 * @property {() => void} onConnected
 * @property {() => void} onEnd the connection is over, and its clients are about to be closed
 * @property {(meaning: Meaning) => string} refusal the reason if the cluster refuses it, '' = it tries again soon
 * @property {(detail: string) => string} trouble the reason of any other error
 * @property {() => void} onState
 */

/** The clients of one attempt, until the first error or the end. */
class Connection {
  #onError;
  #watch;
  /** They close the clients. @type {((done: () => void) => void)[]} */
  #closers = [];

  /** @param {(error: unknown) => void} onError @param {(client: any) => void} watch gets each client */
  constructor(onError, watch) {
    this.#onError = onError;
    this.#watch = watch;
    this.isOver = false;
  }

  /**
   * Adds a client, which closes with the connection.
   * @template {any} T
   * @param {T} client
   * @param {unknown[]} [force] what its close() takes before the callback
   * @returns {T}
   */
  add(client, force = [true]) {
    const any = /** @type {any} */ (client);
    // Each failure reaches a callback, too.
    any.on('error', () => {});
    const close = (/** @type {() => void} */ done) => any.close(...force, done);
    if (this.isOver) {
      void closed(close);
      return client;
    }
    this.#closers.push(close);
    this.#watch(any);
    return client;
  }

  /** Adds a stream of records: its end is an error. @param {any} stream @param {(message: any) => void} onMessage */
  read(stream, onMessage) {
    if (this.isOver) return void stream.close(() => {});
    stream.on('error', (/** @type {unknown} */ error) => this.fail(error));
    stream.on('close', () => this.fail(new Error('The stream ended.')));
    stream.on('data', (/** @type {any} */ message) => !this.isOver && onMessage(message));
  }

  /** Ends the connection because of an error. @param {unknown} error */
  fail(error) {
    if (!this.isOver) this.#onError(error);
  }

  /** Closes the clients. Their errors and records no longer count. @returns {Promise<void>} */
  async end() {
    this.isOver = true;
    await Promise.all(this.#closers.splice(0).map(closed));
  }
}

/** Keeps clients of a cluster connected: after an error, it closes them and makes others. */
class ClientLife {
  #parts;
  #clientOptions;
  #backoff;
  #reconnectMaxMs;
  /** @type {Connection | null} */
  #connection = null;
  /** @type {NodeJS.Timeout | undefined} */
  #restart;

  /**
   * @param {{ cluster: import('../settings/kafka-options').ClusterOptions, clientId: string }} options
   * @param {LifeParts} parts
   */
  constructor({ cluster, clientId }, parts) {
    this.#parts = parts;
    this.#clientOptions = new ClientOptions(cluster, clientId);
    this.#backoff = new Backoff(cluster.reconnectMinMs, cluster.reconnectMaxMs);
    this.#reconnectMaxMs = cluster.reconnectMaxMs;
    /** @type {State} */
    this.state = 'stopped';
    /** @type {{ code: string, reason: string } | null} */
    this.why = null;
    /** Connections that were tried. */
    this.attempts = 0;
  }

  start() {
    this.#set('connecting', null);
    void this.#open();
  }

  async #open() {
    const { load, open, onConnected } = this.#parts;
    /** @type {any} */
    let module;
    const connection = new Connection(
      (error) => this.#failed(error),
      (client) => this.#clientOptions.watch(client, module)
    );
    this.#connection = connection;
    this.attempts++;
    try {
      module = load();
      await open(connection, module, { ...this.#clientOptions.read(), ...RETRIES });
    } catch (error) {
      return connection.fail(error);
    }
    if (connection.isOver) return;
    this.#backoff.reset();
    this.#set('connected', null);
    onConnected();
  }

  /** Ends the present connection because of an error, and begins another one later. @param {unknown} error */
  fail(error) {
    this.#connection?.fail(error);
  }

  /** @param {unknown} error */
  #failed(error) {
    void this.#end();
    const { code = '', message } = /** @type {NodeJS.ErrnoException} */ (error ?? {});
    const meaning = meaningOf(error);
    const refusal = OWN_ERRORS.has(code)
      ? message
      : meaning.kind === 'access'
        ? accessSentence(meaning)
        : this.#parts.refusal(meaning);
    if (refusal) this.#set('refused', { code: OWN_ERRORS.has(code) ? code : meaning.code, reason: refusal });
    else this.#set('disconnected', { code: meaning.code, reason: this.#parts.trouble(meaning.detail) });
    clearTimeout(this.#restart);
    this.#restart = setTimeout(
      () => void this.#open(),
      refusal ? this.#reconnectMaxMs : this.#backoff.next()
    );
  }

  /** @returns {Promise<void>} */
  async #end() {
    const connection = this.#connection;
    this.#connection = null;
    if (!connection) return;
    const ended = connection.end();
    this.#parts.onEnd();
    await ended;
  }

  /** Ends, and closes the clients. */
  async stop() {
    clearTimeout(this.#restart);
    this.#set('stopped', null);
    await this.#end();
  }

  /** @param {State} state @param {{ code: string, reason: string } | null} why */
  #set(state, why) {
    this.state = state;
    this.why = why;
    this.#parts.onState();
  }
}

/** @param {(done: () => void) => void} close @returns {Promise<void>} */
function closed(close) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, CLOSE_MS);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    try {
      close(done);
    } catch {
      done();
    }
  });
}

exports.ClientLife = ClientLife;
exports.Connection = Connection;

'use strict';

const { Backoff } = require('../base/backoff');

/** @typedef {string | number | Uint8Array | null} Value */
/**
 * Runs statements with parameters $1, $2, ….
 * @typedef {object} Transaction
 * @property {(sql: string, ...values: Value[]) => Promise<Record<string, any> | undefined>} get the first row
 * @property {(sql: string, ...values: Value[]) => Promise<Record<string, any>[]>} all
 * @property {(sql: string, ...values: Value[]) => Promise<number>} run returns the number of changed rows
 */

const [LEAST_BACKOFF_MS, MOST_BACKOFF_MS] = [100, 3000];
/**
 * Codes of errors after which a connection cannot be used: connection failures (08), the writer met a server that only
 * reads because another one was promoted (25006), time limits of transactions (25P03, 25P04), the server ends (57P0x),
 * internal errors (XX).
 */
const LOSSES = /^(08...|25006|25P03|25P04|57P0\d|XX\d{3})$/;

/** True if the connection failed, and not a statement or an operation. @param {any} error */
function isLoss(error) {
  return error.isLoss === true;
}

/**
 * One connection to the server. It comes back by itself, with growing pauses.
 * REQUIRES: one statement at a time.
 * @implements {Transaction}
 */
class PostgresConnection {
  #parts;
  /** @type {any} */
  #client = null;
  /** @type {any} */
  #opening = null;
  #backoff;
  /** @type {NodeJS.Timeout | null} */
  #timer = null;
  #isClosed = false;
  /** Names of prepared statements. @type {Map<string, string>} */
  #names = new Map();

  /**
   * @param {object} parts
   * @param {() => any} parts.newClient
   * @param {string} parts.session statements that begin each session
   * @param {(connection: PostgresConnection) => Promise<void>} [parts.prepare] runs before the connection counts as up
   * @param {() => void} parts.onUp
   * @param {(error: Error) => void} parts.onDown
   * @param {(payload: string) => void} [parts.onNotice] gets the payloads of notifications
   * @param {() => void} [parts.onWarning] the server warned, for example that it does not wait for its standby
   * @param {number} [parts.mostBackoffMs] longest pause between two tries
   */
  constructor(parts) {
    this.#parts = parts;
    this.#backoff = new Backoff(LEAST_BACKOFF_MS, parts.mostBackoffMs ?? MOST_BACKOFF_MS);
    this.isUp = false;
  }

  /** @throws {Error} if the server cannot be reached or refuses; start() may be called again */
  async start() {
    const { newClient, session, prepare, onUp, onNotice, onWarning } = this.#parts;
    const client = newClient();
    this.#opening = client;
    client.on('error', (/** @type {Error} */ error) => this.#lost(client, error));
    client.on('end', () => this.#lost(client, new Error('The connection ended.')));
    client.on('notice', (/** @type {{ code?: string }} */ { code = '' }) => {
      if (/^(01|57)/.test(code)) onWarning?.();
    });
    client.on('notification', (/** @type {{ payload?: string }} */ { payload }) => onNotice?.(payload ?? ''));
    try {
      await client.connect();
      this.#client = client;
      await this.exec(session);
      await prepare?.(this);
    } catch (error) {
      destroy(client);
      if (this.#client === client) this.#client = null;
      throw error;
    }
    if (this.#isClosed || this.#client !== client) {
      destroy(client);
      throw new Error('The connection ended.');
    }
    this.#backoff.reset();
    this.isUp = true;
    onUp();
  }

  /** @type {Transaction['get']} */
  async get(sql, ...values) {
    return (await this.#query(sql, values)).rows[0];
  }

  /** @type {Transaction['all']} */
  async all(sql, ...values) {
    return (await this.#query(sql, values)).rows;
  }

  /** @type {Transaction['run']} */
  async run(sql, ...values) {
    return (await this.#query(sql, values)).rowCount ?? 0;
  }

  /**
   * Runs a statement whose parameters are lists or long byte strings.
   * @param {string} sql
   * @param {unknown[]} values
   * @returns {Promise<Record<string, any>[]>}
   */
  async rows(sql, values) {
    return (await this.#query(sql, values)).rows;
  }

  /** @returns {number} of the process of the server, 0 = not connected */
  get backend() {
    return this.#client?.processID ?? 0;
  }

  /**
   * Runs statements without parameters.
   * @param {string} sql
   * @returns {Promise<string>} the server's word for the last one
   */
  async exec(sql) {
    const result = await this.#send(sql);
    return (Array.isArray(result) ? result.at(-1) : result).command;
  }

  close() {
    this.#isClosed = true;
    this.isUp = false;
    if (this.#timer) clearTimeout(this.#timer);
    const client = this.#client ?? this.#opening;
    this.#client = null;
    // The goodbye may find a server that does not answer any more.
    client?.end().catch(() => {});
    setTimeout(() => client && destroy(client), 1000).unref();
  }

  /** Ends the connection as the network would, for tests and after a fault of it. @param {Error} [error] */
  drop(error = new Error('The connection was dropped.')) {
    if (this.#client) this.#lost(this.#client, error);
  }

  /** @param {string} text @param {unknown[]} values */
  #query(text, values) {
    let name = this.#names.get(text);
    if (name === undefined) this.#names.set(text, (name = `s${this.#names.size}`));
    return this.#send({ name, text, values });
  }

  /** @param {any} query @returns {Promise<any>} */
  async #send(query) {
    const client = this.#client;
    if (!client) throw Object.assign(new Error('The database is not available.'), { isLoss: true });
    try {
      return await client.query(query);
    } catch (/** @type {any} */ error) {
      // Errors of the server have a severity, in its language; those of the network have none.
      const isLost = !error.severity || LOSSES.test(error.code);
      if (isLost) this.#lost(client, error);
      throw isLost ? Object.assign(error, { isLoss: true }) : error;
    }
  }

  /** @param {any} client @param {Error} error */
  #lost(client, error) {
    if (client !== this.#client) return;
    this.#client = null;
    destroy(client);
    const wasUp = this.isUp;
    this.isUp = false;
    if (!wasUp || this.#isClosed) return;
    this.#parts.onDown(error);
    this.#again();
  }

  #again() {
    if (this.#isClosed) return;
    // A process that has nothing else to do may end.
    this.#timer = setTimeout(() => this.start().catch(() => this.#again()), this.#backoff.next()).unref();
  }
}

/** @param {any} client */
function destroy(client) {
  client.connection.stream.destroy();
}

exports.PostgresConnection = PostgresConnection;
exports.isLoss = isLoss;

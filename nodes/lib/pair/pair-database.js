'use strict';
// The connections of one log to the server of PostgreSQL that can be written. All of them end when one of them fails;
// then the log opens new ones, to the next server that can be written.

const { loadPg, newClient } = require('../postgres/client');
const { PostgresConnection } = require('../postgres/connection');
const { parsePostgresUrls } = require('../postgres/url');
const { SCHEMA, setUp } = require('./schema');

/** @typedef {PostgresConnection} Connection */
/** @typedef {import('../postgres/url').Address} Address */

const CONNECT_MS = 2000;
const ANSWER_MS = 2000;
const OPEN_MS = 4000;
const READ_MS = 10000;
/** A transaction waits while no standby confirms it, so its connection has no limit. */
const NEVER = 0;
/** A process of the server that hangs in a transaction must not keep the lease locked. */
const SESSION = `SET search_path = ${SCHEMA}; SET lock_timeout = '2s'; SET idle_in_transaction_session_timeout = '2s';
SET tcp_keepalives_idle = 2; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 3; SET jit = off;
SET statement_timeout = 0`;

/** Whether COMMIT waits for the standby: only where the promise depends on it. */
const WAITS = "SET synchronous_commit = 'on'";
const WAITS_NOT = "SET synchronous_commit = 'local'";
/** A sign of life need not survive a power cut. */
const HURRIES = "SET synchronous_commit = 'off'";

class PairDatabase {
  /** @type {(error: Error) => void} */
  #onDown = () => {};
  #isClosed = false;
  #waits = false;

  /**
   * @param {Record<'writer' | 'reader' | 'keeper' | 'prober', Connection>} connections
   * @param {string} shown
   */
  constructor({ writer, reader, keeper, prober }, shown) {
    /** Runs the transactions of the log. */
    this.writer = writer;
    this.reader = reader;
    /** Gives the signs of life of the owner. */
    this.keeper = keeper;
    /** Finds out whether a standby confirms commits. */
    this.prober = prober;
    /** The server, for messages. */
    this.shown = shown;
  }

  /**
   * Connects to the first server that can be written, and creates the tables if necessary.
   * @param {string} url see parsePostgresUrls()
   * @param {object} parts
   * @param {string} parts.name the application_name of the connections
   * @param {(error: Error) => void} parts.onDown called once, when they cannot be used any more
   * @param {() => void} parts.onWarning the writer got a warning
   * @returns {Promise<PairDatabase>} rejects with a sentence
   */
  static async open(url, { name, onDown, onWarning }) {
    const pg = loadPg();
    const addresses = parsePostgresUrls(url);
    /** @type {string[]} */
    const reasons = [];
    for (const address of addresses) {
      /** @type {PairDatabase | null} */
      let database = null;
      const made = connections(pg, address, name, {
        onDown: (error) => database?.fail(error),
        onWarning
      });
      const close = () => Object.values(made).forEach((connection) => connection.close());
      // A server that hangs accepts connections, and answers nothing.
      const late = setTimeout(close, OPEN_MS);
      try {
        await made.writer.start();
        await setUp(made.writer, address.shown);
        await Promise.all([made.reader.start(), made.keeper.start(), made.prober.start()]);
        database = new PairDatabase(made, address.shown);
        database.#onDown = onDown;
        return database;
      } catch (error) {
        close();
        reasons.push(`${address.shown}: ${/** @type {Error} */ (error).message}`);
      } finally {
        clearTimeout(late);
      }
    }
    throw new Error(`The database of the log cannot be written: ${reasons.join(' · ')}.`);
  }

  /** @returns {number[]} processes of the server that work for these connections */
  get backends() {
    return [this.writer, this.reader, this.keeper, this.prober].map(({ backend }) => backend);
  }

  /** @param {boolean} waits for the standby at each commit of the writer */
  async setWaits(waits) {
    const before = this.#waits;
    this.#waits = waits;
    // A transaction that waits is on the disk of this server.
    if (before && !waits) await this.keeper.get('SELECT pg_cancel_backend($1)', this.writer.backend);
    await this.writer.exec(waits ? WAITS : WAITS_NOT);
  }

  /** Ends all connections after a fault. @param {Error} error */
  fail(error) {
    if (this.#isClosed) return;
    this.close();
    this.#onDown(error);
  }

  close() {
    this.#isClosed = true;
    for (const connection of [this.writer, this.reader, this.keeper, this.prober]) connection.close();
  }
}

/**
 * @param {any} pg
 * @param {Address} address
 * @param {string} name
 * @param {{ onDown: (error: Error) => void, onWarning: () => void }} parts
 */
function connections(pg, address, name, { onDown, onWarning }) {
  const session = `SET application_name = '${name}'; ${SESSION}`;
  const make = (/** @type {number} */ answerMs, /** @type {string} */ waits, more = {}) =>
    new PostgresConnection({
      newClient: () => newClient(pg, address, '', { connectMs: CONNECT_MS, answerMs }),
      session: `${session}; ${waits}`,
      prepare: async (db) => {
        const found = await db.get('SELECT pg_is_in_recovery() AS yes');
        if (found?.yes) throw new Error('it is a standby, which cannot be written');
      },
      onUp: () => {},
      onDown,
      ...more
    });
  return {
    writer: make(NEVER, WAITS_NOT, { onWarning }),
    reader: make(READ_MS, WAITS_NOT),
    keeper: make(ANSWER_MS, HURRIES),
    prober: make(NEVER, WAITS)
  };
}

exports.PairDatabase = PairDatabase;

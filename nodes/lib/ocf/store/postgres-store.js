'use strict';
// Accounts and directory in PostgreSQL, which several gateways may share.
//
// Writes share transactions, as in SQLite. A transaction holds one advisory lock, so those of all gateways run one
// after the other, and an operation needs no other care for concurrency. Reads have connections of their own, and
// wait for no write.
//
// The answer to a COMMIT may be lost. The outcome of the transaction is then unknown, so its writes stay open.
// Each transaction sets the number of its batch in the row of this store in the table `writer`. When the connection is
// back, the store takes the lock, which it gets only after the earlier transaction has ended, and reads the row: the
// number of the batch means committed, another one means not applied. The row is replicated with the data, so this also
// holds after a failover; the server's transaction numbers would not. Without an answer in 30 s the writes fail with
// OUTCOME_UNKNOWN. The store never sends a write twice. The client may repeat its request: 5.03 does not mean that the
// change was not made.

const { randomUUID } = require('node:crypto');
const { CallFigures } = require('./call-figures');
const { GroupCommit, closed } = require('./group-commit');
const { CHANGES, READS, WRITES } = require('./operations');
const { loadPg, newClient } = require('../../postgres/client');
const { PostgresConnection, isLoss } = require('../../postgres/connection');
const { BEGIN, SESSION, setUp } = require('./postgres-setup');
const { parsePostgresUrl } = require('../../postgres/url');

/** @typedef {import('./operations').Store} Store */
/** @typedef {import('./group-commit').Job} Job */
/** @typedef {PostgresConnection} Connection */

const READERS = 3;
/** Reads that wait. Beyond that, a read fails at once. */
const MOST_READS = 4096;
/** Time in which the outcome of a transaction must be known. */
const OUTCOME_MS = 30000;
const PROBE_MS = 100;
/** Time that close() gives to the writes that wait. */
const CLOSE_MS = 5000;
/** Changed devices that one transaction tells others by name; beyond that, they look at everything. */
const MOST_TOLD = 64;
const CHANNEL = 'seganet_ocf';

/** @implements {Store} */
class PostgresStore {
  #id = randomUUID();
  #batch = 0;
  #writer;
  /** @type {Connection[]} */
  #readers;
  /** Readers that have nothing to do. @type {Set<Connection>} */
  #idle = new Set();
  /** @type {{ run: (reader: Connection) => Promise<any>, resolve: (value: any) => void, reject: (error: Error) => void }[]} */
  #reads = [];
  #writes = new GroupCommit((take) => this.#commit(take));
  #figures = new CallFigures();
  #report;
  #shown;
  #isClosed = false;
  #isTold = false;
  /** What other gateways changed. @type {Set<string> | 'all'} */
  #changes = new Set();
  /** Commits so far, for tests of the grouping. */
  commits = 0;

  /**
   * Use open().
   * @param {any} pg the client's module
   * @param {import('../../postgres/url').Address} address
   * @param {{ password: string, creates: boolean, report: (sentence: string) => void }} options
   */
  constructor(pg, address, { password, creates, report }) {
    this.#report = report;
    this.#shown = address.shown;
    const parts = {
      newClient: () => newClient(pg, address, password),
      session: SESSION,
      onUp: () => this.#isUp(),
      onDown: (/** @type {Error} */ error) => this.#isDown(error)
    };
    this.#writer = new PostgresConnection({
      ...parts,
      prepare: (db) => setUp(db, { creates, shown: address.shown })
    });
    this.#readers = Array.from({ length: READERS }, (_, i) => {
      const isListening = i === 0;
      /** @type {Connection} */
      const reader = new PostgresConnection({
        ...parts,
        onUp: () => {
          this.#idle.add(reader);
          this.#isUp();
          this.#pump();
        },
        onDown: (error) => {
          this.#idle.delete(reader);
          this.#isDown(error);
        },
        ...(isListening && {
          prepare: async (db) => {
            await db.exec(`LISTEN ${CHANNEL}`);
            // What others changed while it did not listen is not known.
            this.#changes = 'all';
          },
          onNotice: (payload) => this.#noticed(payload)
        })
      });
      return reader;
    });
  }

  /**
   * Connects, and creates the tables if necessary.
   * @param {string} url
   * @param {{ password?: string, creates?: boolean, report?: (sentence: string) => void }} [options] report gets what
   *   happens to the connection later
   * @returns {Promise<PostgresStore>}
   * @throws {Error} with a sentence
   */
  static async open(url, { password = '', creates = true, report = () => {} } = {}) {
    const address = parsePostgresUrl(url);
    const store = new PostgresStore(loadPg(), address, { password, creates, report });
    try {
      // The tables first.
      await store.#writer.start();
      await Promise.all(store.#readers.map((reader) => reader.start()));
    } catch (error) {
      await store.close();
      throw asSentence(error, address.shown);
    }
    store.#changes = new Set();
    return store;
  }

  /** @type {Store['read']} */
  read(name, input) {
    return this.#figures.count('read', this.#read(name, input));
  }

  /** @type {Store['read']} */
  #read(name, input) {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(closed());
      if (!this.#readers.some(({ isUp }) => isUp)) return reject(away());
      if (this.#reads.length >= MOST_READS) return reject(new Error('The database is too busy.'));
      const run = (/** @type {Connection} */ reader) => /** @type {any} */ (READS[name])(reader, input);
      this.#reads.push({ run, resolve, reject });
      this.#pump();
    });
  }

  /** @type {Store['write']} */
  write(name, input) {
    return this.#figures.count('write', this.#write(name, input));
  }

  /** @type {Store['write']} */
  async #write(name, input) {
    if (!this.#isClosed && !this.#writer.isUp) throw away();
    return this.#writes.write(name, input);
  }

  /** @type {Store['takeChanges']} */
  async takeChanges() {
    const changes = this.#changes;
    this.#changes = new Set();
    return changes === 'all' ? changes : [...changes];
  }

  /** @type {Store['figures']} */
  figures() {
    return this.#figures.snapshot();
  }

  /** Commits what waits, and ends the connections. */
  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // A server that does not answer must not hold up the gateway's end.
    const timer = setTimeout(() => this.drop(), CLOSE_MS);
    await this.#writes.close();
    clearTimeout(timer);
    for (const { reject } of this.#reads.splice(0)) reject(closed());
    for (const each of [this.#writer, ...this.#readers]) each.close();
  }

  /** Ends the connections as a failing network would. */
  drop() {
    for (const each of [this.#writer, ...this.#readers]) each.drop();
  }

  /** The connection that writes, for tests of the statements. */
  get tx() {
    return this.#writer;
  }

  get isUp() {
    return [this.#writer, ...this.#readers].every(({ isUp }) => isUp);
  }

  #pump() {
    for (const reader of this.#idle) {
      const job = this.#reads.shift();
      if (!job) return;
      this.#idle.delete(reader);
      job
        .run(reader)
        .then(job.resolve, (error) => job.reject(isLoss(error) ? away() : error))
        .finally(() => {
          if (reader.isUp) this.#idle.add(reader);
          this.#pump();
        });
    }
  }

  #isUp() {
    if (!this.#isTold || !this.isUp) return;
    this.#isTold = false;
    this.#report(`The database ${this.#shown} is available again.`);
  }

  /** @param {Error} error */
  #isDown(error) {
    if (!this.#writer.isUp) this.#writes.failWaiting(away());
    if (!this.#readers.some(({ isUp }) => isUp))
      for (const { reject } of this.#reads.splice(0)) reject(away());
    if (this.#isTold) return;
    this.#isTold = true;
    this.#report(
      `The database ${this.#shown} is not available (${error.message}). Requests that need it are answered with 5.03 until it is back.`
    );
  }

  /** @param {string} payload of a notification: who changed it, and what */
  #noticed(payload) {
    const [id, what] = payload.split(' ');
    if (id === this.#id || this.#changes === 'all') return;
    if (what === 'all' || this.#changes.size >= MOST_TOLD * MOST_TOLD) this.#changes = 'all';
    else this.#changes.add(what);
  }

  /** @param {() => Job | undefined} take */
  async #commit(take) {
    /** @type {Job[]} */
    const jobs = [];
    /** @type {(() => void)[]} */
    const outcomes = [];
    /** @type {Set<string>} */
    const changed = new Set();
    const batch = ++this.#batch;
    let isSent = false;
    try {
      for (let job = take(); job; job = take()) {
        jobs.push(job);
        if (jobs.length === 1) await this.#writer.exec(`${BEGIN}; SAVEPOINT operation`);
        outcomes.push(await this.#runOne(job, changed));
      }
      await this.#mark(batch, changed);
      isSent = true;
      // A transaction in which a statement failed answers ROLLBACK, and no error.
      if ((await this.#writer.exec('COMMIT')) !== 'COMMIT') throw new Error('The database undid the change.');
    } catch (error) {
      const failure = await this.#outcome(/** @type {Error} */ (error), isSent, batch);
      if (failure) {
        for (const { reject } of jobs) reject(failure);
        return;
      }
    }
    this.commits++;
    for (const settle of outcomes) settle();
  }

  /**
   * @param {Job} job
   * @param {Set<string>} changed gets what others must know
   * @returns {Promise<() => void>} settles its promise
   */
  async #runOne({ name, input, resolve, reject }, changed) {
    try {
      const result = await /** @type {any} */ (WRITES[name])(this.#writer, input);
      await this.#writer.exec('RELEASE SAVEPOINT operation; SAVEPOINT operation');
      const told = /** @type {any} */ (CHANGES)[name]?.(input, result) ?? [];
      for (const each of told === 'all' ? ['all'] : told) changed.add(each);
      return () => resolve(result);
    } catch (error) {
      if (isLoss(error)) throw error;
      await this.#writer.exec('ROLLBACK TO SAVEPOINT operation');
      return () => reject(/** @type {Error} */ (error));
    }
  }

  /** @param {number} batch @param {Set<string>} changed */
  async #mark(batch, changed) {
    await this.#writer.run(
      'INSERT INTO writer (id, batch, at) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, at = excluded.at',
      this.#id,
      batch,
      Date.now()
    );
    if (changed.size === 0) return;
    const told = changed.size > MOST_TOLD || changed.has('all') ? ['all'] : [...changed];
    // Sent with the commit, and only then.
    const payloads = JSON.stringify(told.map((each) => `${this.#id} ${each}`));
    await this.#writer.all(
      `SELECT pg_notify('${CHANNEL}', payload) FROM json_array_elements_text($1::json) AS payload`,
      payloads
    );
  }

  /**
   * Finds out what became of a transaction that failed.
   * @param {Error} error
   * @param {boolean} isSent COMMIT was sent
   * @param {number} batch
   * @returns {Promise<Error | null>} null: it was committed after all
   */
  async #outcome(error, isSent, batch) {
    if (!isLoss(error) || !isSent) {
      await this.#writer.exec('ROLLBACK').catch(() => {});
      return isLoss(error) ? away() : error;
    }
    const deadline = Date.now() + OUTCOME_MS;
    while (Date.now() < deadline && !this.#isClosed) {
      if (this.#writer.isUp) {
        try {
          await this.#writer.exec(BEGIN);
          const row = await this.#writer.get('SELECT batch FROM writer WHERE id = $1', this.#id);
          await this.#writer.exec('COMMIT');
          return row?.batch === batch ? null : away();
        } catch {
          await this.#writer.exec('ROLLBACK').catch(() => {});
        }
      }
      await new Promise((resolve) => setTimeout(resolve, PROBE_MS));
    }
    // What this process believes may be wrong.
    this.#changes = 'all';
    return Object.assign(new Error('The database did not tell whether the change was made.'), {
      code: 'OUTCOME_UNKNOWN'
    });
  }
}

function away() {
  return new Error('The database is not available.');
}

/** @param {any} error @param {string} shown */
function asSentence(error, shown) {
  if (/^[A-Z].*\.$/s.test(error.message)) return error;
  if (/password must be a (non-empty )?string/.test(error.message)) {
    return new Error(
      `The database ${shown} asks for a password. Enter it in the node, or set PGPASSWORD or PGPASSFILE.`,
      { cause: error }
    );
  }
  return new Error(`The database ${shown} cannot be used: ${error.message || error.code}.`, { cause: error });
}

exports.PostgresStore = PostgresStore;

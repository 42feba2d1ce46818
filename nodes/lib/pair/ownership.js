'use strict';
// The part of a gateway in its pair: it connects to the database, takes the log when nobody has it, gives signs of life
// while it has it, and reports whether commits are on two machines.

const { Lease, nameOf } = require('./lease');
const { PairDatabase } = require('./pair-database');
const { Replication } = require('./replication');

/** Between two signs of life, and between two looks of the standby. */
const BEAT_MS = 300;
const LOOK_MS = 150;
/** Longest time for one look, which may count the rows of the log. */
const LOOK_LIMIT_MS = 15000;
const [RETRY_MIN_MS, RETRY_MAX_MS] = [100, 1000];
/** Longest time for the release of the lease at the end. */
const RELEASE_MS = 1000;

/**
 * The log, while this gateway has it: a statement finds the row of the lease only with this epoch.
 * @typedef {{ database: PairDatabase, log: string, epoch: number }} Use
 *
 * @typedef {object} OwnershipParts
 * @property {import('./options').CheckedPairOptions} options
 * @property {string} holder a random word for this process
 * @property {Float64Array} memory survives the thread: [1] the epoch, [2] the last transaction that is known to be good
 * @property {(use: Use, batch: number) => Promise<void>} open the log can be written from now on; batch: its last
 *   transaction
 * @property {() => void} changed the part or the trouble has changed
 * @property {(isReplicated: boolean) => Promise<void>} tell resolves when the engine knows whether a commit is on two
 *   machines
 * @property {(reason: string) => void} fenced another gateway has the log, or rows of it are gone: this process must
 *   not continue
 * @property {() => number} now monotonic ms
 */

class Ownership {
  #parts;
  #lease;
  /** Standing or not, connections that work. @type {PairDatabase | null} */
  #connected = null;
  /** @type {Replication | null} */
  #replication = null;
  /** Steps of #replicationChanged(), one after the other. */
  #telling = Promise.resolve();
  #tries = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #lookTimer;
  /** @type {NodeJS.Timeout | undefined} */
  #beatTimer;
  #isStopping = false;
  #isClosed = false;

  /** @param {OwnershipParts} parts */
  constructor(parts) {
    const { options, holder, memory, now } = parts;
    const { name: log, place, waitMs } = options;
    this.#parts = parts;
    this.#lease = new Lease({ log, holder, place, waitMs, now });
    this.#lease.epoch = memory[1];
    /** @type {'opening' | 'standby' | 'active'} */
    this.role = 'opening';
    /** Why the database cannot be used, a sentence; '' = it can. */
    this.why = '';
    /** Null unless this gateway has the log and can write it. @type {Use | null} */
    this.use = null;
    /** The engine believes that each commit is on two machines. */
    this.counts = false;
    /** The server warned since this was last set to false: a commit may be on one machine only. */
    this.hasWarned = false;
  }

  start() {
    void this.#look();
  }

  /** For the status page and the health checks. */
  get view() {
    const reason = this.#replication?.reason ?? '';
    const isReplicated = this.counts && reason === '';
    const { owner, epoch } = this.#lease;
    return { role: this.role, owner, epoch, isReplicated, reason };
  }

  /** Does not take the log from now on. */
  stop() {
    this.#isStopping = true;
  }

  /** Closes the connections. @param {boolean} releases lets the other gateway have the log at once */
  async close(releases) {
    this.#isClosed = true;
    this.#replication?.close();
    clearTimeout(this.#beatTimer);
    clearTimeout(this.#lookTimer);
    const { use } = this;
    this.use = null;
    if (use && releases) {
      const late = new Promise((resolve) => setTimeout(resolve, RELEASE_MS).unref());
      await Promise.race([this.#lease.release(use.database).catch(() => {}), late]);
    }
    this.#connected?.close();
  }

  /** Ends this process: another gateway has the log. @param {string} [reason] */
  end(reason) {
    const owner = this.#lease.owner || 'another machine';
    this.#connected?.close();
    this.#connected = null;
    this.use = null;
    this.#isClosed = true;
    clearTimeout(this.#beatTimer);
    this.#parts.fenced(
      reason ?? `The gateway on ${owner} has taken the log, because this one gave no sign of life.`
    );
  }

  /** Connects, and takes the log if nobody has it. Otherwise it tries again after a moment. */
  async #look() {
    if (this.#isClosed || this.#isStopping) return;
    /** @type {NodeJS.Timeout | undefined} */
    let late;
    /** @type {PairDatabase | null} */
    let database = null;
    try {
      database = await this.#connection();
      // No commit on one machine before the engine knows that such commits do not count.
      await this.#telling;
      const fail = database.fail.bind(database);
      late = setTimeout(fail, LOOK_LIMIT_MS, new Error('it does not answer'));
      if (await this.#lease.isLost(database)) return this.end();
      const taken = await this.#lease.take(database);
      if (taken) await this.#open(database, taken.batch);
      else if (this.role !== 'standby') this.#become('standby');
      if (this.#connected !== database) return;
      this.#tries = 0;
      if (!taken) this.#lookTimer = setTimeout(() => void this.#look(), LOOK_MS);
    } catch (error) {
      // Connections that failed earlier are already being replaced.
      if (!database || this.#connected === database) this.#failed(/** @type {Error} */ (error));
    } finally {
      clearTimeout(late);
    }
  }

  /** @returns {Promise<PairDatabase>} rejects with a sentence */
  async #connection() {
    this.#connected ??= await this.#connect();
    return this.#connected;
  }

  async #connect() {
    const database = await PairDatabase.open(this.#parts.options.url, {
      name: nameOf(this.#parts.holder),
      onDown: (error) => this.#failed(error),
      onWarning: () => (this.hasWarned = true)
    });
    if (this.#isClosed) database.close();
    this.#lease.connected();
    return database;
  }

  /** @param {PairDatabase} database @param {number} batch of the last transaction of the log */
  async #open(database, batch) {
    const { memory, options, open } = this.#parts;
    if (batch < memory[2]) {
      return this.end('PostgreSQL lost rows of the log when another server became the primary.');
    }
    const use = { database, log: options.name, epoch: this.#lease.epoch };
    memory[1] = use.epoch;
    memory[2] = batch;
    await open(use, batch);
    if (this.#connected !== database) return;
    this.use = use;
    this.#replication = new Replication(database, use.log, (reason) =>
      this.#replicationChanged(database, reason)
    );
    this.#replication.start();
    this.#become('active');
    this.#beat(database);
  }

  /** @param {PairDatabase} database */
  #beat(database) {
    this.#beatTimer = setTimeout(async () => {
      try {
        if (!(await this.#lease.beat(database))) return this.end();
      } catch (error) {
        return database.fail(/** @type {Error} */ (error));
      }
      if (this.use?.database === database) this.#beat(database);
    }, BEAT_MS);
  }

  /**
   * Informs the engine first, so that no device gets an acknowledgement for a record that is on one machine only.
   * @param {PairDatabase} database
   * @param {string} reason '' = commits are on two machines
   */
  #replicationChanged(database, reason) {
    this.#telling = this.#telling
      .then(async () => {
        if (this.use?.database !== database) return;
        if (reason) {
          await this.#tell(false);
          await database.setWaits(false);
        } else {
          await database.setWaits(true);
          const isConfirmed = await this.#replication?.confirm();
          if (this.use?.database !== database) return;
          if (isConfirmed) await this.#tell(true);
          else await database.setWaits(false);
        }
        this.#parts.changed();
      })
      .catch((error) => database.fail(error));
    return this.#telling;
  }

  /** @param {boolean} counts */
  async #tell(counts) {
    await this.#parts.tell(counts);
    this.counts = counts;
  }

  /** @param {Error} error of the connections */
  #failed(error) {
    const wasActive = this.use !== null;
    this.#connected?.close();
    this.#connected = null;
    this.use = null;
    this.#replication?.close();
    this.#replication = null;
    clearTimeout(this.#beatTimer);
    clearTimeout(this.#lookTimer);
    if (this.#isClosed) return;
    if (wasActive) this.#telling = this.#telling.then(() => this.#tell(false)).catch(() => {});
    if (this.role === 'standby') this.role = 'opening';
    const isSentence = /^[A-Z].*\.$/s.test(error.message);
    const sentence = `The connection to the database of the log failed (${error.message}).`;
    this.why = isSentence ? error.message : sentence;
    this.#parts.changed();
    const wait = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(10, this.#tries++));
    this.#lookTimer = setTimeout(() => void this.#look(), wait);
  }

  /** @param {'standby' | 'active'} role */
  #become(role) {
    this.role = role;
    this.why = '';
    this.#parts.changed();
  }
}

exports.Ownership = Ownership;

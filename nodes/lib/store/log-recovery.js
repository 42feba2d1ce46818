'use strict';

const path = require('node:path');
const { Database } = require('./log-database');
const { Reserve, rewriteWal } = require('./log-folder');
const { explain, isDamage, isFull, isStorage } = require('./log-reasons');
const { FILE } = require('./log-schema');
const { Reopening } = require('./reopening');

/** @typedef {import('./log-reasons').Reason} Reason */
/** @typedef {ReturnType<Database['totals']>} Totals */

/**
 * Pages moved in one transaction: more would not fit into SQLite's cache, and would go through the WAL page by page.
 */
const VACUUM_PAGES = 256;
const VACUUM_STEPS = 16;
const MIN_FREE_PAGES = 1024;

/**
 * Maintains the connection, and restores it after a failure.
 *
 * A failed statement or COMMIT is never tried again as if it could still work. After a failed sync, the kernel may have
 * marked pages clean that are not on disk, so the next sync of the same pages would "work". Therefore:
 *  1. All of the transaction counts as not written. Its chunks go back to the engine and return under new tickets and
 *     row numbers.
 *  2. Before anything else is written, the WAL is checkpointed with TRUNCATE, on the connection that failed: its index
 *     of the WAL ends at the last commit that was synced, so the frames of the failed one are not copied, and are gone
 *     with the truncation. Every page since the last good checkpoint is written to the database again and synced.
 *     SQLite advances its mark (nBackfill) only after that sync, so a checkpoint that fails starts over with all pages.
 *     A new connection would find the failed frames in the page cache, take them for a commit, and copy their pages
 *     into the database; a power failure in the middle of that would leave a database that no WAL can repair.
 *  3. Then the connection is closed and opened again, and rows above the last good commit are deleted.
 *
 * A new connection takes over the existing WAL only if the old connection is useless (its file was replaced, or its
 * disk returned under a new descriptor), and at the start. The WAL is written over itself and synced first, see
 * rewriteWal.
 */
class LogRecovery {
  /**
   * @param {object} context
   * @param {import('./log-options').CheckedOptions} context.options
   * @param {Float64Array} context.rows [0] the last row number used in this process; survives the thread
   * @param {(totals: Totals) => void} context.adopt called with the totals of the database that was opened
   * @param {() => void} context.lost the database was set aside with all of its rows
   * @param {() => void} context.wake a recovery was tried; the state may have changed
   * @param {(code: string, reason: string) => void} context.problem
   */
  constructor({ options, rows, adopt, lost, wake, problem }) {
    this.options = options;
    this.directory = options.directory;
    this.rows = rows;
    this.adopt = adopt;
    this.lost = lost;
    this.wake = wake;
    this.problem = problem;
    this.reserve = new Reserve(options.directory);
    /** @type {Database | null} */
    this.database = null;
    /** Nothing may be written before the connection is restored. */
    this.isBroken = true;
    /** The connection failed, so it is renewed once it is clean. */
    this.isStale = false;
    /** The disk is full: only deletions are allowed. */
    this.isDry = false;
    /** The present problem. @type {Reason | null} */
    this.why = null;
    this.reopening = new Reopening(path.join(options.directory, FILE));
    /** Consecutive failures that indicate a damaged file. */
    this.damages = 0;
    this.lastGoodRow = -1;
    /** Times that free space was returned to the disk. */
    this.shrinks = 0;
    /** Dead letters of a transaction that has not been committed yet. @type {import('./dead-letters').Moved[]} */
    this.moving = [];
    /** @type {NodeJS.Timeout | undefined} */
    this.retryTimer = undefined;
    this.isClosed = false;
  }

  /** Opens the log, or restores it; after that it can be written again. */
  start() {
    if (this.isClosed) return;
    this.retryTimer = undefined;
    try {
      this.#giveUp();
      const database = this.database ?? this.#open();
      if (this.isBroken) this.#clean(database);
      this.#findSpace();
    } catch (error) {
      this.fault(error);
    }
    this.wake();
  }

  /** A commit succeeded. */
  good() {
    this.damages = 0;
    this.lastGoodRow = this.rows[0];
    this.moving = [];
  }

  /**
   * Handles a failure: nothing is written until the log is restored. Throws errors that the disk did not cause.
   * @param {any} error
   */
  fault(error) {
    if (!isStorage(error)) throw error;
    if (isDamage(error) && error.row === undefined) this.damages++;
    // Reads continue, and may fail too; that must not delay the next try.
    if (this.isBroken && this.retryTimer) return;
    this.why = explain(error, this.directory);
    if (isFull(error)) this.isDry = true;
    this.isBroken = true;
    this.isStale = this.database !== null;
    const { retryMinMs, retryMaxMs, refusedMs } = this.options;
    const wait = this.reopening.failed(retryMinMs, retryMaxMs);
    this.#retryIn(this.why.kind === 'refused' ? refusedMs : wait);
  }

  /**
   * Checks that the files are still ours, and returns free space to the disk.
   * @param {boolean} isQuiet there is nothing else to do
   */
  inspect(isQuiet) {
    const { database } = this;
    if (!database || this.isBroken) return;
    try {
      // The checkpoint that follows a fault saves the content of a deleted WAL; a replaced file cannot be saved.
      if (database.isReplaced() || database.hasLostWal()) {
        throw Object.assign(new Error('the log was moved or deleted'), { code: 'MOVED' });
      }
      if (isQuiet || this.isDry) this.#shrink(database);
    } catch (error) {
      this.fault(error);
      this.wake();
    }
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.retryTimer);
    this.database?.close();
    this.database = null;
  }

  /** @param {number} ms */
  #retryIn(ms) {
    clearTimeout(this.retryTimer);
    this.retryTimer = setTimeout(() => this.start(), ms);
  }

  /** Gives up a useless connection. */
  #giveUp() {
    const { database } = this;
    if (!database) return;
    const isDamaged = this.damages > 1 && this.reopening.asideInMs === 0;
    const isHopeless = this.reopening.isHopeless && this.why?.code.startsWith('SQLITE_IOERR');
    const isReplaced = database.isReplaced();
    if (!isDamaged && !isHopeless && !isReplaced) return;
    database.close();
    this.database = null;
    if (isReplaced) {
      this.problem('LOG_MOVED', explain({ code: 'MOVED' }, this.directory).reason);
      this.lost();
    } else if (isDamaged) this.#setAside();
  }

  /** @returns {Database} */
  #open() {
    let opened;
    try {
      opened = connect(this.directory);
    } catch (error) {
      if (!isDamage(error) || this.reopening.asideInMs > 0) throw error;
      this.why = explain(error, this.directory);
      this.#setAside();
      opened = connect(this.directory);
    }
    this.#take(opened);
    rewriteWal(this.directory);
    this.isStale = false;
    opened.database.mendClasses();
    return opened.database;
  }

  /** @param {{database: Database, totals: Totals}} opened */
  #take({ database, totals }) {
    this.database = database;
    // Numbers of deleted rows remain used: the engine may still refer to them.
    this.rows[0] = Math.max(this.rows[0], totals.lastRow);
    if (this.lastGoodRow < 0) this.lastGoodRow = totals.lastRow;
    this.adopt(totals);
  }

  /** @param {Database} database */
  #clean(database) {
    // The WAL's content may not fit into the database on a full disk.
    if (this.isDry) this.reserve.release();
    database.checkpoint('TRUNCATE');
    if (this.isStale) {
      database.close();
      this.database = null;
      this.#take(connect(this.directory));
      this.isStale = false;
    }
    // Before the chunks that they became are deleted.
    this.database?.restoreDead(this.moving);
    const isRestored = this.moving.length > 0;
    this.moving = [];
    const isDeleted = this.database?.deleteAbove(this.lastGoodRow);
    if (this.database && (isRestored || isDeleted)) this.adopt(this.database.totals());
    this.isBroken = false;
  }

  /** Chunks are accepted when the reserve exists again; until then its space serves deletions. */
  #findSpace() {
    try {
      this.reserve.restore();
      this.isDry = false;
      this.why = null;
      this.reopening.succeeded();
    } catch (error) {
      if (!isFull(error)) throw error;
      this.isDry = true;
      this.why = explain(error, this.directory);
      this.#retryIn(this.options.retryMaxMs);
    }
  }

  #setAside() {
    const name = this.reopening.setAside();
    this.damages = 0;
    this.problem(
      'LOG_DAMAGED',
      `The log was damaged (${this.why?.code}). It was renamed to ${name}, and a new log was started. The records in the old log are not delivered until you stop the gateway and run: seganet-log repair ${this.directory}`
    );
    this.lost();
  }

  /**
   * Shrinks the file. Pages are moved only when fewer are in use than free, so each is moved once each time the log was
   * full; or on a full disk, which needs space before the log can continue.
   * @param {Database} database
   */
  #shrink(database) {
    const isWorthIt = () => {
      const { free, used } = database.pages();
      return free >= (this.isDry ? VACUUM_PAGES : Math.max(MIN_FREE_PAGES, used));
    };
    if (!isWorthIt()) return;
    this.shrinks++;
    for (let step = 0; step < VACUUM_STEPS && isWorthIt(); step++) database.vacuum(VACUUM_PAGES);
    // Only this truncates the file.
    database.checkpoint('TRUNCATE');
  }
}

/** @param {string} directory */
function connect(directory) {
  const database = new Database(directory);
  try {
    return { database, totals: database.totals() };
  } catch (error) {
    database.close();
    throw error;
  }
}

exports.LogRecovery = LogRecovery;

'use strict';

const { Database } = require('./log-database');
const { Reserve, rewriteWal, setAside } = require('./log-folder');
const { explain, isDamage, isFull, isStorage } = require('./log-reasons');

/** @typedef {import('./log-reasons').Reason} Reason */
/** @typedef {ReturnType<Database['totals']>} Totals */

/** A connection that never recovers (a disk that came back as another device) is given up after so many tries. */
const TRIES_A_CONNECTION = 8;
/** In one transaction: more would not fit into SQLite's cache, and go through the WAL page by page. */
const VACUUM_PAGES = 256;
const VACUUM_STEPS = 16;
const MIN_FREE_PAGES = 1024;
/** A disk that damages each fresh file must not be filled with them. */
const ASIDE_MS = 60000;

/**
 * Keeps the connection, and brings it back after a failure.
 *
 * A failed statement or COMMIT is never tried again as if it could still work. After a sync that failed the kernel may
 * have marked the pages clean that are not on disk, so the next sync of the same pages would "work". Therefore:
 *   1. All of the transaction counts as not written. Its chunks go back to the engine and come again under new tickets
 *      and row numbers.
 *   2. Before anything else is written, the WAL is checkpointed with TRUNCATE, on the connection that failed: its index
 *      of the WAL ends at the last commit that was synced, so the frames of the failed one are not copied, and are gone
 *      with the truncation. Every page since the last good checkpoint is written to the database anew and synced; SQLite
 *      moves its mark (nBackfill) only after that sync, so a checkpoint that fails starts over with all pages again.
 *      A new connection would find the failed frames in the page cache, take them for a commit, and copy their pages
 *      into the database; a power cut in the middle of that would leave a database that no WAL can mend.
 *   3. Then the connection is closed and opened again, and what is younger than the last good commit is deleted.
 * Only where that connection is of no use any more (its file is another one now, or its disk came back under a new
 * descriptor), and at the start, a new one takes the WAL that it finds; it is written over itself and synced first, see
 * rewriteWal.
 */
class LogRecovery {
  /**
   * @param {object} context
   * @param {import('./log-options').CheckedOptions} context.options
   * @param {Float64Array} context.rows [0] the last row number used in this process; outlives the thread
   * @param {(totals: Totals) => void} context.adopt what is in the database that was opened
   * @param {() => void} context.lost the database was set aside: nothing of it is there any more
   * @param {() => void} context.wake it was tried to bring the log back; the state may be another one
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
    /** Nothing may be written before the connection was seen to. */
    this.isBroken = true;
    /** The connection failed, so it is renewed once it is clean. */
    this.isStale = false;
    /** The disk is full: deletes alone. */
    this.isDry = false;
    /** What is wrong. @type {Reason | null} */
    this.why = null;
    this.tries = 0;
    /** Failures in a row that tell of a damaged file. */
    this.damages = 0;
    this.asideAt = -Infinity;
    this.lastGoodRow = -1;
    /** @type {NodeJS.Timeout | undefined} */
    this.retryTimer = undefined;
    this.isClosed = false;
  }

  /** Opens the log, or brings it back; then it may be written again. */
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

  /** A commit came through. */
  good() {
    this.damages = 0;
    this.lastGoodRow = this.rows[0];
  }

  /** Something failed: nothing is written from now on, until it is in order again. Throws what is not the disk's fault. @param {any} error */
  fault(error) {
    if (!isStorage(error)) throw error;
    if (isDamage(error) && error.row === undefined) this.damages++;
    // Reads go on, and may fail too; that must not put off the next try.
    if (this.isBroken && this.retryTimer) return;
    this.why = explain(error, this.directory);
    if (isFull(error)) this.isDry = true;
    this.isBroken = true;
    this.isStale = this.database !== null;
    const { retryMinMs, retryMaxMs, refusedMs } = this.options;
    const wait = Math.min(retryMaxMs, retryMinMs * 2 ** Math.min(this.tries, 20));
    this.tries++;
    this.#retryIn(this.why.kind === 'refused' ? refusedMs : wait);
  }

  /** Looks whether the files are still ours, and, when nothing else is to do, gives free space back. @param {boolean} isQuiet */
  inspect(isQuiet) {
    const { database } = this;
    if (!database || this.isBroken) return;
    try {
      // What is in a deleted WAL is saved by the checkpoint that follows a fault; a file that is another one cannot be.
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

  /** Leaves a connection that is of no use any more. */
  #giveUp() {
    const { database } = this;
    if (!database) return;
    const isDamaged = this.damages > 1 && this.#maySetAside();
    const isHopeless = this.tries % TRIES_A_CONNECTION === 0 && this.why?.code.startsWith('SQLITE_IOERR');
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
      if (!isDamage(error) || !this.#maySetAside()) throw error;
      this.why = explain(error, this.directory);
      this.#setAside();
      opened = connect(this.directory);
    }
    this.#take(opened);
    rewriteWal(this.directory);
    this.isStale = false;
    return opened.database;
  }

  /** @param {{database: Database, totals: Totals}} opened */
  #take({ database, totals }) {
    this.database = database;
    // Numbers of rows that are gone stay used: the engine may still speak of them.
    this.rows[0] = Math.max(this.rows[0], totals.lastRow);
    if (this.lastGoodRow < 0) this.lastGoodRow = totals.lastRow;
    this.adopt(totals);
  }

  /** @param {Database} database */
  #clean(database) {
    // What is in the WAL may have no room in the database of a full disk.
    if (this.isDry) this.reserve.release();
    database.checkpoint('TRUNCATE');
    if (this.isStale) {
      database.close();
      this.database = null;
      this.#take(connect(this.directory));
      this.isStale = false;
    }
    if (this.database?.deleteAbove(this.lastGoodRow)) this.adopt(this.database.totals());
    this.isBroken = false;
  }

  /** Chunks are taken when there is a reserve again; until then its space serves the deletes. */
  #findSpace() {
    try {
      this.reserve.restore();
      this.isDry = false;
      this.why = null;
      this.tries = 0;
    } catch (error) {
      if (!isFull(error)) throw error;
      this.isDry = true;
      this.why = explain(error, this.directory);
      this.#retryIn(this.options.retryMaxMs);
    }
  }

  #maySetAside() {
    return performance.now() - this.asideAt >= ASIDE_MS;
  }

  #setAside() {
    this.asideAt = performance.now();
    const name = setAside(this.directory, new Date());
    this.damages = 0;
    this.problem(
      'LOG_DAMAGED',
      `The log was damaged (${this.why?.code}). It was renamed to ${name}, and a new log was started. The records in the old log are not delivered until you stop the gateway and run: seganet-log repair ${this.directory}`
    );
    this.lost();
  }

  /**
   * Moves pages only when fewer are in use than free, so each is moved once for each time that the log was full; or on a
   * full disk, that has to get space before the log goes on.
   * @param {Database} database
   */
  #shrink(database) {
    const isWorthIt = () => {
      const { free, used } = database.pages();
      return free >= (this.isDry ? VACUUM_PAGES : Math.max(MIN_FREE_PAGES, used));
    };
    if (!isWorthIt()) return;
    for (let step = 0; step < VACUUM_STEPS && isWorthIt(); step++) database.vacuum(VACUUM_PAGES);
    // Only this cuts the file.
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

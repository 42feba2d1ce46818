'use strict';

const { copyDatabase } = require('./database-copy');
const { FullLog } = require('./full-log');
const { fileBytes } = require('./log-folder');
const { LogRecovery } = require('./log-recovery');
const { Limits, Usage } = require('./log-limits');
const { Pending } = require('./pending-removals');
const { Reader } = require('./log-reader');
const { RowCheck } = require('./row-check');
const { Intake, Transaction } = require('./log-transaction');

/** @typedef {import('../../../native').StoreSource} StoreSource */
/** @typedef {import('./log-database').Database} Database */

/** The WAL is checkpointed after about this many bytes. */
const CHECKPOINT_BYTES = 4 << 20;
/** Timers may fire early. */
const TIMER_SLACK_MS = 5;

/**
 * The log of one engine: takes chunks from its source, commits them together, reports to the source what is on disk,
 * and reads back what the engine requests. While a commit runs, the engine's next chunks grow.
 */
class Store {
  /**
   * @param {object} context
   * @param {import('./log-options').CheckedOptions} context.options
   * @param {Float64Array} context.rows see LogRecovery
   * @param {() => void} context.changed the condition has changed
   * @param {(code: string, reason: string) => void} context.problem
   * @param {() => number} [context.now] monotonic ms
   */
  constructor({ options, rows, changed, problem, now = () => performance.now() }) {
    this.options = options;
    this.rows = rows;
    this.changed = changed;
    this.problem = problem;
    this.now = now;
    this.limits = new Limits(options);
    this.full = new FullLog({ limits: this.limits, now, changed });
    this.pending = new Pending();
    this.reader = new Reader({ pending: this.pending, now, problem });
    this.intake = new Intake();
    this.rowCheck = new RowCheck(problem);
    this.recovery = new LogRecovery({
      options,
      rows,
      problem,
      adopt: (totals) => this.#adopt(totals),
      lost: () => this.#lost(),
      wake: () => this.#wake()
    });
    this.usage = new Usage();
    /** Bytes by uplink node, as of the opening. @type {Map<string, number>} */
    this.bytes = new Map();
    this.dead = { count: 0, bytes: 0 };
    this.quarantine = { count: 0, bytes: 0 };
    /** Uplink nodes that have chunks. @type {Set<string>} */
    this.nodes = new Set();
    /** @type {StoreSource | null} */
    this.source = null;
    this.isAnnounced = false;
    this.walBytes = 0;
    this.commits = 0;
    this.commitMs = 0;
    this.commitMaxMs = 0;
    this.bodyBytes = 0;
    this.deadRemoved = 0;
    this.commitsAtTick = -1;

    /** @type {NodeJS.Immediate | null} */
    this.immediate = null;
    /** @type {NodeJS.Timeout | undefined} */
    this.timer = undefined;
    /** @type {{by: number, done: (inTime: boolean) => void, timer: NodeJS.Timeout} | null} */
    this.stopping = null;
    this.isStopped = false;
  }

  start() {
    this.recovery.start();
  }

  /** Takes chunks from this source from now on. Closes the one attached before. @param {StoreSource} source */
  attach(source) {
    this.detach();
    this.source = source;
    this.ring();
  }

  detach() {
    this.source?.close();
    this.source = null;
    this.isAnnounced = false;
    // Rows handed over are pending in the engine again.
    if (this.pending.handedOver) this.pending.deletes = [];
    this.pending.handedOver = false;
    this.full.clear();
  }

  /** Handles the doorbell. */
  ring() {
    if (this.immediate || this.isStopped) return;
    this.immediate = setImmediate(() => {
      this.immediate = null;
      this.#turn();
    });
  }

  /** @returns {{state: string, code: string, reason: string}} */
  get condition() {
    const { why, isBroken } = this.recovery;
    if (this.isStopped) return { state: 'stopped', code: '', reason: '' };
    if (why) {
      const state = why.kind === 'refused' ? 'refused' : 'failing';
      return { state, code: why.code, reason: why.reason };
    }
    if (isBroken) return { state: 'opening', code: '', reason: '' };
    return this.full.condition ?? { state: 'ready', code: '', reason: '' };
  }

  /**
   * @returns {{ node: string, records: number }[]} the records on disk by uplink node; empty when they cannot be read
   */
  holdings() {
    try {
      return this.recovery.database?.holdings() ?? [];
    } catch (error) {
      this.fault(error);
      return [];
    }
  }

  /**
   * Copies the log into a new file, with every commit made before this call.
   * @param {string} file
   * @returns {Promise<void>} rejects if the log cannot be read now
   */
  async backup(file) {
    const { database, isBroken } = this.recovery;
    if (!database || isBroken) throw new Error(this.condition.reason || 'The log is not open.');
    // A copy in progress would keep the database locked beyond the stop.
    await copyDatabase(database.db, file, () => this.stopping !== null || this.isStopped);
  }

  /** Frees the memory that SQLite keeps for later statements. Call it when the log is idle. */
  releaseMemory() {
    const { database, isBroken } = this.recovery;
    if (!database || isBroken) return;
    try {
      database.releaseMemory();
    } catch (error) {
      this.fault(error);
    }
  }

  /** @returns {number} bytes of the database and its WAL, 0 = unknown */
  get fileBytes() {
    try {
      return fileBytes(this.options.directory);
    } catch {
      return 0;
    }
  }

  /**
   * Changes with everything that tick() looks after, '' = it must not be left out.
   * @returns {string}
   */
  get activity() {
    const { commits, usage, dead, quarantine, rowCheck, recovery } = this;
    if (this.condition.state !== 'ready') return '';
    const counts = [
      commits,
      usage.totalChunks,
      dead.count,
      quarantine.count,
      rowCheck.after,
      recovery.shrinks
    ];
    return counts.join();
  }

  /** Call it once a second. */
  tick() {
    if (this.isStopped) return;
    this.recovery.inspect(this.commits === this.commitsAtTick);
    this.commitsAtTick = this.commits;
    this.#checkRows();
  }

  /**
   * Commits pending chunks and deletions, and closes.
   * @param {number} timeoutMs longest time for the commits
   * @param {(inTime: boolean) => void} done true: nothing is left to commit
   */
  stop(timeoutMs, done) {
    const timer = setTimeout(() => this.ring(), timeoutMs + TIMER_SLACK_MS);
    this.stopping = { by: this.now() + timeoutMs, done, timer };
    this.ring();
  }

  #turn() {
    if (this.isStopped) return;
    const { source } = this;
    let wait = -1;
    if (source) {
      this.#announce(source);
      // Answers the doorbell, which does not ring again before that. This is done in every turn, even if nothing can be
      // saved, because the doorbell also rings for rows to delete and to read.
      if (this.isAnnounced) source.due();
      if (!this.recovery.isBroken) this.#save(source);
      wait = sooner(this.#read(source), this.#nextSave(source));
    }
    if (this.stopping && this.#mayStop()) return this.#finish();
    this.#schedule(wait);
  }

  /** @param {StoreSource} source */
  #announce(source) {
    if (this.isAnnounced || !this.recovery.database) return;
    this.isAnnounced = true;
    source.opened(this.rows[0], [...this.usage.records], [...this.bytes].flat());
    this.rowCheck.start(this.rows[0]);
  }

  /** @param {StoreSource} source */
  #save(source) {
    const database = /** @type {Database} */ (this.recovery.database);
    this.pending.collect(source, this.now());
    const takes = this.#mayTake() && source.due() === 0;
    const wait = this.pending.wait(this.now());
    if (!takes && (wait < 0 || (wait > 0 && !this.stopping))) return;
    const tx = this.#transaction(database);
    try {
      database.begin();
      tx.clear(this.pending);
      if (takes) tx.take(source);
      const start = this.now();
      database.commit();
      if (!tx.isEmpty(this.pending)) this.#measure(this.now() - start);
    } catch (error) {
      database.rollback();
      for (const ticket of tx.tickets) source.failed(ticket);
      this.fault(error);
      return;
    }
    this.#committed(tx, source);
    this.full.note(tx.held[0], takes, this.usage);
    this.#checkpoint(database);
  }

  /** @param {Database} database */
  #transaction(database) {
    const { usage, dead, quarantine, limits, nodes, intake, options } = this;
    const nextRow = () => ++this.rows[0];
    const asideLimit = options.deadLimitMiB * 2 ** 20;
    return new Transaction({ database, usage, dead, quarantine, limits, asideLimit, nodes, intake, nextRow });
  }

  /**
   * Applies what the committed transaction changed.
   * @param {Transaction} tx
   * @param {StoreSource} source
   */
  #committed(tx, source) {
    this.recovery.good();
    this.usage = tx.usage;
    this.dead = tx.dead;
    this.quarantine = tx.quarantine;
    for (const { ticket, row } of tx.saved) source.committed(ticket, row);
    for (const { row, recordClass, records } of tx.removed) {
      source.removed(row, /** @type {import('../../../native').RecordClass} */ (recordClass), records);
    }
    for (const ticket of tx.dropped) source.dropped(ticket);
    for (const { ticket } of tx.held) source.failed(ticket);
    if (this.pending.handedOver) source.freed();
    // The engine may have more of them.
    if (this.pending.isFull) this.ring();
    this.pending.clear();
    this.bodyBytes += tx.bytes;
    this.walBytes += tx.walBytes;
    this.#reportRemoved(tx);
  }

  /** @param {Transaction} tx */
  #reportRemoved(tx) {
    this.deadRemoved += tx.deadRemoved;
    if (tx.deadRemoved > 0) {
      const reason =
        'The table of dead letters is full; the oldest ones were deleted. Find out why the cloud refuses records.';
      this.problem('DEAD_LETTERS_FULL', reason);
    }
    if (tx.quarantineRemoved > 0) {
      const reason = 'The quarantine is full; its oldest chunks were deleted. Check for disk errors (dmesg).';
      this.problem('QUARANTINE_FULL', reason);
    }
  }

  /**
   * Checkpoints the WAL after the receipts, so that no device waits for it. SQLite's own checkpoint would not report
   * errors.
   * @param {Database} database
   */
  #checkpoint(database) {
    if (this.walBytes < CHECKPOINT_BYTES) return;
    try {
      database.checkpoint('PASSIVE');
      this.walBytes = 0;
    } catch (error) {
      this.fault(error);
    }
  }

  /** @param {StoreSource} source @returns {number} ms to the next turn, -1 = none needed */
  #read(source) {
    const { database } = this.recovery;
    if (!database || !this.isAnnounced) return -1;
    try {
      const isMore = this.reader.serve(source, database, () => this.#mayTake() && source.due() === 0);
      return isMore ? Math.max(0, this.reader.waitUntil - this.now()) : -1;
    } catch (error) {
      // The index is damaged, without which no chunk can be found.
      this.recovery.damages++;
      this.fault(error);
      return -1;
    }
  }

  /** Handles a failure of the database. Throws errors that the disk did not cause. @param {any} error */
  fault(error) {
    if (error.row !== undefined) this.pending.stuck.add(error.row);
    this.recovery.fault(error);
    this.changed();
  }

  /** @param {StoreSource} source @returns {number} ms until the next commit, -1 = nothing to save is known */
  #nextSave(source) {
    if (this.recovery.isBroken || !this.isAnnounced) return -1;
    const mayTake = this.#mayTake() || (!this.recovery.isDry && this.full.isOfClass);
    const wait = this.full.waitFor(mayTake ? source.due() : -1);
    return sooner(wait, this.pending.wait(this.now()));
  }

  #mayTake() {
    if (this.recovery.isBroken || this.recovery.isDry) return false;
    return this.full.mayTake(this.usage);
  }

  #checkRows() {
    const { database, isBroken } = this.recovery;
    if (!database || isBroken) return;
    try {
      if (!this.rowCheck.step(database)) return;
      this.#adopt(database.totals());
      this.ring();
    } catch (error) {
      this.fault(error);
    }
  }

  /** @param {number} wait ms, -1 = until the doorbell rings */
  #schedule(wait) {
    clearTimeout(this.timer);
    if (wait === 0) this.ring();
    else if (wait > 0) this.timer = setTimeout(() => this.ring(), Math.min(Math.ceil(wait), 2 ** 30));
  }

  /** @param {number} ms */
  #measure(ms) {
    this.commits++;
    this.commitMs = this.commits === 1 ? ms : this.commitMs + (ms - this.commitMs) / 8;
    this.commitMaxMs = Math.max(this.commitMaxMs, ms);
  }

  /** @param {import('./log-recovery').Totals} totals */
  #adopt({ usage, nodes, bytes, dead, quarantine }) {
    Object.assign(this, { usage, nodes, bytes, dead, quarantine, walBytes: 0 });
  }

  #lost() {
    // The rows to be deleted are gone with the file.
    if (this.pending.handedOver) this.source?.freed();
    this.pending.clear();
    this.pending.stuck.clear();
    if (this.isAnnounced) this.source?.lost();
  }

  #wake() {
    this.changed();
    this.ring();
  }

  #mayStop() {
    const { source, stopping } = this;
    if (!source || !stopping || this.now() >= stopping.by) return true;
    return this.isAnnounced && !this.#isOwing(source);
  }

  /** @param {StoreSource} source */
  #isOwing(source) {
    return source.due() === 0 || this.pending.size > 0;
  }

  #finish() {
    const inTime = !this.source || (this.isAnnounced && !this.#isOwing(this.source));
    this.isStopped = true;
    clearTimeout(this.timer);
    clearTimeout(this.stopping?.timer);
    this.detach();
    this.recovery.close();
    this.stopping?.done(inTime);
  }
}

/**
 * Returns the shorter of two waits, where -1 means never.
 * @param {number} a
 * @param {number} b
 */
function sooner(a, b) {
  if (a < 0 || b < 0) return Math.max(a, b);
  return Math.min(a, b);
}

exports.Store = Store;

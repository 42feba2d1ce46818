'use strict';
// The log of one engine in PostgreSQL, which both gateways of a pair share: the same contract with the engine as the
// log in SQLite (nodes/lib/store/log-store.js). While another gateway has the log, the engine gets nothing from it.
//
// A transaction whose outcome is unknown counts as not written. Its chunks go back to the engine and return under new
// numbers. New connections take the lease again, with a higher epoch, which waits for the end of that transaction, or
// ends it; then rows above the last good one are deleted.

const { FullLog } = require('../store/full-log');
const { Limits, Usage } = require('../store/log-limits');
const { Intake } = require('../store/log-transaction');
const { Pending } = require('../store/pending-removals');
const { OnDisk } = require('./on-disk');
const { Ownership } = require('./ownership');
const { PairReader } = require('./pair-reader');
const { PairTransaction } = require('./pair-transaction');
const { asideOf, chunksOf, holdingsOf, lanesOf, lastRowOf, trim } = require('./totals');

/** @typedef {import('../../../native').StoreSource} StoreSource */
/** @typedef {import('../../../native').RecordClass} RecordClass */
/** @typedef {import('./ownership').Use} Use */

/** As in the log in SQLite. */
const TIMER_SLACK_MS = 5;

const DELETE_ABOVE = ['chunk', 'dead'].map((table) => `DELETE FROM ${table} WHERE log = $1 AND id > $2`);

class PairLog {
  #ownership;
  #openedBy;
  /** Number of the last transaction. */
  #batch = 0;
  #lastGoodRow = -1;
  #isSaving = false;
  #reader;

  /**
   * @param {object} context
   * @param {import('./options').CheckedPairOptions} context.options
   * @param {Float64Array} context.memory survives the thread: [0] the last row number used in this process, [1] and [2]
   *   see Ownership
   * @param {string} context.holder a random word for this process
   * @param {() => void} context.changed the condition has changed
   * @param {(code: string, reason: string) => void} context.problem
   * @param {(isReplicated: boolean) => Promise<void>} context.tell see Ownership
   * @param {(reason: string) => void} context.fenced see Ownership
   * @param {(use: Use) => Promise<void>} [context.opened] what else begins with the log
   * @param {() => number} [context.now] monotonic ms
   */
  constructor(context) {
    const { options, memory, holder, changed, problem, tell, fenced, opened, now } = {
      opened: async () => {},
      now: () => performance.now(),
      ...context
    };
    this.options = options;
    this.memory = memory;
    this.changed = changed;
    this.problem = problem;
    this.now = now;
    this.#openedBy = opened;
    this.#ownership = new Ownership({
      options,
      holder,
      memory,
      tell,
      fenced,
      now,
      open: (use, batch) => this.#open(use, batch),
      changed: () => this.#wake()
    });
    this.#reader = new PairReader({
      ownership: this.#ownership,
      isCurrent: (source) => source === this.source,
      move: (move) => this.pending.move(move, now()),
      problem,
      ring: () => this.ring()
    });
    this.limits = new Limits(options);
    this.full = new FullLog({ limits: this.limits, now, changed });
    this.pending = new Pending();
    this.intake = new Intake();
    this.onDisk = new OnDisk();
    this.usage = new Usage();
    /** Bytes by uplink node, as of the opening. @type {Map<string, number>} */
    this.bytes = new Map();
    this.dead = { count: 0, bytes: 0 };
    this.quarantine = { count: 0, bytes: 0 };
    /** @type {StoreSource | null} */
    this.source = null;
    this.isAnnounced = false;
    this.commits = 0;
    this.commitMs = 0;
    this.commitMaxMs = 0;
    this.bodyBytes = 0;
    this.deadRemoved = 0;
    /** @type {NodeJS.Immediate | null} */
    this.immediate = null;
    /** @type {NodeJS.Timeout | undefined} */
    this.timer = undefined;
    /** @type {{ by: number, done: (inTime: boolean) => void, timer: NodeJS.Timeout } | null} */
    this.stopping = null;
    this.isStopped = false;
    /** The other gateway may have the log when this one has stopped. */
    this.releases = false;
  }

  start() {
    this.#ownership.start();
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

  /** @returns {{ state: string, code: string, reason: string }} */
  get condition() {
    const { why, role, use } = this.#ownership;
    if (this.isStopped) return { state: 'stopped', code: '', reason: '' };
    if (why) return { state: 'failing', code: 'DATABASE', reason: why };
    if (role === 'standby') return { state: 'standby', code: '', reason: '' };
    if (!use) return { state: 'opening', code: '', reason: '' };
    return this.full.condition ?? { state: 'ready', code: '', reason: '' };
  }

  /** For the status page and the health checks. */
  get pair() {
    return this.#ownership.view;
  }

  /** @returns {Promise<import('./totals').Holding[]>} the records of each uplink node */
  async holdings() {
    const { use } = this.#ownership;
    return use ? holdingsOf(use.database.reader, use.log) : [];
  }

  /** Its size on disk is the database's. */
  get fileBytes() {
    return this.usage.totalBytes;
  }

  /** @returns {Promise<void>} */
  async backup() {
    throw new Error('The log is in PostgreSQL. Back up that database, for example with pg_dump.');
  }

  /** @returns {string} changes with everything that tick() looks after, '' = it must not be left out */
  get activity() {
    if (this.condition.state !== 'ready' && this.condition.state !== 'standby') return '';
    const { commits, usage, dead, quarantine, pair } = this;
    return [commits, usage.totalChunks, dead.count, quarantine.count, ...Object.values(pair)].join();
  }

  /** Call it once a second. */
  tick() {}

  /**
   * Commits pending chunks and deletions, and closes.
   * @param {number} timeoutMs longest time for the commits
   * @param {(inTime: boolean) => void} done true: nothing is left to commit
   */
  stop(timeoutMs, done) {
    const timer = setTimeout(() => this.ring(), timeoutMs + TIMER_SLACK_MS);
    this.stopping = { by: this.now() + timeoutMs, done, timer };
    this.#ownership.stop();
    this.ring();
  }

  /**
   * Runs statements of the log between its transactions.
   * @template T
   * @param {(use: Use) => Promise<T>} run
   * @returns {Promise<T>} rejects with a sentence if the log cannot be written
   */
  async between(run) {
    while (this.#isSaving) await new Promise(setImmediate);
    const { use } = this.#ownership;
    if (!use || !this.isAnnounced || this.stopping)
      throw new Error(this.condition.reason || 'The log is not open.');
    this.#isSaving = true;
    try {
      return await run(use);
    } finally {
      this.#isSaving = false;
      this.ring();
    }
  }

  /** @returns {number} the number of the next transaction */
  nextBatch() {
    return ++this.#batch;
  }

  /** @returns {number} of a new row */
  nextRow() {
    return ++this.memory[0];
  }

  /**
   * A transaction is good: what it wrote is not deleted any more.
   * @param {number} batch
   * @param {number} lastRow that it added, 0 = none
   */
  good(batch, lastRow) {
    this.memory[2] = batch;
    this.#lastGoodRow = Math.max(this.#lastGoodRow, lastRow);
  }

  /**
   * A dead letter was moved to the chunks.
   * @param {{ batch: number, row: number, node: string, recordClass: number, records: number, cost: number, bytes:
   *   number }} chunk
   * @param {{ records: number }[]} entries its batches
   */
  moved({ batch, row, node, recordClass, records, cost, bytes }, entries) {
    this.good(batch, row);
    this.usage.add(recordClass, 1, records, cost);
    this.bodyBytes += bytes;
    this.dead.count--;
    this.dead.bytes -= bytes;
    if (this.limits.whenFull === 'drop') this.onDisk.add({ row, recordClass, records, cost });
    const counts = entries.map((entry) => entry.records);
    this.source?.sendAgain(row, node, /** @type {RecordClass} */ (recordClass), counts);
  }

  /** This gateway has the log from now on. @param {Use} use @param {number} batch of its last transaction */
  async #open(use, batch) {
    const { database, log } = use;
    const last = await lastRowOf(database.writer, log);
    if (this.#lastGoodRow < 0) this.#lastGoodRow = last;
    else if (last > this.#lastGoodRow) {
      // Of a transaction whose outcome was unknown.
      for (const sql of DELETE_ABOVE) await database.writer.run(sql, log, this.#lastGoodRow);
    }
    this.#batch = batch;
    this.memory[0] = Math.max(this.memory[0], last);
    Object.assign(this, await lanesOf(database.writer, log), await asideOf(database.writer, log));
    if (this.limits.whenFull === 'drop') this.onDisk.reset(await chunksOf(database.writer, log));
    await this.#openedBy(use);
  }

  #wake() {
    this.changed();
    this.ring();
  }

  #turn() {
    if (this.isStopped) return;
    const { source } = this;
    let wait = -1;
    if (source) {
      this.#announce(source);
      // Answers the doorbell in every turn: it also rings for rows to delete and to read.
      if (this.isAnnounced) {
        source.due();
        void this.#save(source);
        void this.#reader.serve(source);
        wait = this.#nextSave(source);
      }
    }
    if (this.stopping && this.#mayStop()) return void this.#finish();
    clearTimeout(this.timer);
    if (wait === 0) this.ring();
    else if (wait > 0) this.timer = setTimeout(() => this.ring(), Math.min(Math.ceil(wait), 2 ** 30));
  }

  /** @param {StoreSource} source */
  #announce(source) {
    if (this.isAnnounced || !this.#ownership.use) return;
    this.isAnnounced = true;
    source.opened(this.memory[0], [...this.usage.records], [...this.bytes].flat());
  }

  /** @param {StoreSource} source */
  async #save(source) {
    const { use } = this.#ownership;
    if (this.#isSaving || !use) return;
    this.pending.collect(source, this.now());
    const takes = this.full.mayTake(this.usage) && source.due() === 0;
    const wait = this.pending.wait(this.now());
    if (!takes && (wait < 0 || (wait > 0 && !this.stopping))) return;
    const { usage, limits, intake, pending } = this;
    const oldest = (/** @type {number} */ recordClass) => this.onDisk.oldest(recordClass);
    const tx = new PairTransaction({ usage, limits, intake, nextRow: () => this.nextRow(), oldest });
    tx.clear(pending);
    this.pending = new Pending();
    if (takes) tx.take(source);
    this.#isSaving = true;
    const start = this.now();
    let isOurs;
    try {
      isOurs = tx.isEmpty || (await this.#commit(use, tx));
      if (this.source !== source) throw new Error('the engine was replaced meanwhile');
    } catch (error) {
      this.#undo(tx, source, pending);
      return use.database.fail(/** @type {Error} */ (error));
    } finally {
      this.#isSaving = false;
      this.ring();
    }
    if (!isOurs) return this.#ownership.end();
    if (!tx.isEmpty) this.#measure(this.now() - start);
    this.#committed(tx, source, pending);
    this.full.note(tx.held[0], takes, this.usage);
    if (tx.letters.length + tx.movesAside > 0) {
      await this.between((now) => this.#trimAside(now)).catch((error) => use.database.fail(error));
    }
  }

  /** @param {Use} use @param {PairTransaction} tx @returns {Promise<boolean>} false: another gateway has the log */
  async #commit({ database, log, epoch }, tx) {
    const batch = this.nextBatch();
    const ownership = this.#ownership;
    ownership.hasWarned = false;
    const isOurs = await tx.commit(database.writer, { log, epoch, batch });
    if (ownership.hasWarned && ownership.counts) throw new Error('the server did not wait for its standby');
    if (isOurs) this.good(batch, tx.rows.at(-1)?.row ?? 0);
    return isOurs;
  }

  /**
   * Applies what the transaction changed.
   * @param {PairTransaction} tx
   * @param {StoreSource} source
   * @param {Pending} pending
   */
  #committed(tx, source, pending) {
    this.usage = tx.usage;
    for (const { ticket, row } of tx.rows) source.committed(ticket, row);
    if (this.limits.whenFull === 'drop') this.onDisk.follow(tx.saved, pending);
    for (const { row, recordClass, records } of tx.removed) {
      source.removed(row, /** @type {RecordClass} */ (recordClass), records);
    }
    for (const ticket of tx.dropped) source.dropped(ticket);
    for (const { ticket } of tx.held) source.failed(ticket);
    if (pending.handedOver) source.freed();
    if (pending.isFull) this.ring();
    this.bodyBytes += tx.bytes;
  }

  /** @param {Use} use */
  async #trimAside({ database: { writer }, log }) {
    const limit = this.options.deadLimitMiB * 2 ** 20;
    const letters = await trim(writer, log, 'dead', limit);
    this.deadRemoved += letters;
    if (letters > 0) {
      const reason =
        'The table of dead letters is full; the oldest ones were deleted. Find out why the cloud refuses records.';
      this.problem('DEAD_LETTERS_FULL', reason);
    }
    if ((await trim(writer, log, 'quarantine', limit)) > 0) {
      this.problem('QUARANTINE_FULL', 'The quarantine is full; its oldest chunks were deleted.');
    }
    Object.assign(this, await asideOf(writer, log));
  }

  /**
   * Gives back what the transaction took.
   * @param {PairTransaction} tx
   * @param {StoreSource} source
   * @param {Pending} pending
   */
  #undo(tx, source, pending) {
    this.onDisk.putBack(tx.removed);
    // A source that was closed took its chunks and rows back.
    if (this.source !== source) return;
    for (const ticket of tx.tickets) source.failed(ticket);
    pending.deletes.push(...this.pending.deletes);
    pending.moves.push(...this.pending.moves);
    pending.handedOver ||= this.pending.handedOver;
    this.pending = pending;
  }

  /** @param {StoreSource} source @returns {number} ms until the next commit, -1 = nothing to save is known */
  #nextSave(source) {
    // The end of the transaction rings.
    if (this.#isSaving || !this.#ownership.use) return -1;
    const mayTake = this.full.mayTake(this.usage) || this.full.isOfClass;
    const wait = this.full.waitFor(mayTake ? source.due() : -1);
    const waits = [wait, this.pending.wait(this.now())].filter((each) => each >= 0);
    return waits.length > 0 ? Math.min(...waits) : -1;
  }

  /** @param {number} ms */
  #measure(ms) {
    this.commits++;
    this.commitMs = this.commits === 1 ? ms : this.commitMs + (ms - this.commitMs) / 8;
    this.commitMaxMs = Math.max(this.commitMaxMs, ms);
  }

  #isOwing() {
    const { source } = this;
    return this.#isSaving || this.pending.size > 0 || (this.isAnnounced && source?.due() === 0);
  }

  get #hasWritten() {
    // A standby has nothing to write.
    if (!this.source || this.#ownership.role !== 'active') return true;
    return this.isAnnounced && !this.#isOwing();
  }

  #mayStop() {
    const { stopping } = this;
    return stopping !== null && (this.now() >= stopping.by || this.#hasWritten);
  }

  async #finish() {
    const { stopping } = this;
    const inTime = this.#hasWritten;
    this.isStopped = true;
    clearTimeout(this.timer);
    clearTimeout(stopping?.timer);
    this.detach();
    await this.#ownership.close(this.releases);
    stopping?.done(inTime);
  }
}

exports.PairLog = PairLog;

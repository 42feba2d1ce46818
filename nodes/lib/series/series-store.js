'use strict';

const path = require('node:path');
const { asError } = require('../base/guard');
const { shown } = require('../base/values');
const { isDamage, isStorage } = require('../store/log-reasons');
const { Reopening } = require('../store/reopening');
const { BlockError, decodeBlock, encodeBlock, mergePoints } = require('./block');
const { Staged } = require('./journal');
const { loadSeries } = require('./series-loading');
const { OpenBlocks, Series } = require('./open-blocks');
const { FILE, SeriesDatabase } = require('./series-database');
const { SeriesError, explain } = require('./series-reasons');
const { Retention } = require('./retention');
const { TextStore } = require('./text-store');

/** A point may be this far ahead of the gateway's clock. */
const FUTURE_MS = 3600000;
/** Age at which an open block is written. A block that opened at the begin of its minute is then complete. */
const BLOCK_MS = 60000;
/** Blocks of one transaction. */
const FLUSH_BLOCKS = 500;
/** Longest work between two commits of records, unless too many points are in memory. */
const FLUSH_MS = 200;
const RETRY_MIN_MS = 250;
const RETRY_MAX_MS = 5000;

/**
 * Records with their numbers. Each record has counts[i] of the points, in order.
 * @typedef {object} Batch
 * @property {string[]} devices by record
 * @property {number[]} stamps by record, ms since the epoch
 * @property {number[]} counts by record
 * @property {string[]} names by point
 * @property {number[]} values by point
 * @property {string[]} topics by record; empty = no text
 * @property {(string | null)[]} texts by record; null = no text
 *
 * @typedef {object} StoreOptions
 * @property {string} directory
 * @property {number} maxSeries
 * @property {number} maxPoints in memory
 * @property {number} days that points are kept
 * @property {number} meansDays that hourly means are kept
 * @property {number} limitMiB of the database
 * @property {'off' | 'latest' | 'all'} search
 * @property {number} searchMiB
 *
 * @typedef {{ wall: () => number, monotonic: () => number }} Clock ms
 */

/**
 * The series of one folder. Owned by one thread.
 *
 * A commit writes its points into one row of the journal, so that they are on disk at the cost of few pages. In memory
 * they are in blocks of one series and minute, which become rows of their own after a minute; the journal is then
 * deleted up to the oldest block that is still open. After an hour the blocks of the hour are merged into one, with its
 * mean (see Retention).
 */
class SeriesStore {
  /**
   * @param {StoreOptions} options
   * @param {(sentence: string) => void} problem reports what a user should know
   * @param {Clock} [clock]
   */
  constructor(options, problem, clock = { wall: Date.now, monotonic: () => performance.now() }) {
    this.options = options;
    this.problem = problem;
    this.clock = clock;
    this.counters = {
      points: 0,
      outOfOrder: 0,
      doubled: 0,
      old: 0,
      future: 0,
      noSeries: 0,
      damagedBlocks: 0,
      commits: 0,
      blocks: 0,
      setAside: 0
    };
    /** By device, then by name. @type {Map<string, Map<string, Series>>} */
    this.devices = new Map();
    /** By id, in its order. @type {Map<number, Series>} */
    this.series = new Map();
    /** The highest id in memory so far. */
    this.lastId = 0;
    this.open = new OpenBlocks();
    /** @type {SeriesDatabase | null} */
    this.database = null;
    /** Why nothing can be written, '' = it can. */
    this.reason = '';
    /** Identity of the file that has the rows of the journal that the open blocks come from. */
    this.home = '';
    this.lastJournal = 0;
    this.reopening = new Reopening(path.join(options.directory, FILE), () => clock.monotonic());
    this.retryAt = 0;
    this.isClosed = false;
    this.retention = new Retention(this);
    this.text = new TextStore(this);
    this.recover();
  }

  /** @returns {SeriesDatabase} @throws {Error} with a sentence if the database is not usable */
  get writable() {
    if (!this.database || this.reason) throw new SeriesError(this.reason || 'The series are closed.');
    return this.database;
  }

  /**
   * Stores records. When this returns, their points are on disk, except those that a limit refused (see counters).
   * @param {Batch[]} batches
   * @throws {Error} with a sentence; then none is stored
   */
  put(batches) {
    const database = this.writable;
    if (this.retention.isFull)
      throw new SeriesError(
        `The series have reached their limit of ${this.options.limitMiB} MiB, and all of it is from the present hours. Raise the limit.`
      );
    const staged = new Staged();
    /** @type {Series[]} */
    const created = [];
    /** @type {number[]} */
    const rows = [];
    try {
      database.transact(() => {
        for (const batch of batches) this.#stage(batch, staged, created);
        for (const body of staged.rows()) rows.push(Number(database.statements.insertJournal.get(body)?.id));
      });
    } catch (error) {
      for (const series of created) this.#forget(series);
      throw this.fault(error);
    }
    this.counters.commits++;
    if (rows.length > 0) {
      this.#apply(staged, rows[0]);
      this.lastJournal = rows[rows.length - 1];
    }
    for (const batch of batches) this.text.add(batch);
    if (this.open.points > this.options.maxPoints) this.flush(false);
  }

  /** @param {Batch} batch @param {Staged} staged @param {Series[]} created */
  #stage({ devices, stamps, counts, names, values }, staged, created) {
    const now = this.clock.wall();
    const floor = this.retention.floor(now);
    for (let record = 0, point = 0; record < devices.length; record++) {
      const time = stamps[record] || now;
      const end = point + counts[record];
      if (time > now + FUTURE_MS) this.counters.future += end - point;
      else if (time < floor) this.counters.old += end - point;
      else
        for (; point < end; point++) {
          const series = this.#seriesOf(devices[record], names[point], created);
          if (series) staged.add(series, time, values[point]);
          else this.counters.noSeries++;
        }
      point = end;
    }
  }

  /** @param {string} device @param {string} name @param {Series[]} created @returns {Series | null} null = no room */
  #seriesOf(device, name, created) {
    const known = this.devices.get(device)?.get(name);
    if (known) return known;
    // SQLite has UTF-8, in which each lone surrogate is U+FFFD.
    const [ownDevice, ownName] = [device.toWellFormed(), name.toWellFormed()];
    if (ownDevice !== device || ownName !== name) return this.#seriesOf(ownDevice, ownName, created);
    if (this.series.size >= this.options.maxSeries) return null;
    const id = Number(this.writable.statements.insertSeries.get(device, name)?.id);
    const same = this.series.get(id);
    if (same) return same;
    const series = this.remember(new Series(id, device, name));
    created.push(series);
    return series;
  }

  /** @param {Series} series */
  remember(series) {
    const names = this.devices.get(series.device) ?? new Map();
    this.devices.set(series.device, names.set(series.name, series));
    const isLater = series.id > this.lastId;
    this.series.set(series.id, series);
    if (isLater) this.lastId = series.id;
    // Another process added it.
    else this.series = new Map([...this.series].sort(([a], [b]) => a - b));
    return series;
  }

  /** @param {Series} series */
  #forget(series) {
    this.series.delete(series.id);
    const names = this.devices.get(series.device);
    names?.delete(series.name);
    if (names?.size === 0) this.devices.delete(series.device);
  }

  /** Deletes series without values. REQUIRES: in a transaction. @param {Series[]} all */
  deleteSeries(all) {
    for (const series of all) {
      this.writable.statements.deleteSeries.run(series.id);
      this.#forget(series);
    }
  }

  /** @param {Staged} staged @param {number} journal first row */
  #apply({ series, times, values }, journal) {
    const at = { journal, nowMs: this.clock.monotonic() };
    const tooLate = this.clock.wall() + FUTURE_MS;
    for (let i = 0; i < series.length; i++) {
      const [one, time] = [series[i], times[i]];
      this.open.add(one, time, values[i], at);
      // A latest value from the future is of a clock that was wrong.
      if (time >= one.lastTime || one.lastTime > tooLate) {
        one.lastTime = time;
        one.lastValue = values[i];
      } else this.counters.outOfOrder++;
    }
    this.counters.points += series.length;
  }

  /**
   * Writes the open blocks that are a minute old, or more of them if too many points are in memory.
   * @param {boolean} all writes every block
   */
  flush(all) {
    const { maxPoints } = this.options;
    const before = all ? Infinity : this.clock.monotonic() - BLOCK_MS;
    // Half of the room, so that the next point does not write the next block.
    const most = this.open.points > maxPoints ? maxPoints / 2 : maxPoints;
    const end = performance.now() + FLUSH_MS;
    while (!this.reason && this.database) {
      if (!all && this.open.points <= maxPoints && performance.now() > end) return;
      const blocks = this.open.due(before, most, FLUSH_BLOCKS);
      if (blocks.length === 0) return;
      try {
        const database = this.writable;
        database.transact(() => {
          this.writeBlocks(database, blocks);
          database.statements.deleteJournal.run(this.open.neededJournal(blocks, this.lastJournal + 1));
        });
      } catch (error) {
        this.fault(error);
        return;
      }
      this.counters.blocks += blocks.length;
      this.open.close(blocks);
    }
  }

  /**
   * REQUIRES: in a transaction.
   * @param {SeriesDatabase} database
   * @param {import('./open-blocks').Block[]} blocks
   * @param {(series: Series) => number} [idOf] their ids in the database
   */
  writeBlocks({ statements }, blocks, idOf = ({ id }) => id) {
    const { insertMinute, minute, setMinute } = statements;
    for (const block of blocks) {
      const { start } = block;
      const id = idOf(block.series);
      const points = mergePoints([block]);
      this.counters.doubled += points.doubled;
      const body = encodeBlock(points, start);
      if (Number(insertMinute.run(id, start, body).changes) > 0) continue;
      const old = this.decode(minute.get(id, start)?.body, start);
      const merged = mergePoints(old ? [old, points] : [points]);
      this.counters.doubled += merged.doubled;
      setMinute.run(encodeBlock(merged, start), id, start);
    }
  }

  /**
   * @param {unknown} body
   * @param {number} start
   * @returns {import('./block').Points | null} null for no block, and for a damaged one, which is counted
   */
  decode(body, start) {
    if (!(body instanceof Uint8Array)) return null;
    try {
      return decodeBlock(body, start);
    } catch (error) {
      if (!(error instanceof BlockError)) throw error;
      this.counters.damagedBlocks++;
      this.problem(
        `A block of the series in ${shown(this.options.directory)} is damaged (${error.message}). Its points are left out.`
      );
      return null;
    }
  }

  /** Call it once a second. */
  tick() {
    if (this.reason && this.clock.monotonic() >= this.retryAt) this.recover();
    this.flush(false);
    this.guarded(() => this.text.tick());
    this.guarded(() => this.retention.tick());
  }

  /**
   * Runs work on the database, and handles its failure.
   * @param {() => void} work
   */
  guarded(work) {
    if (this.reason || !this.database) return;
    try {
      work();
    } catch (error) {
      this.fault(error);
    }
  }

  /**
   * Handles a failure: nothing is written until the database is restored.
   * @param {any} error
   * @returns {Error} with a sentence for the user
   */
  fault(error) {
    if (!isStorage(error)) {
      const known = asError(error);
      if (!(known instanceof SeriesError))
        this.problem(`Internal error in the series. Please report it: ${known.stack}`);
      return known;
    }
    this.reason = explain(error, this.options.directory);
    const sentence = new Error(this.reason);
    if (isDamage(error)) this.#replace();
    else {
      this.retryAt = this.clock.monotonic() + this.reopening.failed(RETRY_MIN_MS, RETRY_MAX_MS);
      this.problem(this.reason);
    }
    return sentence;
  }

  /**
   * Opens the database, or restores it after a failure. A failed COMMIT is never continued: the kernel may have marked
   * pages clean that are not on disk. Truncating the WAL writes all of its pages again; only then it is used again. See
   * LogRecovery.
   */
  recover() {
    if (this.isClosed) return;
    try {
      if (this.database) {
        if (!this.reopening.isHopeless) this.database.checkpoint();
        this.database.close();
        this.database = null;
      }
      this.database = new SeriesDatabase(this.options.directory);
      loadSeries(this, this.database);
      this.reason = '';
      this.reopening.succeeded();
    } catch (error) {
      if (!isStorage(error)) throw error;
      this.fault(error);
    }
  }

  /** Renames a damaged database, and starts a new one with the points that are in memory. */
  #replace() {
    this.database?.close();
    this.database = null;
    const { directory } = this.options;
    const now = this.clock.monotonic();
    const { asideInMs } = this.reopening;
    if (asideInMs > 0) {
      this.retryAt = now + asideInMs;
      this.problem(this.reason);
      return;
    }
    this.counters.setAside++;
    try {
      const name = this.reopening.setAside(new Date(this.clock.wall()));
      this.problem(
        `The series in ${shown(directory)} were damaged. The database was renamed to ${path.basename(name)}, and a new one was started. The points before are only in the renamed file.`
      );
      this.recover();
    } catch (error) {
      if (!isStorage(error)) throw error;
      this.reason = explain(error, directory);
      this.retryAt = now + RETRY_MAX_MS;
    }
  }

  /** Writes everything and closes the database. */
  close() {
    if (this.isClosed) return;
    // Points that a damaged database had are only in memory until the new one has them.
    if (this.reason && this.open.points > 0) this.recover();
    this.isClosed = true;
    this.flush(true);
    this.guarded(() => this.text.flush());
    this.database?.close();
    this.database = null;
    this.reason = 'The series are closed.';
  }
}

exports.FUTURE_MS = FUTURE_MS;
exports.SeriesStore = SeriesStore;

'use strict';
// Keeps the events and the audit log of a gateway in one SQLite file.
//
// Changes are collected for a second, so that a flood costs one transaction a second. They are not synced one by one:
// after a power failure, those of the last seconds may be missing. While the file cannot be used, a database in memory
// takes its place, and its rows move into the file when that works again.

const path = require('node:path');
const { isDamage } = require('../store/log-reasons');
const { checkpoint, closeDatabase, openDatabase, transact } = require('../store/open-database');
const { Reopening } = require('../store/reopening');
const { DatabaseSync } = require('../store/sqlite');

/** "SGE1". */
const APPLICATION_ID = 0x53474531;
const SCHEMA = `
CREATE TABLE event (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, severity TEXT NOT NULL, engine TEXT NOT NULL,
  subject TEXT NOT NULL, key TEXT NOT NULL, params TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER,
  count INTEGER NOT NULL, acknowledged_by TEXT, acknowledged_at INTEGER) STRICT;
CREATE TABLE audit (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, user TEXT NOT NULL, address TEXT NOT NULL,
  what TEXT NOT NULL, detail TEXT NOT NULL) STRICT;
CREATE TABLE run (id INTEGER PRIMARY KEY, is_clean INTEGER NOT NULL) STRICT;
`;
/** Rows of each table, and the age in days, above which the oldest are deleted. An open event stays. */
const MAX_ROWS = 10_000;
const MAX_DAYS = 90;
/** Changes that wait for the next transaction; further lines of the audit log are counted, and left out. */
const MAX_WAITING = 2000;
const FLUSH_MS = 1000;
/** Between two attempts to use the file again, ms. */
const RETRY_MS = [5000, 600_000];
/** Transactions between two deletions of old rows. */
const TRIM_EVERY = 60;

/** @type {import('../store/open-database').Kind} */
const KIND = {
  applicationId: APPLICATION_ID,
  versions: [SCHEMA],
  foreign: () => new Error('it is the database of another program'),
  newer: () => new Error('a newer version of the gateway wrote it'),
  // For readers of other processes, such as a backup.
  busyMs: 200,
  checksPages: true,
  pragmas: 'PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 1048576'
};

/**
 * @typedef {import('node:sqlite').DatabaseSync} Db
 *
 * @typedef {object} Event times in ms since 1970
 * @property {number} id
 * @property {string} kind see KINDS
 * @property {import('./kinds').Severity} severity
 * @property {string} engine id of the engine node, '' = the whole gateway
 * @property {string} subject what it is about, such as the name of an uplink
 * @property {string} key of its sentence
 * @property {Record<string, string | number>} params of its sentence
 * @property {number} since
 * @property {number | null} until null = it is open
 * @property {number} count occurrences
 * @property {{ by: string, at: number } | null} acknowledged
 *
 * @typedef {{ id: number, at: number, user: string, address: string, what: string, detail: string }} AuditLine
 * @typedef {{ before: number, limit: number }} Page before: an id, Infinity = from the newest
 */

class EventStore {
  #file;
  #warn;
  #now;
  #wall;
  #reopening;
  /** @type {Db | null} */
  #db = null;
  #isFile = false;
  #retryAt = -Infinity;
  #lastId = 0;
  /** True between begin() and end(). */
  #isRunning = false;
  /** @type {Map<number, Event>} */
  #events = new Map();
  /** @type {AuditLine[]} */
  #lines = [];
  #lost = 0;
  #flushes = 0;
  /** @type {NodeJS.Timeout | null} */
  #timer = null;

  /**
   * @param {string} file absolute; '' = in memory only
   * @param {{ warn: (sentence: string) => void, now?: () => number, wall?: () => number }} options now: ms, monotonic
   */
  constructor(file, { warn, now = () => performance.now(), wall = () => Date.now() }) {
    this.#file = file;
    this.#warn = warn;
    this.#now = now;
    this.#wall = wall;
    this.#reopening = new Reopening(file, now);
  }

  /**
   * Opens the file for a run of the gateway.
   * @returns {{ open: Event[], isClean: boolean | null }} open: events that have not ended; isClean: the run before
   *   ended in order, null = there was none, or it is unknown
   */
  begin() {
    this.#isRunning = true;
    const [run] = this.#read('SELECT is_clean FROM run');
    const open = this.#read('SELECT * FROM event WHERE until IS NULL ORDER BY id').map(eventOf);
    this.#mark(0);
    return { open, isClean: run ? run.is_clean === 1 : null };
  }

  /** @returns {number} the id of a new row */
  nextId() {
    if (this.#lastId === 0) this.#database();
    return ++this.#lastId;
  }

  /** Writes what waits, notes that the run ended in order, and closes the file. */
  end() {
    this.flush();
    this.#isRunning = false;
    this.#mark(1);
    this.#close();
  }

  /** Stores an event, or its newest state. @param {Event} event */
  put(event) {
    this.#events.set(event.id, event);
    this.#flushSoon();
  }

  /** @param {AuditLine} line */
  add(line) {
    if (this.#lines.length >= MAX_WAITING) this.#lost++;
    else this.#lines.push(line);
    this.#flushSoon();
  }

  /**
   * @param {Page & { since: number }} page since: ms since 1970; events that ended before are left out
   * @returns {Event[]} newest first
   */
  events({ before, limit, since }) {
    this.flush();
    return this.#read(
      'SELECT * FROM event WHERE id < ? AND (until IS NULL OR until >= ?) ORDER BY id DESC LIMIT ?',
      [id(before), since, limit]
    ).map(eventOf);
  }

  /** @param {number} wanted @returns {Event | null} */
  event(wanted) {
    this.flush();
    const [row] = this.#read('SELECT * FROM event WHERE id = ?', [wanted]);
    return row ? eventOf(row) : null;
  }

  /** @param {Page} page @returns {AuditLine[]} newest first */
  audit({ before, limit }) {
    this.flush();
    const rows = this.#read('SELECT * FROM audit WHERE id < ? ORDER BY id DESC LIMIT ?', [id(before), limit]);
    return /** @type {any} */ (rows.map((row) => ({ ...row })));
  }

  /** Writes what waits. */
  flush() {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#events.size > 0 || this.#lines.length > 0) {
      // The second attempt writes into memory.
      if (!this.#write()) this.#write();
      this.#events.clear();
      this.#lines = [];
    }
    if (!this.#isRunning) this.#close();
  }

  #flushSoon() {
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref();
  }

  /** @returns {boolean} false: it failed, and nothing was written */
  #write() {
    const db = this.#database();
    return this.#tryOr(false, () => {
      transact(db, () => {
        const events = db.prepare(`INSERT OR REPLACE INTO event VALUES (${'?, '.repeat(11)}?)`);
        for (const each of this.#events.values()) events.run(...rowOf(each));
        const lines = db.prepare('INSERT OR REPLACE INTO audit VALUES (?, ?, ?, ?, ?, ?)');
        for (const each of this.#lines)
          lines.run(each.id, each.at, each.user, each.address, each.what, each.detail);
        if (this.#flushes++ % TRIM_EVERY === 0) trim(db, this.#wall());
      });
      if (this.#lost > 0) this.#warn(`${this.#lost} lines of the audit log came too fast and were left out.`);
      this.#lost = 0;
      return true;
    });
  }

  /** @param {string} sql @param {number[]} [values] @returns {Record<string, any>[]} */
  #read(sql, values = []) {
    const db = this.#database();
    const rows = this.#tryOr([], () => db.prepare(sql).all(...values));
    if (!this.#isRunning) this.#close();
    return rows;
  }

  /** Notes that the gateway runs, or ended in order, also for a power failure right after. @param {0 | 1} isClean */
  #mark(isClean) {
    const db = this.#database();
    if (!this.#isFile) return;
    this.#tryOr(undefined, () => {
      db.prepare('INSERT OR REPLACE INTO run VALUES (1, ?)').run(isClean);
      checkpoint(db, 'PASSIVE');
    });
  }

  /**
   * Works on the database; after a failure the file is given up for a while.
   * @template T
   * @param {T} otherwise
   * @param {() => T} work
   * @returns {T}
   */
  #tryOr(otherwise, work) {
    try {
      return work();
    } catch (error) {
      this.#failed(error);
      return otherwise;
    }
  }

  /** @returns {Db} the file, or memory while the file cannot be used */
  #database() {
    if (this.#db && this.#isFile) return this.#db;
    if (this.#file !== '' && this.#now() >= this.#retryAt) {
      try {
        this.#db = openFile(this.#file, this.#db);
        this.#isFile = true;
        this.#lastId = Math.max(this.#lastId, lastIdOf(this.#db, 'event'), lastIdOf(this.#db, 'audit'));
        this.#reopening.succeeded();
        return this.#db;
      } catch (error) {
        this.#failed(error);
      }
    }
    if (this.#db) return this.#db;
    // The ids in the file are unknown. The clock is above them.
    if (this.#file !== '' && this.#lastId === 0) this.#lastId = Math.floor(this.#wall() / 1000);
    this.#db = new DatabaseSync(':memory:');
    this.#db.exec(SCHEMA);
    return this.#db;
  }

  /** @param {any} error */
  #failed(error) {
    if (this.#isFile) this.#close();
    const what = `The events in ${this.#file} cannot be ${this.#isFile ? 'written' : 'opened'} (${error?.message ?? error}).`;
    this.#isFile = false;
    const aside = isDamage(error) && this.#reopening.asideInMs === 0 ? this.#setAside() : '';
    this.#retryAt = aside ? -Infinity : this.#now() + this.#reopening.failed(RETRY_MS[0], RETRY_MS[1]);
    this.#warn(
      aside
        ? `${what} The file was renamed to ${aside}, and a new one is created.`
        : `${what} Until it works again, events are kept in memory only.`
    );
  }

  /** @returns {string} the new name of the file, '' if it could not be renamed */
  #setAside() {
    try {
      return path.basename(this.#reopening.setAside());
    } catch {
      return '';
    }
  }

  #close() {
    // Rows in memory exist nowhere else.
    if (!this.#isFile) return;
    closeDatabase(this.#db);
    this.#db = null;
  }
}

/** @param {number} before */
const id = (before) => Math.min(before, Number.MAX_SAFE_INTEGER);

/** @param {Db} db @param {string} table */
const lastIdOf = (db, table) => Number(db.prepare(`SELECT ifnull(max(id), 0) AS id FROM ${table}`).get()?.id);

/**
 * Opens the file, and moves the rows of the database in memory into it.
 * @param {string} file
 * @param {Db | null} memory
 * @returns {Db}
 */
function openFile(file, memory) {
  const { db } = openDatabase(file, KIND, (opened) => {
    if (!memory) return;
    transact(opened, () => {
      for (const table of ['event', 'audit']) {
        for (const row of memory.prepare(`SELECT * FROM ${table}`).all()) {
          const values = Object.values(row);
          const places = values.map(() => '?').join(', ');
          opened.prepare(`INSERT OR REPLACE INTO ${table} VALUES (${places})`).run(...values);
        }
      }
    });
  });
  closeDatabase(memory);
  return db;
}

/** @param {Db} db @param {number} now */
function trim(db, now) {
  const oldest = now - MAX_DAYS * 86_400_000;
  db.prepare('DELETE FROM event WHERE until < ?').run(oldest);
  db.prepare('DELETE FROM audit WHERE at < ?').run(oldest);
  const nth = (/** @type {string} */ table) =>
    `SELECT id FROM ${table} ORDER BY id DESC LIMIT 1 OFFSET ${MAX_ROWS}`;
  db.exec(`DELETE FROM event WHERE id <= (${nth('event')}) AND until IS NOT NULL`);
  db.exec(`DELETE FROM audit WHERE id <= (${nth('audit')})`);
}

/** @param {Event} event @returns {import('node:sqlite').SQLInputValue[]} */
function rowOf(event) {
  const { by = null, at = null } = event.acknowledged ?? {};
  const { kind, severity, engine, subject, key, params, since, until, count } = event;
  return [
    event.id,
    kind,
    severity,
    engine,
    subject,
    key,
    JSON.stringify(params),
    since,
    until,
    count,
    by,
    at
  ];
}

/** @param {Record<string, any>} row @returns {Event} */
function eventOf({ acknowledged_by: by, acknowledged_at: at, params, ...row }) {
  const acknowledged = at === null ? null : { by, at };
  return /** @type {any} */ ({ ...row, params: JSON.parse(params), acknowledged });
}

exports.EventStore = EventStore;
exports.MAX_DAYS = MAX_DAYS;
exports.MAX_ROWS = MAX_ROWS;
exports.MAX_WAITING = MAX_WAITING;

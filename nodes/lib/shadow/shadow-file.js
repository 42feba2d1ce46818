'use strict';
// The file of shadows, <folder of the engine's log>/shadow.db: a row for each device.

const path = require('node:path');
const { crc32c } = require('../store/crc32c');
const { lockFile } = require('../store/lock-file');
const { identity, makeFolder } = require('../store/log-folder');
const { isDamage, isFull, isStorage } = require('../store/log-reasons');
const { closeDatabase, openDatabase, transact } = require('../store/open-database');
const { compact } = require('./document');
const { parse, write } = require('./json');
const { Refusal } = require('./refusal');

const FILE = 'shadow.db';
const LOCK_FILE = 'shadow.lock';
/** "SGS1" */
const APPLICATION_ID = 0x53475331;
const SCHEMA = `
  CREATE TABLE shadow (device TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL, desired_version INTEGER NOT NULL,
    reported_version INTEGER NOT NULL, changed_at INTEGER NOT NULL, deleted_at INTEGER NOT NULL, document BLOB NOT NULL,
    crc INTEGER NOT NULL);
  CREATE INDEX deleted ON shadow (deleted_at) WHERE deleted_at > 0`;
const COLUMNS = `device, version, desired_version AS desiredVersion, reported_version AS reportedVersion,
  changed_at AS changedAt, deleted_at AS deletedAt, document, crc`;
/** A file that cannot be opened is tried again after this time. */
const RETRY_MS = 1000;

/** @type {import('../store/open-database').Kind} */
const KIND = {
  applicationId: APPLICATION_ID,
  versions: [SCHEMA],
  foreign: (file) => new Error(`${file} is the database of another program`),
  newer: (file) => new Error(`a newer version of the gateway wrote ${file}`),
  // For readers of other processes, such as a backup.
  busyMs: 2000,
  rewritesWal: true,
  needsWal: true,
  pragmas: 'PRAGMA journal_size_limit = 4194304'
};

/**
 * @typedef {import('./document').Shadow} Shadow
 *
 * @typedef {object} Row
 * @property {string} device
 * @property {number} version
 * @property {number} desiredVersion
 * @property {number} reportedVersion
 * @property {number} changedAt ms since 1970
 * @property {number} deletedAt 0 = it is not deleted
 * @property {Uint8Array} document
 * @property {number} crc
 */

class ShadowFile {
  #file;
  #now;
  #onOpen;
  /** @type {ReturnType<typeof statementsOf> | null} */
  #statements = null;
  /** @type {import('node:sqlite').DatabaseSync | null} */
  #db = null;
  /** @type {import('node:sqlite').DatabaseSync | null} */
  #lock = null;
  /** Of the file that is open. */
  #identity = '';
  /** Why the file is not open. */
  #reason = '';
  #isDamaged = false;
  #retryAt = 0;
  /** Shadows, and deleted ones whose version is kept. */
  counts = { shadows: 0, deleted: 0 };

  /**
   * @param {string} directory
   * @param {() => number} [now] ms, monotonic
   * @param {(isOpen: boolean) => void} [onOpen] called when the file was opened, and before it is closed
   */
  constructor(directory, now = () => performance.now(), onOpen = () => {}) {
    this.#file = path.join(directory, FILE);
    this.#now = now;
    this.#onOpen = onOpen;
  }

  /** Why nothing can be stored, '' = it can. */
  get reason() {
    return this.#reason;
  }

  /**
   * Runs work with the open file.
   * @template T
   * @param {(statements: ReturnType<typeof statementsOf>) => T} work
   * @returns {T}
   * @throws {Refusal}
   */
  use(work) {
    try {
      return work(this.#open());
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /**
   * Runs work in one transaction, which is on disk when this returns. After an error nothing of it may count.
   * @template T
   * @param {(statements: ReturnType<typeof statementsOf>) => T} work
   * @returns {T}
   * @throws {Refusal}
   */
  change(work) {
    const { shadows, deleted } = this.counts;
    try {
      const statements = this.#open();
      const db = /** @type {import('node:sqlite').DatabaseSync} */ (this.#db);
      const made = transact(db, () => work(statements));
      this.#check();
      return made;
    } catch (error) {
      this.counts = { shadows, deleted };
      throw this.#failed(error);
    }
  }

  get bytes() {
    if (!this.#db) return 0;
    const sizeOf = (/** @type {string} */ name) =>
      Number(Object.values(this.#db?.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
    return sizeOf('page_count') * sizeOf('page_size');
  }

  close() {
    this.#onOpen(false);
    closeDatabase(this.#db);
    closeDatabase(this.#lock);
    this.#db = this.#lock = null;
    this.#statements = null;
  }

  #open() {
    if (this.#statements) return this.#statements;
    if (this.#isDamaged || this.#now() < this.#retryAt) throw new Refusal(503, this.#reason);
    this.#retryAt = this.#now() + RETRY_MS;
    const directory = path.dirname(this.#file);
    makeFolder(directory);
    this.#lock = lockFile(path.join(directory, LOCK_FILE));
    if (!this.#lock) throw new Error('another process or engine has the folder');
    const { db, made } = openDatabase(this.#file, KIND, statementsOf);
    this.#db = db;
    this.#identity = identity(this.#file);
    this.#statements = made;
    this.counts = { .../** @type {any} */ (made.counts.get()) };
    this.#reason = '';
    this.#onOpen(true);
    return made;
  }

  /** Throws if what was written is in no file with our name, such as after rm, so that it would be lost. */
  #check() {
    if (identity(this.#file) === this.#identity && identity(`${this.#file}-wal`) !== '') return;
    throw Object.assign(new Error('another program has moved or deleted it'), { code: 'MOVED' });
  }

  /** Closes the connection after an error of the disk, because its state is unknown. @param {unknown} error */
  #failed(error) {
    if (error instanceof Refusal) return error;
    if (!isStorage(error) && this.#statements) return /** @type {Error} */ (error);
    this.close();
    this.#isDamaged = isDamage(/** @type {any} */ (error));
    this.#reason = this.#sentenceOf(/** @type {Error} */ (error));
    return new Refusal(503, this.#reason);
  }

  /** @param {Error} error */
  #sentenceOf(error) {
    if (this.#isDamaged)
      return `The file of the shadows, ${this.#file}, is damaged (${error.message}). Stop the gateway, restore the file from a backup or move it away, and start the gateway.`;
    if (isFull(error))
      return `The disk of the shadows (${this.#file}) is full. Free space on it; the gateway then continues on its own.`;
    return `The shadows cannot be stored (${this.#file}): ${error.message}.`;
  }
}

/** @param {import('node:sqlite').DatabaseSync} db */
function readsOf(db) {
  return { get: db.prepare(`SELECT ${COLUMNS} FROM shadow WHERE device = ?`) };
}

/** @param {import('node:sqlite').DatabaseSync} db */
function statementsOf(db) {
  return {
    ...readsOf(db),
    list: db.prepare(
      `SELECT ${COLUMNS} FROM shadow WHERE device > ? AND deleted_at = 0 ORDER BY device LIMIT ?`
    ),
    counts: db.prepare(
      `SELECT (SELECT count(*) FROM shadow) - count(*) AS shadows, count(*) AS deleted FROM shadow WHERE deleted_at > 0`
    ),
    put: db.prepare(
      `INSERT INTO shadow VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (device) DO UPDATE SET version = excluded.version,
        desired_version = excluded.desired_version, reported_version = excluded.reported_version,
        changed_at = excluded.changed_at, deleted_at = excluded.deleted_at, document = excluded.document,
        crc = excluded.crc`
    ),
    forget: db.prepare('DELETE FROM shadow WHERE deleted_at > 0 AND deleted_at < ?'),
    forgetOldest: db.prepare(
      'DELETE FROM shadow WHERE rowid = (SELECT rowid FROM shadow WHERE deleted_at > 0 ORDER BY deleted_at LIMIT 1)'
    )
  };
}

/**
 * @param {string} device
 * @param {Shadow} shadow
 * @returns {Row}
 */
function rowOf(device, { version, changedAt, desired, reported }) {
  const document = Buffer.from(
    write({ d: desired.state, r: reported.state, ds: compact(desired.stamps), rs: compact(reported.stamps) })
  );
  return sealed({
    device,
    version,
    desiredVersion: desired.version,
    reportedVersion: reported.version,
    changedAt,
    deletedAt: 0,
    document
  });
}

/** @param {Omit<Row, 'crc'>} row @returns {Row} */
function sealed(row) {
  return { ...row, crc: checksumOf(row) };
}

/** @param {Omit<Row, 'crc'>} row */
function checksumOf({ device, version, desiredVersion, reportedVersion, changedAt, deletedAt, document }) {
  const head = [device, version, desiredVersion, reportedVersion, changedAt, deletedAt].join('\0');
  const bytes = Buffer.from(head);
  return crc32c(document, 0, document.length, crc32c(bytes));
}

/**
 * @param {Row} row
 * @returns {Shadow}
 * @throws {Refusal} if the row is damaged
 */
function shadowOf(row) {
  const { device, version, desiredVersion, reportedVersion, changedAt, document } = row;
  if (checksumOf(row) !== row.crc)
    throw new Refusal(503, `The shadow of ${device} is damaged on the disk. Delete it, then set it again.`);
  const { d, r, ds, rs } = parse(Buffer.from(document).toString());
  return {
    version,
    changedAt,
    desired: { state: d, stamps: ds, version: desiredVersion },
    reported: { state: r, stamps: rs, version: reportedVersion }
  };
}

/** @param {Row} row @returns {import('node:sqlite').SQLInputValue[]} */
function valuesOf({ device, version, desiredVersion, reportedVersion, changedAt, deletedAt, document, crc }) {
  return [device, version, desiredVersion, reportedVersion, changedAt, deletedAt, document, crc];
}

exports.FILE = FILE;
exports.ShadowFile = ShadowFile;
exports.readsOf = readsOf;
exports.rowOf = rowOf;
exports.sealed = sealed;
exports.shadowOf = shadowOf;
exports.valuesOf = valuesOf;

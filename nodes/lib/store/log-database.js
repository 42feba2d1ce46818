'use strict';

const path = require('node:path');
const { pathToFileURL } = require('node:url');
const fs = require('node:fs');
const { CLASSES } = require('../base/classes');
const { identity, prepareFile } = require('./log-folder');
const { COST_SQL, Usage, countSql } = require('./log-limits');
const { Refusal, damage, isDamage } = require('./log-reasons');
const { APPLICATION_ID, FILE, INSERT, SCHEMA, VERSIONS } = require('./log-schema');
const {
  checkpoint,
  closeDatabase,
  isEmpty,
  openDatabase,
  pragma,
  rollBack,
  transact
} = require('./open-database');
const { DatabaseSync } = require('./sqlite');

/**
 * Threshold in pages of SQLite's own checkpoint, which runs inside a COMMIT. It is high because the store makes its
 * checkpoints after the receipts.
 */
const AUTO_CHECKPOINT = 2048;
const JOURNAL_LIMIT = 8 << 20;
const SQLITE_ERROR = 1;
const SQLITE_CORRUPT = 11;
const WRONG_CLASS = `(typeof(class) <> 'integer' OR class NOT BETWEEN 1 AND ${CLASSES})`;
const CLASS_SQL = `CASE WHEN ${WRONG_CLASS} THEN ${CLASSES} ELSE class END`;
const RECORDS_SQL = countSql('records');

/**
 * One connection to <directory>/log.db: opening, statements, transactions. It makes no decisions, and throws every
 * error. The lock is held from open() to close(), so no statement ever waits for another process.
 */
class Database {
  /**
   * Throws a Refusal for a file of another program, and an SQLite or file system error otherwise.
   * @param {string} directory
   */
  constructor(directory) {
    this.file = path.join(directory, FILE);
    prepareFile(this.file);
    checkOwner(this.file);
    try {
      const { db, made } = openDatabase(this.file, KIND, prepare);
      this.db = db;
      this.statements = made;
    } catch (error) {
      throw asDamage(error);
    }
    this.identity = identity(this.file);
  }

  /**
   * Gives chunks of a class that does not exist the last one, as totals() counts them. The engine finds that their
   * content has another class, and they go to the quarantine with their bodies.
   */
  mendClasses() {
    if (this.statements.wrongClass.get())
      this.db.exec(`UPDATE chunk SET class = ${CLASSES} WHERE ${WRONG_CLASS}`);
  }

  /** Returns the totals, read from the covering index and the small tables, never from a chunk. */
  totals() {
    const usage = new Usage();
    /** @type {Set<string>} */
    const nodes = new Set();
    /** @type {Map<string, number>} */
    const bytes = new Map();
    for (const row of this.statements.lanes.all()) {
      const node = String(row.node);
      nodes.add(node);
      // Not the cost: the engine counts a chunk that it reads by its bytes.
      bytes.set(node, (bytes.get(node) ?? 0) + Number(row.bytes));
      usage.add(Number(row.class), Number(row.chunks), Number(row.records), Number(row.cost));
    }
    this.#checkFirst();
    return { usage, nodes, bytes, lastRow: Number(this.statements.lastRow.get()?.id ?? 0), ...this.aside() };
  }

  /**
   * Treats a row with a number below 0 as damage: the engine asks for chunks in the order of their numbers, from 0. A
   * first page that cannot be read is no such row. Its chunks are found when they are requested.
   */
  #checkFirst() {
    try {
      if (!this.statements.belowZero.get()) return;
    } catch (error) {
      if (isDamage(error)) return;
      throw error;
    }
    throw damage('a row has a number below 0');
  }

  /**
   * @returns {{ node: string, records: number, classes: Record<number, number> }[]} the records by uplink node, in
   *   total and by class, from the covering index
   */
  holdings() {
    /** @type {Map<string, Record<number, number>>} records by class */
    const nodes = new Map();
    for (const row of this.statements.lanes.all()) {
      const node = String(row.node);
      const classes = nodes.get(node) ?? {};
      const recordClass = Number(row.class);
      classes[recordClass] = (classes[recordClass] ?? 0) + Number(row.records);
      nodes.set(node, classes);
    }
    return [...nodes].map(([node, classes]) => ({
      node,
      records: Object.values(classes).reduce((all, count) => all + count, 0),
      classes
    }));
  }

  /** Returns the number and size of dead letters and quarantined rows. */
  aside() {
    const [dead, quarantine] = [this.statements.deadSums.get(), this.statements.quarantineSums.get()];
    return {
      dead: { count: Number(dead?.count), bytes: Number(dead?.bytes) },
      quarantine: { count: Number(quarantine?.count), bytes: Number(quarantine?.bytes) }
    };
  }

  begin() {
    this.db.exec('BEGIN IMMEDIATE');
  }

  commit() {
    this.db.exec('COMMIT');
  }

  /** Rolls back after a failure. */
  rollback() {
    rollBack(this.db);
  }

  /**
   * Moves the WAL's pages into the database, and syncs both. Throws when that failed completely or partly.
   * @param {'PASSIVE' | 'TRUNCATE'} mode TRUNCATE leaves an empty WAL
   */
  checkpoint(mode) {
    checkpoint(this.db, mode);
  }

  /**
   * Deletes rows above the last row known to be durable.
   * @param {number} row
   * @returns {boolean} true if there were any
   */
  deleteAbove(row) {
    const { chunksAbove, deadAbove } = this.statements;
    return Number(chunksAbove.run(row).changes) + Number(deadAbove.run(row).changes) > 0;
  }

  /**
   * Undoes moves of dead letters to chunks that may not be durable.
   * @param {import('./dead-letters').Moved[]} moved
   */
  restoreDead(moved) {
    if (moved.length === 0) return;
    transact(this.db, () => {
      for (const { from, row, at, code, reason } of moved) {
        this.statements.restoreDead.run(from, at, code, reason, row);
        this.statements.deleteChunk.all(row);
      }
    });
  }

  /**
   * Rewrites the index, and the node and class of a row.
   * @param {number} row
   * @param {string} node
   * @param {number} recordClass
   */
  setLane(row, node, recordClass) {
    transact(this.db, () => {
      this.db.exec('REINDEX chunk_lane');
      this.statements.setLane.run(node, recordClass, row);
    });
  }

  /** Returns the number of free pages and of pages in use. */
  pages() {
    const free = pragma(this.db, 'freelist_count');
    return { free, used: pragma(this.db, 'page_count') - free };
  }

  /** Returns free pages to the disk at the next checkpoint. @param {number} pages */
  vacuum(pages) {
    this.db.exec(`PRAGMA incremental_vacuum(${pages})`);
  }

  /** Frees the pages that SQLite keeps in memory; later statements read them again. */
  releaseMemory() {
    this.db.exec('PRAGMA shrink_memory');
  }

  /** True if another file, or none, has our name now: written data would be lost. */
  isReplaced() {
    return identity(this.file) !== this.identity;
  }

  /** True if the WAL was deleted during use; an open log always has one. */
  hasLostWal() {
    return identity(`${this.file}-wal`) === '';
  }

  /** Closes the connection and releases the lock in any case. */
  close() {
    closeDatabase(this.db);
  }
}

/**
 * Checks that the table definitions match exactly: damage in them must not be mistaken for other tables.
 * @param {import('node:sqlite').DatabaseSync} db
 */
function checkSchema(db) {
  const found = new Set(
    db
      .prepare('SELECT sql FROM sqlite_schema')
      .all()
      .map(({ sql }) => sql)
  );
  const missing = SCHEMA.split(';').find((sql) => sql.trim() !== '' && !found.has(sql.trim()));
  if (missing === undefined) return;
  throw damage(`the table definition is missing: ${missing.trim()}`);
}

/**
 * Treats "wrong statement" and "unknown format" as damage: our statements are right, so the file is not.
 * @param {any} error
 */
function asDamage(error) {
  return error?.errcode === SQLITE_ERROR ? Object.assign(error, { errcode: SQLITE_CORRUPT }) : error;
}

/** @param {import('node:sqlite').DatabaseSync} db */
function prepare(db) {
  const laneWhere = 'WHERE node = ? AND class = ?';
  return {
    lanes: db.prepare(
      `SELECT node, ${CLASS_SQL} AS class, count(*) AS chunks,
        sum(${RECORDS_SQL}) AS records, sum(${COST_SQL}) AS cost, sum(${countSql('bytes')}) AS bytes
       FROM chunk INDEXED BY chunk_lane GROUP BY node, chunk.class`
    ),
    wrongClass: db.prepare(`SELECT 1 FROM chunk INDEXED BY chunk_lane WHERE ${WRONG_CLASS} LIMIT 1`),
    belowZero: db.prepare('SELECT 1 FROM chunk WHERE id < 0 LIMIT 1'),
    lastRow: db.prepare(
      `SELECT max(ifnull((SELECT max(id) FROM chunk), 0), ifnull((SELECT max(id) FROM dead), 0),
        ifnull((SELECT max(id) FROM quarantine), 0)) AS id`
    ),
    deadSums: db.prepare('SELECT count(*) AS count, ifnull(sum(length(body)), 0) AS bytes FROM dead'),
    quarantineSums: db.prepare(
      'SELECT count(*) AS count, ifnull(sum(length(body)), 0) AS bytes FROM quarantine'
    ),
    deadHeads: db.prepare(
      'SELECT id, node, class, at, code, reason, records, length(body) AS bytes FROM dead WHERE id > ? ORDER BY id LIMIT ?'
    ),
    deadHead: db.prepare('SELECT node, class, at, code, reason, records FROM dead WHERE id = ?'),
    deadBody: db.prepare('SELECT CAST(body AS BLOB) AS body FROM dead WHERE id = ?'),
    deadIds: db.prepare('SELECT id FROM dead WHERE id > ? AND id <= ? ORDER BY id LIMIT ?'),
    newestDead: db.prepare('SELECT ifnull(max(id), 0) AS id FROM dead'),
    deleteDead: db.prepare('DELETE FROM dead WHERE id = ?'),
    restoreDead: db.prepare(
      'INSERT OR IGNORE INTO dead SELECT ?, node, class, ?, ?, ?, records, body FROM chunk WHERE id = ?'
    ),
    insertChunk: db.prepare(INSERT.chunk),
    insertDead: db.prepare(INSERT.dead),
    deleteChunk: db.prepare(
      `DELETE FROM chunk WHERE id = ? RETURNING ${CLASS_SQL} AS class, ${RECORDS_SQL} AS records, ${COST_SQL} AS cost`
    ),
    deleteOldestDead: db.prepare(
      'DELETE FROM dead WHERE id = (SELECT min(id) FROM dead) RETURNING length(body) AS bytes'
    ),
    deleteOldestQuarantine: db.prepare(
      'DELETE FROM quarantine WHERE id = (SELECT min(id) FROM quarantine) RETURNING ifnull(length(body), 0) AS bytes'
    ),
    quarantine: db.prepare(
      'INSERT OR REPLACE INTO quarantine SELECT id, node, class, ?, ?, records, CAST(body AS BLOB) FROM chunk WHERE id = ?'
    ),
    quarantineUnread: db.prepare('INSERT OR REPLACE INTO quarantine VALUES (?, ?, ?, ?, ?, ?, NULL)'),
    // The index alone answers both statements, so the number of a damaged chunk's records is known before it is read.
    next: db.prepare(
      `SELECT id, ${RECORDS_SQL} AS records FROM chunk INDEXED BY chunk_lane ${laneWhere} AND id > ? AND id <= ? ORDER BY id LIMIT 1`
    ),
    oldest: db.prepare(
      `SELECT id, ${RECORDS_SQL} AS records FROM chunk INDEXED BY chunk_lane ${laneWhere} ORDER BY id LIMIT 1`
    ),
    body: db.prepare('SELECT CAST(body AS BLOB) AS body FROM chunk WHERE id = ?'),
    // Node and class are stored in the row and in the index.
    laneOfRows: db.prepare(
      'SELECT id, node, class FROM chunk NOT INDEXED WHERE id > ? AND id <= ? ORDER BY id LIMIT ?'
    ),
    isInLane: db.prepare(`SELECT 1 FROM chunk INDEXED BY chunk_lane ${laneWhere} AND id = ?`),
    laneInIndex: db.prepare('SELECT node, class FROM chunk INDEXED BY chunk_lane WHERE +id = ?'),
    chunksOfNode: db.prepare('SELECT count(*) AS count FROM chunk INDEXED BY chunk_lane WHERE node = ?'),
    setLane: db.prepare('UPDATE chunk SET node = ?, class = ? WHERE id = ?'),
    chunksAbove: db.prepare('DELETE FROM chunk WHERE id > ?'),
    deadAbove: db.prepare('DELETE FROM dead WHERE id > ?')
  };
}

/**
 * Checks the ids without changing the file: `immutable` takes no lock, reads no WAL and writes nothing. (Reading the
 * header directly would release the locks of another store thread of this process, see createFile.)
 * @param {string} file
 */
function checkOwner(file) {
  if (fs.statSync(file).size === 0 || fs.existsSync(`${file}-journal`)) return;
  const url = pathToFileURL(file);
  url.searchParams.set('immutable', '1');
  const peek = new DatabaseSync(url, { readOnly: true });
  try {
    // Without this, a file looks damaged while a checkpoint fills it (or if its process was killed during one).
    peek.exec('PRAGMA writable_schema = ON');
    if (isEmpty(peek)) return;
    const version = pragma(peek, 'user_version');
    if (pragma(peek, 'application_id') !== APPLICATION_ID) throw foreign(file);
    if (version > VERSIONS.length) throw newer(file, version);
  } catch (error) {
    // Damage can only be determined together with the WAL.
    if (error instanceof Refusal || !isDamage(asDamage(error))) throw error;
  } finally {
    peek.close();
  }
}

/** @param {string} file */
const foreign = (file) =>
  new Refusal(
    'FOREIGN',
    `${file} is the database of another program; it was not changed. Choose another folder for the log.`
  );

/** @param {string} file @param {number} version */
const newer = (file, version) =>
  new Refusal(
    'NEWER',
    `${file} was written by a newer version of the gateway (format ${version}, this one reads ${VERSIONS.length}); it was not changed. Use that version, or choose another folder for the log.`
  );

/** @type {import('./open-database').Kind} */
const KIND = {
  applicationId: APPLICATION_ID,
  versions: VERSIONS,
  foreign,
  newer,
  isExclusive: true,
  layout: 'PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL',
  check: checkSchema,
  needsWal: true,
  pragmas: `PRAGMA cell_size_check = ON; PRAGMA journal_size_limit = ${JOURNAL_LIMIT};
    PRAGMA wal_autocheckpoint = ${AUTO_CHECKPOINT}; PRAGMA mmap_size = 0;`
};

exports.Database = Database;

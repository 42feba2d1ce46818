'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { ALL_PAGES, copyDatabase } = require('../../../nodes/lib/store/database-copy');
const { DatabaseSync } = require('../../../nodes/lib/store/sqlite');
const { WRITER } = require('../../fixtures/store/database-writer');
const { PATIENCE } = require('../../../bench/harness/patience');

describe('a copy of a database', () => {
  /** @type {string} */
  let folder;
  /** @type {import('node:sqlite').DatabaseSync} */
  let db;
  /** @type {string} */
  let copy;

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'copy-'));
    copy = path.join(folder, 'copy.db');
    db = new DatabaseSync(path.join(folder, 'a.db'));
    db.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER)');
  });

  afterEach(() => {
    db.close();
    fs.rmSync(folder, { recursive: true });
  });

  /** @returns {unknown[]} the rows of the copy */
  function rows() {
    const copied = new DatabaseSync(copy);
    try {
      return copied
        .prepare('SELECT n FROM t')
        .all()
        .map(({ n }) => n);
    } finally {
      copied.close();
    }
  }

  test('waits for the end of a transaction that is open when it starts', async () => {
    db.exec('BEGIN IMMEDIATE; INSERT INTO t VALUES (1)');
    const copied = copyDatabase(db, copy);
    await new Promise((resolve) => setTimeout(resolve, 100));
    db.exec('INSERT INTO t VALUES (2); COMMIT');
    await copied;
    expect(rows()).toEqual([1, 2]);
  });

  test('ends with the reason, and leaves no file, if the folder does not exist', async () => {
    const missing = path.join(folder, 'none', 'copy.db');
    await expect(copyDatabase(db, missing)).rejects.toThrow(/unable to open/);
    expect(fs.readdirSync(folder).filter((name) => name.startsWith('none'))).toEqual([]);
  });

  test('is canceled while a transaction stays open', async () => {
    db.exec('BEGIN IMMEDIATE; INSERT INTO t VALUES (1)');
    let isCanceled = false;
    setTimeout(() => (isCanceled = true), 100);
    await expect(copyDatabase(db, copy, () => isCanceled)).rejects.toThrow();
    expect(fs.existsSync(copy)).toBe(false);
    db.exec('ROLLBACK');
  });

  test('ends while another process commits many times a second', async () => {
    db.exec(`CREATE TABLE filler (body BLOB);
      WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 48)
      INSERT INTO filler SELECT randomblob(1 << 20) FROM n`);
    const writer = spawn(process.execPath, ['--no-warnings', '-e', WRITER, path.join(folder, 'a.db')]);
    let isLate = false;
    // Without the commits, every copy ends.
    const deadline = setTimeout(() => {
      isLate = true;
      writer.kill('SIGKILL');
    }, 15000 * PATIENCE);
    try {
      await once(writer.stdout, 'data');
      await copyDatabase(db, copy, () => false, ALL_PAGES);
      expect([isLate, writer.exitCode]).toEqual([false, null]);
      expect(rows().length).toBeGreaterThan(0);
    } finally {
      clearTimeout(deadline);
      if (writer.kill('SIGKILL')) await once(writer, 'close');
    }
  }, 30000);
});

'use strict';
// seganet-log on logs in which damage has changed a number of a row.

const fs = require('node:fs');
const { seganetLog } = require('../../fixtures/store/log-command');
const { LogDatabase, sample } = require('../../fixtures/store/log-database');

/** @type {LogDatabase} */
let log;
beforeEach(() => {
  log = new LogDatabase();
});
afterEach(() => log.remove());

/** Chunks of two nodes. @param {number} from @param {number} to */
function fill(from, to) {
  for (let id = from; id <= to; id++) log.addChunk(id, sample(`c${id}`), `node-${id % 2}`);
}

function expectSound() {
  const { code, out, err } = seganetLog('verify', log.directory);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toContain('all intact');
}

// node:sqlite refuses to read numbers beyond 2^53, and SQLite to add up numbers beyond 2^63.
describe('a number that no log contains', () => {
  const COLUMNS = ['id', 'class', 'records', 'bytes', 'first_ts'];
  const VALUES = ['-2', '1152921504606846977', '-7407747620151079732', '9223372036854775807'];
  test.each(COLUMNS.map((column) => [column]))(
    'in the column %s: verify and inspect report it, repair keeps the rest',
    (column) => {
      for (const value of VALUES) {
        fill(1, 4);
        log.db.exec(`UPDATE chunk SET ${column} = ${value} WHERE id = 3`);
        log.close();
        // A stack trace would fail.
        for (const command of ['verify', 'inspect']) {
          const { code, err } = seganetLog(command, log.directory);
          if (code !== 0) expect(`${value}: ${err}`).toMatch(/: \S.* is damaged\. /);
        }
        const { code, err } = seganetLog('repair', log.directory);
        expect({ value, code, err: code === 0 ? '' : err }).toEqual({ value, code: 0, err: '' });
        expectSound();
        expect(log.rows('chunk').length).toBeGreaterThanOrEqual(3);
        log.remove();
        log = new LogDatabase();
      }
    }
  );
});

test('the last row of a full page beyond 2^53: every command ends', () => {
  fill(1, 2);
  for (let id = 1; id <= 256; id++) log.addDead(id, sample(`d${id}`));
  log.db.exec('UPDATE dead SET id = 1152921504606846977 WHERE id = 256');
  log.close();
  for (const args of [['verify'], ['dump'], ['repair', '--dry-run']]) {
    const [command, ...options] = args;
    // A process that was ended has no code.
    expect({ args, code: seganetLog(command, log.directory, ...options).code }).toEqual({
      args,
      code: expect.any(Number)
    });
  }
}, 400_000);

/** Changes the number of a row, and not its entry in the index. @param {number} id @param {string} value */
function changeRow(id, value) {
  const where = "WHERE name = 'chunk_lane'";
  const index = Object.values(log.db.prepare(`SELECT * FROM sqlite_schema ${where}`).get());
  log.db.enableDefensive?.(false);
  log.db
    .exec(`PRAGMA writable_schema = ON; DELETE FROM sqlite_schema ${where}; PRAGMA writable_schema = RESET;
    UPDATE chunk SET id = ${value} WHERE id = ${id}; PRAGMA writable_schema = ON`);
  log.db.prepare('INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)').run(...index);
  log.db.exec('PRAGMA writable_schema = RESET');
  // Not log.close(), whose VACUUM would rewrite the index.
  log.db.close();
  log.db = null;
}

test.each(['-2', '1152921504606846977', '-7407747620151079732', '9223372036854775807'])(
  'keeps a row with the number %s that its entry in the index does not have',
  (value) => {
    fill(1, 4);
    changeRow(3, value);
    expect(seganetLog('verify', log.directory).code).toBe(1);
    const { code, err, out } = seganetLog('repair', log.directory);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/renumbered 1 row of chunk with a number that no log contains/);
    expectSound();
    expect(log.rows('chunk').map(({ id }) => id)).toEqual([1, 2, 4, 5]);
    expect(log.rows('quarantine')).toEqual([]);
  }
);

test('merges all rows of a log that a gateway set aside because of such a number', () => {
  for (const value of ['-2', '1152921504606846977', '-7407747620151079732', '9223372036854775807']) {
    fill(1, 4);
    log.db.exec(`UPDATE chunk SET id = ${value} WHERE id = 3`);
    log.close();
    fs.renameSync(log.file, `${log.file}.damaged-2026-01-02T03-04-05.678Z`);
    const { code, err, out } = seganetLog('repair', log.directory);
    expect({ value, code, err }).toEqual({ value, code: 0, err: '' });
    expect(out).toMatch(/renumbered 1 row of chunk with a number that no log contains/);
    expectSound();
    expect(log.rows('chunk')).toHaveLength(4);
    log.remove();
    log = new LogDatabase();
  }
});

'use strict';
// seganet-gateway backup and restore with several logs of one engine.

const fs = require('node:fs');
const path = require('node:path');
const { ArchiveWriter } = require('../../flows/cli/archive');
const { Database } = require('../../nodes/lib/store/log-database');
const { DatabaseSync } = require('../../nodes/lib/store/sqlite');
const { command, filesIn, newHome, throughBackup } = require('./backup-command');
const { temporaryFolder, cleanUp } = require('./process');

const ENGINE = 'seganet-engine-1';

jest.setTimeout(60000);
afterEach(cleanUp);

/** Makes a log, and an unrelated database beside it. @param {string} folder @param {string} mark */
function makeLog(folder, mark) {
  new Database(folder).close();
  const log = new DatabaseSync(path.join(folder, 'log.db'));
  log
    .prepare('INSERT INTO quarantine (node, class, at, reason, records) VALUES (?, 1, 1, ?, 1)')
    .run('n', mark);
  log.close();
  const other = new DatabaseSync(path.join(folder, 'mine.db'));
  other.exec('CREATE TABLE t (mark)');
  other.prepare('INSERT INTO t VALUES (?)').run(mark);
  other.close();
}

/** @param {string} folder @returns {unknown[]} marks of the log and of the database beside it */
function marksIn(folder) {
  // As a gateway opens it.
  new Database(folder).close();
  const queries = { 'log.db': 'SELECT reason AS mark FROM quarantine', 'mine.db': 'SELECT mark FROM t' };
  return Object.entries(queries).map(([name, query]) => {
    const db = new DatabaseSync(path.join(folder, name), { readOnly: true });
    try {
      return db.prepare(query).get()?.mark;
    } finally {
      db.close();
    }
  });
}

test('restores the log in SEGANET_LOG_DIR and the earlier one in the default folder', () => {
  const home = newHome();
  const outside = path.join(temporaryFolder(), 'log');
  makeLog(path.join(home, 'seganet-log', ENGINE), 'earlier');
  makeLog(outside, 'in use');
  fs.appendFileSync(path.join(home, 'gateway.env'), `SEGANET_LOG_DIR='${outside}'\n`);
  const { restored, output, restoring } = throughBackup(home);
  expect(output).toMatch(/, 2 logs,/);
  const logs = path.join(restored, 'seganet-log');
  expect(marksIn(path.join(logs, ENGINE))).toEqual(['earlier', 'earlier']);
  expect(marksIn(path.join(logs, `${ENGINE}-2`))).toEqual(['in use', 'in use']);
  expect(restoring.match(/The log of .*/g)).toEqual([
    `The log of ${ENGINE} was in ${outside} and is now in ${logs}/${ENGINE}-2. ` +
      `Move it there before the start, or name the new folder in SEGANET_LOG_DIR, or in the engine's Log folder.`
  ]);
  // The restored folder is one whose backup can be restored.
  fs.writeFileSync(path.join(restored, 'gateway.env'), `SEGANET_LOG_DIR='${logs}/${ENGINE}-2'\n`);
  const again = throughBackup(restored).restored;
  expect(marksIn(path.join(again, 'seganet-log', `${ENGINE}-2`))).toEqual(['in use', 'in use']);
  expect(marksIn(path.join(again, 'seganet-log', ENGINE))).toEqual(['earlier', 'earlier']);
});

test('restores a log elsewhere beside files of the default folder, without replacing one', () => {
  const home = newHome();
  const outside = path.join(temporaryFolder(), 'log');
  makeLog(outside, 'in use');
  const place = path.join(home, 'seganet-log', ENGINE);
  fs.mkdirSync(place, { recursive: true });
  fs.writeFileSync(path.join(place, 'mine.db'), 'notes of a user');
  fs.appendFileSync(path.join(home, 'gateway.env'), `SEGANET_LOG_DIR='${outside}'\n`);
  const logs = path.join(throughBackup(home).restored, 'seganet-log');
  expect(fs.readFileSync(path.join(logs, ENGINE, 'mine.db'), 'utf8')).toBe('notes of a user');
  expect(marksIn(path.join(logs, `${ENGINE}-2`))).toEqual(['in use', 'in use']);
});

test('has a log once that is reached by two names', () => {
  const home = newHome();
  const logs = path.join(home, 'seganet-log');
  makeLog(path.join(logs, ENGINE), 'only');
  const link = path.join(temporaryFolder(), 'link');
  fs.symlinkSync(home, link);
  fs.appendFileSync(path.join(home, 'gateway.env'), `SEGANET_LOG_DIR='${link}/seganet-log/${ENGINE}'\n`);
  const { restored, output } = throughBackup(home);
  expect(output).toMatch(/, 1 log,/);
  expect(filesIn(path.join(restored, 'seganet-log')).sort()).toEqual([
    `${ENGINE}/log.db`,
    `${ENGINE}/mine.db`
  ]);
});

test('refuses a backup that has two files for one place, and changes nothing', async () => {
  const folder = temporaryFolder();
  const file = path.join(folder, 'a.backup');
  const archive = new ArchiveWriter(file);
  const manifest = { format: 1, version: '0.1.0', created: '2026-01-01T00:00:00.000Z', home: '/h', logs: [] };
  await archive.addText('seganet-backup.json', JSON.stringify(manifest));
  await archive.addText('home/seganet-log/e/ocf.db', 'first');
  await archive.addText('log/e/ocf.db', 'second');
  await archive.end();
  expect(command('restore', file, '--home', path.join(folder, 'gateway'))).toEqual({
    code: 3,
    output: `seganet-gateway: ${file} cannot be restored: it has two files for seganet-log/e/ocf.db. Nothing was changed.\n`
  });
  expect(fs.readdirSync(folder)).toEqual(['a.backup']);
});

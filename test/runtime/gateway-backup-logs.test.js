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

test('restores both files of an older backup that has two for one place', async () => {
  const folder = temporaryFolder();
  const [file, home] = [path.join(folder, 'a.backup'), path.join(folder, 'gateway')];
  const archive = new ArchiveWriter(file);
  const logs = [
    { engine: 'e', directory: '/srv/log' },
    { engine: 'e-2', directory: '/h/seganet-log/e-2' }
  ];
  const manifest = { format: 1, version: '0.1.0', created: '2026-01-01T00:00:00.000Z', home: '/h', logs };
  await archive.addText('seganet-backup.json', JSON.stringify(manifest));
  await archive.addText('home/seganet-log/e/ocf.db', 'first');
  await archive.addText('log/e/ocf.db', 'second');
  await archive.addText('log/e-2/mine.db', 'third');
  await archive.end();
  const { code, output } = command('restore', file, '--home', home);
  expect(code).toBe(0);
  const place = path.join(home, 'seganet-log');
  expect(output).toMatch(`The log of e was in /srv/log and is now in ${path.join(place, 'e-3')}. `);
  const textOf = (/** @type {string} */ name) => fs.readFileSync(path.join(place, name), 'utf8');
  expect(['e/ocf.db', 'e-3/ocf.db', 'e-2/mine.db'].map(textOf)).toEqual(['first', 'second', 'third']);
});

test('has the log in a folder that a variable of gateway.env names', () => {
  const home = newHome();
  const outside = path.join(temporaryFolder(), 'log');
  makeLog(outside, 'outside');
  fs.appendFileSync(path.join(home, 'gateway.env'), `MY_LOG='${outside}'\n`);
  const flow = path.join(home, 'gateway.json');
  const nodes = JSON.parse(fs.readFileSync(flow, 'utf8'));
  nodes.find((/** @type {any} */ { type }) => type === 'seganet-engine').logDir = '${MY_LOG}';
  fs.writeFileSync(flow, JSON.stringify(nodes));
  const { restored } = throughBackup(home);
  expect(marksIn(path.join(restored, 'seganet-log', ENGINE))).toEqual(['outside', 'outside']);
});

test('says that a folder of a log does not exist, and ends at one that cannot be read', () => {
  const home = newHome();
  const folder = temporaryFolder();
  const [outside, file] = [path.join(folder, 'log'), path.join(folder, 'a.backup')];
  fs.appendFileSync(path.join(home, 'gateway.env'), `SEGANET_LOG_DIR='${outside}'\n`);
  const first = command('backup', file, '--home', home);
  expect(first.output).toMatch(`Not in the backup: ${outside} does not exist.`);
  expect(first.code).toBe(0);
  fs.symlinkSync(outside, outside); // ELOOP, which also root gets
  expect(command('backup', `${file}2`, '--home', home)).toEqual({
    code: 3,
    output: `seganet-gateway: ${outside} cannot be read (ELOOP). Run the command as the gateway's user.\n`
  });
});

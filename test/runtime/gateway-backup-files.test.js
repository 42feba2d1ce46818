'use strict';
// Which files are in a backup: databases in use, wherever they are.

const fs = require('node:fs');
const path = require('node:path');
const { SqliteStore } = require('../../nodes/lib/ocf/store');
const { Database } = require('../../nodes/lib/store/log-database');
const { DatabaseSync } = require('../../nodes/lib/store/sqlite');
const { WRITER } = require('../fixtures/store/database-writer');
const { command, filesIn, newHome, throughBackup } = require('./backup-command');
const { run, temporaryFolder, cleanUp } = require('./process');

const ENGINE = 'seganet-engine-1';

jest.setTimeout(60000);
/** @type {(() => unknown)[]} */
const open = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
  await cleanUp();
});

/** Writes accounts, which stay in the WAL of the store that the test keeps open. @param {string} file */
async function openAccounts(file) {
  const store = new SqliteStore(file);
  open.push(() => store.close());
  const user = { issuer: 'test', sub: 'alice', uid: 'alice-id', now: 1 };
  const token = { hash: Buffer.alloc(32, 1), id: 'token-1', expires: 1e15, most: 9 };
  expect(await store.write('addUserToken', { ...user, ...token })).toBe(true);
  expect(fs.statSync(`${file}-wal`).size).toBeGreaterThan(0);
}

/** @param {string} file @returns {unknown[]} ids of the tokens */
function tokensIn(file) {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return db
      .prepare('SELECT id FROM user_token')
      .all()
      .map(({ id }) => id);
  } finally {
    db.close();
  }
}

describe('the accounts of a running ocf cloud node are in a backup', () => {
  test('beside the log', async () => {
    const home = newHome();
    const folder = path.join(home, 'seganet-log', ENGINE);
    new Database(folder).close();
    fs.writeFileSync(path.join(folder, 'log.reserve'), 'x'.repeat(1000));
    fs.writeFileSync(path.join(folder, 'sessions.db'), '');
    fs.writeFileSync(path.join(folder, 'tenants.json'), '{}');
    await openAccounts(path.join(folder, 'ocf.db'));
    const { restored } = throughBackup(home);
    const names = ['log.db', 'ocf.db', 'tenants.json'];
    expect(filesIn(path.join(restored, 'seganet-log', ENGINE))).toEqual(names);
    expect(tokensIn(path.join(restored, 'seganet-log', ENGINE, 'ocf.db'))).toEqual(['token-1']);
  });

  test('without a log, and in a file of their own', async () => {
    const home = newHome();
    const places = [path.join('seganet-log', ENGINE, 'ocf.db'), path.join('accounts', 'cloud.sqlite')];
    for (const place of places) await openAccounts(path.join(home, place));
    const { restored } = throughBackup(home);
    for (const place of places) {
      expect(filesIn(path.join(restored, path.dirname(place)))).toEqual([path.basename(place)]);
      expect(tokensIn(path.join(restored, place))).toEqual(['token-1']);
    }
  });

  test.each(['with', 'without'])('in a log folder outside SEGANET_HOME, %s a log', async (which) => {
    const home = newHome();
    const outside = path.join(temporaryFolder(), 'log');
    if (which === 'with') new Database(outside).close();
    await openAccounts(path.join(outside, 'ocf.db'));
    fs.appendFileSync(path.join(home, 'gateway.env'), `SEGANET_LOG_DIR='${outside}'\n`);
    const { restored } = throughBackup(home);
    const names = which === 'with' ? ['log.db', 'ocf.db'] : ['ocf.db'];
    expect(filesIn(path.join(restored, 'seganet-log', ENGINE))).toEqual(names);
    expect(tokensIn(path.join(restored, 'seganet-log', ENGINE, 'ocf.db'))).toEqual(['token-1']);
  });

  test('in a log folder behind a symbolic link', async () => {
    const home = newHome();
    const outside = temporaryFolder();
    fs.rmSync(path.join(home, 'seganet-log'), { recursive: true });
    fs.symlinkSync(outside, path.join(home, 'seganet-log'));
    new Database(path.join(outside, ENGINE)).close();
    await openAccounts(path.join(outside, ENGINE, 'ocf.db'));
    const { restored } = throughBackup(home);
    expect(tokensIn(path.join(restored, 'seganet-log', ENGINE, 'ocf.db'))).toEqual(['token-1']);
  });
});

test('names the accounts of an ocf cloud node that are elsewhere', () => {
  const home = newHome();
  const flow = path.join(home, 'gateway.json');
  const file = path.join(temporaryFolder(), 'accounts.db');
  const nodes = [file, path.join(home, 'in.db'), 'postgres://db/ocf'].map((storeFile, i) => ({
    id: `cloud-${i}`,
    type: 'seganet-ocf-cloud',
    storeFile
  }));
  fs.writeFileSync(flow, JSON.stringify([...JSON.parse(fs.readFileSync(flow, 'utf8')), ...nodes]));
  const lines = throughBackup(home).output.split('\n');
  expect(lines.filter((line) => line.includes('ocf cloud'))).toEqual([
    `seganet-gateway: Not in the backup: ${file} (ocf cloud node) is outside ${home}.`
  ]);
});

test('saves a damaged database unchanged, with a message', () => {
  const home = newHome();
  const bytes = Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(5000, 7)]);
  fs.writeFileSync(path.join(home, 'mine.db'), bytes);
  const { restored, output } = throughBackup(home);
  expect(output).toMatch(/mine\.db is a damaged database\. It is in the backup as it is\./);
  expect(fs.readFileSync(path.join(restored, 'mine.db'))).toEqual(bytes);
});

test('has what was committed of a database whose program was killed in the middle of a commit', async () => {
  const home = newHome();
  const file = path.join(home, 'mine.db');
  const program = run(process.execPath, ['--no-warnings', '-e', HALF, file]);
  await program.says('written');
  program.child.kill('SIGKILL');
  await program.ended;
  expect(fs.statSync(`${file}-journal`).size).toBeGreaterThan(0);
  const { restored } = throughBackup(home);
  const db = new DatabaseSync(path.join(restored, 'mine.db'), { readOnly: true });
  open.push(() => db.close());
  expect(db.prepare('SELECT n FROM t').all()).toEqual([{ n: 1 }]);
});

test('keeps a file whose name is like one of SQLite, and leaves out what belongs to a database', () => {
  const home = newHome();
  fs.writeFileSync(path.join(home, 'notes'), 'mine');
  fs.writeFileSync(path.join(home, 'notes-journal'), 'mine');
  const db = new DatabaseSync(path.join(home, 'mine.db'));
  open.push(() => db.close());
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (n); INSERT INTO t VALUES (1)');
  const { restored } = throughBackup(home);
  const names = filesIn(restored).filter((name) => /^(?:notes|mine)/.test(name));
  expect(names).toEqual(['mine.db', 'notes', 'notes-journal']);
});

test.each(['', 'copies'])('contains no backup when all of them are in SEGANET_HOME/%s', (below) => {
  const home = newHome();
  const folder = path.join(home, below);
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'notes.gz'), require('node:zlib').gzipSync('mine'));
  // What an interrupted backup leaves.
  for (const name of [
    'a.backup.0123abcd.part',
    '.backup-0123456789ab.db',
    '.backup-0123456789ab.db-journal'
  ]) {
    fs.writeFileSync(path.join(folder, name), 'x');
  }
  const [first, second, third] = ['a.backup', 'b.backup', 'c'].map((name) => path.join(folder, name));
  expect(command('backup', first, '--home', home).output).not.toMatch(/earlier/);
  expect(command('backup', second, '--home', home).output).toMatch(
    `Not in the backup: 1 earlier backup in ${folder}.`
  );
  fs.writeFileSync(third, 'no backup yet');
  const { code, output } = command('backup', third, '--home', home, '--force');
  expect({ code, output }).toMatchObject({ code: 0 });
  expect(output).toMatch(`Not in the backup: 2 earlier backups in ${folder}.`);
  const restored = path.join(temporaryFolder(), 'gateway');
  expect(command('restore', third, '--home', restored)).toMatchObject({ code: 0 });
  const names = filesIn(restored).filter((name) => /backup|notes|(?:^|\/)c$/.test(name));
  expect(names).toEqual([path.join(below, 'notes.gz')]);
});

test('ends while another process writes a database many times a second', async () => {
  const home = newHome();
  const file = path.join(home, 'seganet-series', 'series', 'series.db');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const db = new DatabaseSync(file);
  db.exec(`PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER); CREATE TABLE filler (body BLOB);
    WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 32)
    INSERT INTO filler SELECT randomblob(1 << 20) FROM n`);
  db.close();
  const writer = run(process.execPath, ['--no-warnings', '-e', WRITER, file]);
  await writer.says('writing');
  const { restored } = throughBackup(home);
  expect(writer.child.exitCode).toBeNull();
  const copy = new DatabaseSync(path.join(restored, 'seganet-series', 'series', 'series.db'));
  expect(copy.prepare('PRAGMA quick_check').get()).toEqual({ quick_check: 'ok' });
  copy.close();
});

/** Writes half of a transaction into the database, and waits. */
const HALF = `
  const { DatabaseSync } = require('node:sqlite');
  const db = new DatabaseSync(process.argv[1]);
  db.exec('CREATE TABLE t (n, body); INSERT INTO t VALUES (1, NULL); PRAGMA cache_size = 1; BEGIN');
  for (let n = 2; n < 50; n++) db.prepare('INSERT INTO t VALUES (?, randomblob(10000))').run(n);
  console.log('written');
  setInterval(() => {}, 1000);`;

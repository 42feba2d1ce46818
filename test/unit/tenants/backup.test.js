'use strict';
// Backups of volumes: databases in use, files of every kind, retention, and what happens when something is in the way.

const crypto = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { once } = require('node:events');
const { execFileSync, spawn } = require('node:child_process');
const { DatabaseSync } = require('node:sqlite');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const {
  listBackups,
  makeBackup,
  nameOf,
  superfluous
} = require('../../../docker/tenants/lib/backup/backups');
const { unpack } = require('../../../docker/tenants/lib/backup/unpack');

const FIXTURES = path.join(__dirname, '..', '..', 'fixtures', 'tenants');
const { test: withMkfifo } = needs('mkfifo');
const { test: withZstd } = needs('tar', 'zstd');
const { test: withAge } = needs('age', 'age-keygen');
const PASSPHRASE = 'correct horse battery';

/** @type {string} */
let root;
/** @type {string} */
let volume;
/** @type {string} */
let folder;
/** @type {import('node:child_process').ChildProcess[]} */
const children = [];

beforeEach(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-backup-'));
  [volume, folder] = [path.join(root, 'volume'), path.join(root, 'backups')];
  fs.mkdirSync(volume);
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  fs.rmSync(root, { recursive: true, force: true });
});

/** @param {string} name @param {string | Buffer} content */
function put(name, content) {
  fs.mkdirSync(path.dirname(path.join(volume, name)), { recursive: true });
  fs.writeFileSync(path.join(volume, name), content);
}

/** @param {Partial<Parameters<typeof makeBackup>[0]>} [more] */
const backup = (more = {}) => makeBackup({ tenant: 'acme', volume, folder, ...more });

let count = 0;
/** @param {string} file @param {{ passphrase?: string, identity?: string }} [keys] */
async function restored(file, keys = {}) {
  const out = path.join(root, `out-${count++}`);
  fs.mkdirSync(out);
  const result = await unpack({ ...keys, file, folder: out, most: 2 ** 30, sync: false });
  return { out, ...result };
}

/** @param {string[]} args */
function run(...args) {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    stdio: ['ignore', 'pipe', 'inherit']
  });
  children.push(child);
  return child;
}

/** A database with some rows. @param {string} name @param {number} rows */
function database(name, rows) {
  fs.mkdirSync(path.dirname(path.join(volume, name)), { recursive: true });
  const db = new DatabaseSync(path.join(volume, name));
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (x TEXT)');
  const insert = db.prepare('INSERT INTO t VALUES (?)');
  db.exec('BEGIN');
  for (let i = 0; i < rows; i++) insert.run(`${i} ${crypto.randomBytes(100).toString('hex')}`);
  db.exec('COMMIT');
  return db;
}

test('copies databases in use as they were at one moment, while a process writes to them', async () => {
  const writer = run(path.join(FIXTURES, 'writer.js'), volume);
  await once(/** @type {any} */ (writer.stdout), 'data');
  for (let round = 0; round < 3; round++) {
    const { file, databases, skipped } = await backup();
    expect(databases).toBe(2);
    expect(skipped).toEqual([]);
    const { out, manifest } = await restored(file);
    expect(manifest.entries.map((row) => [row.path, row.kind])).toEqual([
      ['old.db', 'database'],
      ['text.log', 'file'],
      ['wal.db', 'database']
    ]);
    for (const name of ['wal.db', 'old.db']) {
      const db = new DatabaseSync(path.join(out, name));
      expect(db.prepare('SELECT sum(amount) AS sum FROM accounts').get()?.sum).toBe(1000);
      const moved = db.prepare('SELECT sum(amount) AS sum, count(*) AS count FROM moves').get();
      expect(moved?.sum).toBe(db.prepare('SELECT amount FROM accounts WHERE id = 2').get()?.amount);
      expect(Number(moved?.count)).toBeGreaterThanOrEqual(50);
      db.close();
    }
  }
  expect(writer.exitCode).toBeNull();
});

test.each(['', PASSPHRASE])(
  'restores files, folders, links, modes and times (passphrase %j)',
  async (passphrase) => {
    put('flows.json', '[]');
    put('deep/er/é ü.txt', 'text');
    put('empty', '');
    put('large', crypto.randomBytes(5 << 20));
    put('bin/tool', '#!/bin/sh\n');
    fs.chmodSync(path.join(volume, 'bin/tool'), 0o755);
    fs.mkdirSync(path.join(volume, 'nothing/inside'), { recursive: true });
    fs.chmodSync(path.join(volume, 'nothing'), 0o500);
    fs.symlinkSync('../deep/er', path.join(volume, 'bin/link'));
    fs.utimesSync(path.join(volume, 'flows.json'), 1e9, 1e9);
    fs.utimesSync(path.join(volume, 'deep'), 1e9, 1e9);
    const made = await backup({ passphrase });
    expect(made).toMatchObject({ files: 5, databases: 0, skipped: [], warnings: [], removed: [] });
    expect(path.basename(made.file)).toMatch(
      passphrase ? /^acme-\d{8}T\d{9}Z\.tar\.zst\.age$/ : /^acme-\d{8}T\d{9}Z\.tar\.zst$/
    );
    expect(fs.statSync(made.file).mode & 0o777).toBe(0o600);
    expect(fs.readdirSync(folder)).toEqual([path.basename(made.file)]);
    const { out, about, manifest } = await restored(made.file, { passphrase });
    expect(about).toMatchObject({ format: 1, tenant: 'acme', node: process.versions.node });
    expect(manifest.owner.uid).toBe(fs.statSync(volume).uid);
    const names = fs.readdirSync(volume, { recursive: true, encoding: 'utf8' }).sort();
    expect(fs.readdirSync(out, { recursive: true, encoding: 'utf8' }).sort()).toEqual(names);
    for (const name of names) {
      const [a, b] = [volume, out].map((each) => path.join(each, name));
      const [before, after] = [fs.lstatSync(a), fs.lstatSync(b)];
      expect([name, after.mode]).toEqual([name, before.mode]);
      expect(Math.abs(after.mtimeMs - before.mtimeMs)).toBeLessThanOrEqual(1);
      if (before.isFile()) expect(fs.readFileSync(b).equals(fs.readFileSync(a))).toBe(true);
    }
    expect(fs.readlinkSync(path.join(out, 'bin/link'))).toBe('../deep/er');
    if (process.getuid?.() !== 0)
      for (const each of [volume, out]) fs.chmodSync(path.join(each, 'nothing'), 0o700);
  }
);

withAge('is encrypted for recipients, and read with their keys only', async () => {
  put('a', crypto.randomBytes(300_000));
  const [mine, other] = ['mine', 'other'].map((name) => {
    execFileSync('age-keygen', ['-o', path.join(root, name)], { stdio: 'ignore' });
    return path.join(root, name);
  });
  const [, key = ''] = /public key: (age1\S+)/.exec(fs.readFileSync(mine, 'utf8')) ?? [];
  const { file } = await backup({ recipients: [key] });
  expect(file).toMatch(/\.tar\.zst\.age$/);
  const { out } = await restored(file, { identity: mine });
  expect(fs.readFileSync(path.join(out, 'a')).equals(fs.readFileSync(path.join(volume, 'a')))).toBe(true);
  await expect(restored(file, { identity: other })).rejects.toThrow(/age refuses it: no identity matched/);
  await expect(restored(file)).rejects.toThrow(
    /it is encrypted with age\. Name the file of your key with --identity/
  );
  const whole = fs.readFileSync(file);
  for (const at of [10, 150, whole.length >> 1, whole.length - 1]) {
    const bytes = Buffer.from(whole);
    bytes[at] ^= 1;
    fs.writeFileSync(file, bytes);
    await expect(restored(file, { identity: mine })).rejects.toThrow(/cannot be used/);
  }
  fs.writeFileSync(file, whole.subarray(0, whole.length >> 1));
  await expect(restored(file, { identity: mine })).rejects.toThrow(/cannot be used/);
  await expect(backup({ recipients: ['age1nonsense'] })).rejects.toThrow(/age refuses it/);
  await expect(backup({ recipients: [key], passphrase: PASSPHRASE })).rejects.toThrow(/not both/);
  expect(fs.readdirSync(folder)).toEqual([path.basename(file)]);
});

withZstd('is a file that zstd and tar understand', async () => {
  put('a/b.txt', 'text');
  const { file } = await backup();
  const to = path.join(root, 'by-hand');
  fs.mkdirSync(to);
  execFileSync('sh', ['-c', 'zstd -dqc "$1" | tar -x -C "$2" --warning=none', 'sh', file, to]);
  expect(fs.readFileSync(path.join(to, 'volume/a/b.txt'), 'utf8')).toBe('text');
  expect(JSON.parse(fs.readFileSync(path.join(to, 'MANIFEST.json'), 'utf8')).entries).toHaveLength(2);
});

withMkfifo('leaves out sockets, pipes, links to elsewhere, and what is made again', async () => {
  put('keep', 'x');
  execFileSync('mkfifo', [path.join(volume, 'pipe')]);
  const server = net.createServer().listen(path.join(volume, 'gateway.sock'));
  await once(server, 'listening');
  fs.symlinkSync('/etc/passwd', path.join(volume, 'passwd'));
  fs.symlinkSync('../backups', path.join(volume, 'up'));
  fs.writeFileSync(Buffer.concat([Buffer.from(`${volume}/`), Buffer.from([0xff, 0xfe])]), 'not UTF-8');
  put('seganet-log/e/log.reserve', 'reserve');
  put('seganet-log/e/sessions.db', 'sessions');
  put('.npm/cache', 'cache');
  put('node_modules/.cache/x', 'cache');
  put('flow.json.0123456789ab.new', 'draft');
  put('notes-wal', 'no database is called notes');
  try {
    const { file, skipped } = await backup();
    const { out } = await restored(file);
    const names = fs.readdirSync(out, { recursive: true, encoding: 'utf8' }).sort();
    expect(names).toEqual(['keep', 'node_modules', 'notes-wal', 'seganet-log', 'seganet-log/e']);
    expect(skipped.map(({ name, why }) => `${name}: ${why}`).sort()).toEqual([
      'passwd: it is a link to a place outside the volume',
      'pipe: it is a device or a pipe',
      'up: it is a link to a place outside the volume',
      '…: its name is not UTF-8'
    ]);
  } finally {
    server.close();
  }
});

test('does not save what is beside a database, whatever the database is called', async () => {
  const db = database('data', 100);
  expect(fs.existsSync(path.join(volume, 'data-wal'))).toBe(true);
  const { file } = await backup();
  db.close();
  const { out } = await restored(file);
  expect(fs.readdirSync(out)).toEqual(['data']);
  const copy = new DatabaseSync(path.join(out, 'data'));
  expect(copy.prepare('SELECT count(*) AS count FROM t').get()?.count).toBe(100);
  copy.close();
});

test('has a database whose program was killed in the middle of a commit', async () => {
  const writer = run(path.join(FIXTURES, 'writer.js'), volume);
  await once(/** @type {any} */ (writer.stdout), 'data');
  writer.kill('SIGKILL');
  await once(writer, 'exit');
  const { file, databases, warnings } = await backup();
  expect([databases, warnings.filter((each) => /database/.test(each))]).toEqual([2, []]);
  const { out } = await restored(file);
  for (const name of ['wal.db', 'old.db']) {
    const db = new DatabaseSync(path.join(out, name));
    expect(db.prepare('SELECT sum(amount) AS sum FROM accounts').get()?.sum).toBe(1000);
    db.close();
  }
});

test('saves a damaged database unchanged, with a message', async () => {
  const db = database('good.db', 2000);
  db.close();
  const bytes = fs.readFileSync(path.join(volume, 'good.db'));
  const torn = Buffer.from(bytes);
  crypto.randomFillSync(torn, 8192, 20_000);
  put('torn.db', torn);
  put('none.db', Buffer.concat([Buffer.from('SQLite format 3\0'), crypto.randomBytes(5000)]));
  const { file, warnings } = await backup();
  expect(warnings).toHaveLength(2);
  expect(warnings.join()).toMatch(/none\.db is a damaged database .*torn\.db is a damaged database/s);
  const { out, warnings: again } = await restored(file);
  expect(
    fs.readFileSync(path.join(out, 'none.db')).equals(fs.readFileSync(path.join(volume, 'none.db')))
  ).toBe(true);
  expect(again).toEqual(['torn.db was a damaged database already when it was saved.']);
});

/** Starts a process that holds a database as a gateway holds its log. @param {string} name */
async function lock(name) {
  fs.mkdirSync(path.dirname(path.join(volume, name)), { recursive: true });
  const script = `const db = new (require('node:sqlite').DatabaseSync)(process.argv[1]);
    db.exec('PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE t (x); INSERT INTO t VALUES (1)');
    console.log('locked'); setInterval(() => {}, 1000)`;
  const child = run('-e', script, path.join(volume, name));
  await once(/** @type {any} */ (child.stdout), 'data');
}

test('names a database that a process holds with an exclusive lock', async () => {
  await lock('log.db');
  await expect(backup()).rejects.toThrow(
    /log\.db is locked by a process that is not a running gateway in this volume/
  );
  expect(fs.readdirSync(folder)).toEqual([]);
});

test('asks a running gateway for the databases that it locks', async () => {
  await lock('seganet-log/e/log.db');
  const copy = path.join(root, 'copy.db');
  const db = new DatabaseSync(copy);
  db.exec("CREATE TABLE t (x); INSERT INTO t VALUES ('sent by the gateway')");
  db.close();
  let status = 200;
  const server = http.createServer((request, response) => {
    const isList = request.url === '/engines';
    response.statusCode = isList ? 200 : status;
    // The gateway's own path of its volume, as in a container.
    if (isList) response.end(JSON.stringify([{ engine: 'e', directory: '/data/seganet-log/e' }]));
    else response.end(status === 200 ? fs.readFileSync(copy) : '{"error":"The copy needs 40 MiB."}');
  });
  await once(server.listen(path.join(volume, 'gateway.sock')), 'listening');
  try {
    const { file, databases, warnings } = await backup();
    expect([databases, warnings]).toEqual([1, []]);
    const { out } = await restored(file);
    const saved = new DatabaseSync(path.join(out, 'seganet-log/e/log.db'));
    expect(saved.prepare('SELECT x FROM t').get()?.x).toBe('sent by the gateway');
    saved.close();
    status = 507;
    await expect(backup()).rejects.toThrow(
      /log\.db is in use by a gateway that does not send it: The copy needs 40 MiB\./
    );
  } finally {
    server.close().closeAllConnections();
  }
  // A gateway that was killed leaves its socket.
  await expect(backup()).rejects.toThrow(/is locked by a process that is not a running gateway/);
});

test('leaves no half file when it is killed, and the next one removes its rest', async () => {
  for (let i = 0; i < 6; i++) put(`data-${i}`, crypto.randomBytes(5 << 20));
  database('some.db', 5000).close();
  for (const waitMs of [0, 40, 120]) {
    const child = run(path.join(FIXTURES, 'backup-child.js'), volume, folder);
    await once(/** @type {any} */ (child.stdout), 'data');
    await eventually(
      () => fs.existsSync(folder) && fs.readdirSync(folder).some((name) => name.endsWith('.part')),
      {
        everyMs: 2
      }
    );
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    child.kill('SIGKILL');
    await once(child, 'exit');
    for (const { file } of listBackups(folder, 'acme')) await restored(file);
  }
  const made = await backup();
  await restored(made.file);
  const rest = fs.readdirSync(folder).filter((name) => name.startsWith('.'));
  expect(rest).toEqual([]);
});

test('is made by one process at a time', async () => {
  put('a', crypto.randomBytes(1 << 20));
  const results = await Promise.allSettled([backup(), backup()]);
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(listBackups(folder, 'acme')).toHaveLength(1);
});

test('refuses a volume above the limit, a missing one, and a folder inside the volume', async () => {
  put('a', crypto.randomBytes(3 << 20));
  await expect(backup({ mostBytes: 2 << 20 })).rejects.toThrow(/With a the volume has more than 2 MiB/);
  await expect(backup({ volume: path.join(root, 'gone') })).rejects.toThrow(/There is no volume/);
  await expect(backup({ volume: path.join(volume, 'a') })).rejects.toThrow(/is not a folder/);
  await expect(backup({ folder: path.join(volume, 'backups') })).rejects.toThrow(/is in the volume itself/);
  await expect(backup({ passphrase: 'short' })).rejects.toThrow(/at least 12 characters/);
  expect(fs.existsSync(folder) ? fs.readdirSync(folder) : []).toEqual([]);
});

test('keeps the last day, the newest of seven days and of four weeks, and other files', async () => {
  const day = 86_400_000;
  const monday = Date.UTC(2026, 10, 23, 2);
  const all = Array.from({ length: 80 }, (_, i) => ({
    file: `${i}`,
    at: monday - Math.floor(i / 2) * day - (i % 2) * 3_600_000,
    bytes: 1
  }));
  const gone = new Set(superfluous(all, { daily: 7, weekly: 4 }));
  const kept = all.filter((each) => !gone.has(each)).map(({ at }) => new Date(at).toISOString().slice(0, 13));
  expect(kept).toEqual([
    '2026-11-23T02',
    '2026-11-23T01',
    '2026-11-22T02',
    '2026-11-21T02',
    '2026-11-20T02',
    '2026-11-19T02',
    '2026-11-18T02',
    '2026-11-17T02',
    '2026-11-15T02',
    '2026-11-08T02'
  ]);
  expect(superfluous([], { daily: 7, weekly: 4 })).toEqual([]);
  const old = all.filter(({ at }) => at < monday - 30 * day).slice(0, 3);
  expect(superfluous(old, { daily: 7, weekly: 4 })).toHaveLength(1);

  put('a', 'x');
  fs.mkdirSync(folder);
  const names = [25, 25.5, 26].map((hours) => nameOf('acme', new Date(monday - hours * 3_600_000)));
  const others = [
    'acme-2-20261123T010000000Z.tar.zst',
    'acme-notes.txt',
    'acme-20261121T010000000Z.tar.zst.sha256'
  ];
  for (const name of [...names, ...others]) fs.writeFileSync(path.join(folder, name), '');
  const { removed } = await backup({ now: () => new Date(monday) });
  expect(removed.map((file) => path.basename(file))).toEqual(names.slice(1));
  for (const name of others) expect(fs.existsSync(path.join(folder, name))).toBe(true);
});

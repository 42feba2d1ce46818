'use strict';
// Backups of volumes that are replaced meanwhile, or whose gateway is hostile.

const crypto = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { once } = require('node:events');
const { DatabaseSync } = require('node:sqlite');
const { ask, jsonOf } = require('../../../docker/tenants/lib/backup/gateway-copies');
const { makeBackup } = require('../../../docker/tenants/lib/backup/backups');
const { unpack } = require('../../../docker/tenants/lib/backup/unpack');
const { nothingSaved, tarOf } = require('../../../docker/tenants/lib/backup/save');

/** @type {string} */
let root;
beforeEach(() => (root = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-backup-'))));
afterEach(() => fs.rmSync(root, { recursive: true, force: true }));

test('refuses a volume that is replaced while it is saved', async () => {
  const [volume, staging] = [path.join(root, 'volume'), path.join(root, 'staging')];
  for (const folder of [volume, staging]) fs.mkdirSync(folder);
  for (let i = 0; i < 20; i++) fs.writeFileSync(path.join(volume, `data-${i}`), crypto.randomBytes(1 << 20));
  const saved = nothingSaved();
  const source = { tenant: 'acme', definition: null, volume, staging, most: 2 ** 30 };
  let bytes = 0;
  const read = async () => {
    for await (const chunk of tarOf(source, saved, new Date())) {
      bytes += chunk.length;
      if (saved.entries.length !== 2 || fs.readdirSync(volume).length === 0) continue;
      // As a restore does it: what is walked is set aside, and deleted.
      fs.renameSync(volume, `${volume}.before`);
      fs.mkdirSync(volume);
      fs.rmSync(`${volume}.before`, { recursive: true });
    }
  };
  await expect(read()).rejects.toThrow(/was replaced or removed while it was saved/);
  expect(bytes).toBeGreaterThan(1 << 20);
});

test('waits only a limited time for the whole of an answer', async () => {
  const server = http.createServer((_, response) => {
    const timer = setInterval(() => response.write('['), 50);
    response.once('close', () => clearInterval(timer));
  });
  const socket = path.join(root, 'gateway.sock');
  await once(server.listen(socket), 'listening');
  try {
    const answer = async () => jsonOf(await ask(socket, '/engines', 300));
    await expect(answer()).rejects.toThrow('no whole answer within 0.3 s');
  } finally {
    server.close().closeAllConnections();
  }
});

describe('a database whose program was ended in the middle of a commit', () => {
  const ROWS = 200;
  /** @type {string} */
  let volume;
  beforeEach(() => fs.mkdirSync((volume = path.join(root, 'volume'))));

  /** Leaves the files as a program that is killed in a transaction does: rows are changed, and the journal is hot. */
  function leaveHalfDone() {
    const [live, left] = ['live', 'left.db'].map((name) => path.join(volume, name));
    const db = new DatabaseSync(live);
    // The pages do not fit into the memory, so SQLite writes them before the commit.
    db.exec('PRAGMA journal_mode = DELETE; PRAGMA cache_size = 10; CREATE TABLE t (x)');
    const fill = db.prepare('INSERT INTO t VALUES (?)');
    for (let i = 0; i < ROWS; i++) fill.run('old'.padEnd(2000, '.'));
    db.exec("BEGIN; UPDATE t SET x = 'new' || substr(x, 4)");
    for (const suffix of ['', '-journal']) fs.copyFileSync(live + suffix, left + suffix);
    db.exec('ROLLBACK');
    db.close();
    fs.rmSync(live);
    expect(fs.readFileSync(left).includes('new....')).toBe(true);
    return left;
  }

  /** Contents of all files of the volume. */
  const contents = () =>
    fs.readdirSync(volume).map((name) => [name, fs.readFileSync(path.join(volume, name), 'latin1')]);
  const backup = (mostBytes = 64 << 20) =>
    makeBackup({ tenant: 'acme', volume, folder: path.join(root, 'backups'), mostBytes });

  test('is repaired in the copy, and the volume does not change', async () => {
    leaveHalfDone();
    const before = contents();
    const { file, databases, warnings } = await backup();
    expect([databases, warnings]).toEqual([1, []]);
    expect(contents()).toEqual(before);
    const out = path.join(root, 'out');
    fs.mkdirSync(out);
    await unpack({ file, folder: out, most: 2 ** 30, sync: false });
    expect(fs.readdirSync(out)).toEqual(['left.db']);
    const copy = new DatabaseSync(path.join(out, 'left.db'));
    expect(copy.prepare("SELECT count(*) AS count FROM t WHERE x LIKE 'old%'").get()?.count).toBe(ROWS);
    copy.close();
  });

  test('whose journal names a file of the host is refused, and that file stays', async () => {
    const left = leaveHalfDone();
    const victim = path.join(root, 'important.conf');
    fs.writeFileSync(victim, 'precious');
    const name = Buffer.from(victim);
    const [head, tail] = [Buffer.alloc(4), Buffer.alloc(8)];
    // The page of the locks, which no journal has: 1 GiB / 4 KiB + 1.
    head.writeUInt32BE(2 ** 30 / 4096 + 1);
    tail.writeUInt32BE(name.length);
    tail.writeUInt32BE(
      name.reduce((sum, byte) => sum + byte, 0),
      4
    );
    const magic = Buffer.from('d9d505f920a163d7', 'hex');
    fs.appendFileSync(`${left}-journal`, Buffer.concat([head, name, tail, magic]));
    const before = contents();
    await expect(backup()).rejects.toThrow(/left\.db: .*commit to several databases/);
    expect(contents()).toEqual(before);
    expect(fs.readFileSync(victim, 'utf8')).toBe('precious');
  });

  test('is not read through a link, and may not claim to be larger than a backup', async () => {
    const left = leaveHalfDone();
    const journal = fs.readFileSync(`${left}-journal`);
    fs.writeFileSync(path.join(root, 'journal'), journal);
    fs.rmSync(`${left}-journal`);
    fs.symlinkSync(path.join(root, 'journal'), `${left}-journal`);
    await expect(backup()).rejects.toThrow(/left\.db: its journal is not a file/);
    fs.rmSync(`${left}-journal`);
    // Pages of the database before the transaction: 1 GiB.
    journal.writeUInt32BE(2 ** 30 / 4096, 16);
    fs.writeFileSync(`${left}-journal`, journal);
    await expect(backup(8 << 20)).rejects.toThrow(/left\.db: .* more than [78] MiB/);
  });
});

'use strict';
// Root runs the commands of the package in the folder of a user without rights, who is hostile: what only root may
// reach must stay as it is, and out of the user's reach.

const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');
const { execFileSync } = require('node:child_process');
const { ArchiveWriter, FORMAT, MANIFEST } = require('../../flows/cli/archive');
const { head: headOf, padding } = require('../../nodes/lib/base/tar/tar');
const { createLog } = require('../../nodes/lib/store/cli/create');
const { SqliteStore } = require('../../nodes/lib/ocf/store');
const { DatabaseSync } = require('../../nodes/lib/store/sqlite');
const {
  SECRET,
  UID,
  asRoot,
  asUser,
  belongings,
  during,
  give,
  newStage,
  startAsRoot
} = require('./hostile-owner');

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn('Skipped: only root can run commands in the folder of another user.');
/** @type {jest.It} */
const ofRoot = isRoot ? test : test.skip;
jest.setTimeout(90_000);

/** @type {ReturnType<typeof newStage>} */
let stage;
/** @type {ReturnType<typeof belongings>} */
let before;
beforeEach(() => {
  if (!isRoot) return;
  stage = newStage();
  before = belongings(stage);
});
afterEach(() => isRoot && stage.remove());

const SENTENCE = /^[^\n]*[a-z][^\n]*\.\n$/;

/** The user's gateway, in the user's folder. */
function newHome() {
  const home = path.join(stage.user, 'gw');
  expect(asUser('seganet-gateway', 'init', '--home', home)).toMatchObject({ code: 0 });
  return home;
}

/** A log of the user. @param {number} rows */
function newLog(rows) {
  const folder = path.join(stage.user, 'log');
  fs.mkdirSync(folder);
  const file = path.join(folder, 'log.db');
  createLog(file, (db) => {
    const insert = db.prepare('INSERT INTO chunk VALUES (?, ?, 1, 1, 600, 1, 1, ?)');
    for (let id = 1; id <= rows; id++) insert.run(id, 'n', Buffer.alloc(600, id));
    db.exec("INSERT INTO dead VALUES (1, 'n', 1, 1, 1, 'r', 1, x'00')");
  });
  for (const name of [folder, file]) give(name);
  return { folder, file };
}

/**
 * Makes a journal of a database that names another file, which SQLite may delete.
 * @param {string} file
 * @param {string} victim
 */
function plantJournal(file, victim) {
  const [page, sector] = [4096, 512];
  const magic = Buffer.from('d9d505f920a163d7', 'hex');
  const head = Buffer.alloc(sector);
  magic.copy(head);
  const fields = { 8: 0, 12: 12345, 16: fs.statSync(file).size / page, 20: sector, 24: page };
  for (const [at, value] of Object.entries(fields)) head.writeUInt32BE(value, Number(at));
  const name = Buffer.from(victim);
  const tail = Buffer.alloc(name.length + 20);
  tail.writeUInt32BE(0x40000000 / page + 1, 0);
  name.copy(tail, 4);
  tail.writeUInt32BE(name.length, 4 + name.length);
  tail.writeUInt32BE(
    name.reduce((sum, byte) => (sum + byte) >>> 0, 0),
    8 + name.length
  );
  magic.copy(tail, 12 + name.length);
  fs.writeFileSync(`${file}-journal`, Buffer.concat([head, tail]));
  give(`${file}-journal`);
}

/** @param {string} file @param {string} target */
function link(file, target) {
  fs.rmSync(file, { force: true });
  fs.symlinkSync(target, file);
  give(file);
}

/** @param {string} file */
function pipe(file) {
  fs.rmSync(file, { force: true });
  execFileSync('mkfifo', [file]);
  give(file);
}

/** All that a folder contains, as one text. @param {string} folder @returns {string} */
function contentOf(folder) {
  const names = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names
    .map((name) => path.join(folder, name))
    .filter((name) => fs.lstatSync(name).isFile())
    .map((name) => fs.readFileSync(name, 'latin1'))
    .join('\n');
}

describe('seganet-log', () => {
  // The attack is a race, which the user does not win each time.
  ofRoot.each([1, 2])('gives no file of root to the user who links the repaired log to it (%d)', async () => {
    const { folder, file } = newLog(2000);
    const fd = fs.openSync(file, 'r+');
    fs.writeSync(fd, Buffer.alloc(4096, 0xff), 0, 4096, 4096 * 200);
    fs.closeSync(fd);
    const { attacker } = await during(['repair', folder, stage.shadow], () =>
      startAsRoot('seganet-log', 'repair', folder)
    );
    expect(attacker).toMatch(/done/);
    expect(belongings(stage)).toEqual(before);
  });

  ofRoot.each(['-journal', '-wal'])('writes nothing through a link in place of the %s', (side) => {
    const { folder, file } = newLog(3);
    if (side === '-wal') {
      const db = new DatabaseSync(file);
      db.exec('PRAGMA journal_mode = WAL');
      db.close();
    }
    link(file + side, stage.shadow);
    for (const args of [
      ['dead', '--delete', folder],
      ['repair', folder],
      ['inspect', folder]
    ]) {
      expect(asRoot('seganet-log', ...args).code).not.toBeNull();
      expect(belongings(stage)).toEqual(before);
    }
  });

  ofRoot('deletes no file that a journal names', () => {
    const { folder, file } = newLog(3);
    plantJournal(file, stage.shadow);
    for (const args of [
      ['dead', '--delete', folder],
      ['repair', folder],
      ['verify', folder]
    ]) {
      asRoot('seganet-log', ...args);
      expect(belongings(stage)).toEqual(before);
    }
  });

  ofRoot('does not wait for a pipe beside the log', () => {
    const { folder, file } = newLog(3);
    pipe(`${file}-journal`);
    const { code, output } = asRoot('seganet-log', 'verify', folder);
    expect(code).toBe(3);
    expect(output).toMatch(SENTENCE);
    expect(output).toMatch('log.db-journal is not a regular file. Remove it.');
  });
});

describe('seganet-gateway backup', () => {
  ofRoot('reads with the rights of the user what the flow names', () => {
    const home = newHome();
    const secret = new DatabaseSync(path.join(stage.root, 'logins.sqlite'));
    secret.exec(`CREATE TABLE t (x); INSERT INTO t VALUES ('${SECRET}')`);
    secret.close();
    const flow = path.join(home, 'gateway.json');
    const nodes = JSON.parse(fs.readFileSync(flow, 'utf8'));
    for (const node of nodes) if (node.type === 'seganet-engine') node.logDir = stage.root;
    fs.writeFileSync(flow, JSON.stringify(nodes));
    const file = path.join(stage.stage, 'a.backup');
    const ran = asRoot('seganet-gateway', 'backup', file, '--home', home);
    if (ran.code === 0) asRoot('seganet-gateway', 'restore', file, '--home', home, '--force');
    else expect(ran.output).toMatch(SENTENCE);
    expect(contentOf(stage.user)).not.toMatch(SECRET);
    // The user may be able to read the file later.
    if (ran.code === 0) expect(zlib.gunzipSync(fs.readFileSync(file)).toString('latin1')).not.toMatch(SECRET);
  });

  ofRoot('deletes no file that a journal names', () => {
    const home = newHome();
    const file = path.join(home, 'x.db');
    const db = new DatabaseSync(file);
    db.exec('CREATE TABLE t (x); INSERT INTO t VALUES (1)');
    db.close();
    give(file);
    plantJournal(file, stage.shadow);
    asRoot('seganet-gateway', 'backup', path.join(stage.stage, 'a.backup'), '--home', home);
    expect(belongings(stage)).toEqual(before);
  });

  ofRoot('puts the file into a folder of root, and nothing of the folder of copies', () => {
    const home = newHome();
    const file = path.join(stage.root, 'a.backup');
    expect(asRoot('seganet-gateway', 'backup', file, '--home', home)).toMatchObject({ code: 0 });
    expect(fs.readdirSync(stage.root).sort()).toEqual(['a.backup', 'shadow']);
    expect(fs.statSync(file)).toMatchObject({ uid: 0, mode: 0o100600 });
    expect(asRoot('seganet-gateway', 'backup', file, '--home', home)).toMatchObject({
      code: 3,
      output: expect.stringMatching(/a\.backup exists\. Choose another name, or replace it with --force\.\n$/)
    });
  });

  ofRoot('leaves no draft in a folder of root after a failure', () => {
    const home = newHome();
    pipe(path.join(home, 'gateway.env'));
    const ran = asRoot('seganet-gateway', 'backup', path.join(stage.root, 'a.backup'), '--home', home);
    expect(ran).toMatchObject({ code: 3, output: expect.stringMatching(SENTENCE) });
    expect(belongings(stage)).toEqual(before);
  });
});

describe('seganet-gateway restore', () => {
  /** @param {string} file @param {Record<string, string>} files @param {string} home */
  async function forge(file, files, home) {
    const archive = new ArchiveWriter(file);
    const manifest = {
      format: FORMAT,
      version: '0.1.0',
      created: '2026-01-01T00:00:00.000Z',
      home,
      logs: []
    };
    await archive.addText(MANIFEST, JSON.stringify(manifest));
    for (const [name, text] of Object.entries(files)) await archive.addText(name, text);
    await archive.end();
  }

  ofRoot('writes nothing into a folder of root when its own folder is exchanged', async () => {
    const home = path.join(stage.user, 'gw');
    const file = path.join(stage.stage, 'a.backup');
    await forge(file, { 'home/a': 'x'.repeat(100_000_000), 'home/zz/evil': 'x' }, home);
    const ran = await during(['restore', stage.user, stage.root], () =>
      startAsRoot('seganet-gateway', 'restore', file, '--home', home)
    );
    expect(ran.attacker).toMatch(/done/);
    expect(belongings(stage)).toEqual(before);
  });

  ofRoot('puts no link in place of a folder in a folder of root', async () => {
    const home = path.join(stage.stage, 'gw');
    fs.mkdirSync(home);
    give(home);
    const file = path.join(stage.stage, 'a.backup');
    const files = Array.from({ length: 300 }, (_, i) => [`home/${i}`, 'x']);
    await forge(file, Object.fromEntries(files), home);
    const ran = await during(['restored-home', stage.stage, stage.root], () =>
      startAsRoot('seganet-gateway', 'restore', file, '--home', home)
    );
    expect(ran.output).not.toMatch(/^ +at /m);
    expect(fs.lstatSync(home)).toMatchObject({ uid: UID });
    expect(fs.lstatSync(home).isDirectory()).toBe(true);
    expect(belongings(stage)).toEqual(before);
  });

  ofRoot('does not give the user the backup of another one, to which a link leads', async () => {
    const [home, file] = [path.join(stage.user, 'gw'), path.join(stage.root, 'other.backup')];
    await forge(file, { 'home/note': SECRET }, home);
    link(path.join(stage.user, 'mine.backup'), file);
    const ran = asRoot('seganet-gateway', 'restore', path.join(stage.user, 'mine.backup'), '--home', home);
    expect(ran).toMatchObject({ code: 3, output: expect.stringMatching(SENTENCE) });
    expect(contentOf(stage.user)).not.toMatch(SECRET);
  });

  ofRoot('refuses a backup with more bytes than allowed, and one with data behind its end', async () => {
    const [home, file] = [path.join(stage.user, 'gw'), path.join(stage.stage, 'a.backup')];
    const manifest = JSON.stringify({ format: FORMAT, version: '0', created: '', home, logs: [] });
    const entry = (/** @type {string} */ name, /** @type {number} */ size) =>
      headOf({ name, size, mode: 0o600, mtimeMs: 0 });
    const start = [entry(MANIFEST, manifest.length), Buffer.from(manifest), padding(manifest.length)];
    const zeros = [entry('home/zeros', 2 ** 30 + 1), Buffer.alloc(1 << 20)];
    fs.writeFileSync(file, zlib.gzipSync(Buffer.concat([...start, ...zeros])));
    expect(asRoot('seganet-gateway', 'restore', file, '--home', home, '--most-gib', '1')).toMatchObject({
      code: 3,
      output: expect.stringMatching(
        /its files are larger together than 1 GiB\..*--most-gib\. Nothing was changed\.\n$/
      )
    });
    fs.rmSync(file);
    await forge(file, { 'home/a': 'x' }, home);
    const plain = zlib.gunzipSync(fs.readFileSync(file));
    fs.writeFileSync(file, zlib.gzipSync(Buffer.concat([plain, Buffer.alloc(3 << 20)])));
    expect(asRoot('seganet-gateway', 'restore', file, '--home', home)).toMatchObject({
      code: 3,
      output: expect.stringMatching(/it has more bytes behind its end\. Nothing was changed\.\n$/)
    });
    expect(fs.readdirSync(stage.user)).toEqual([]);
  });
});

describe('the other commands of seganet-gateway', () => {
  ofRoot('change no file of root to which a link leads', () => {
    const home = path.join(stage.user, 'gw');
    fs.mkdirSync(home, { mode: 0o700 });
    give(home);
    fs.chmodSync(stage.shadow, 0o644);
    before = belongings(stage);
    link(path.join(home, 'credential-secret'), stage.shadow);
    asRoot('seganet-gateway', 'init', '--home', home);
    expect(belongings(stage)).toEqual(before);
  });

  ofRoot.each([
    ['gateway.env', ['check'], 3],
    ['gateway.json', ['check'], 78],
    ['gateway.env', ['install-service', '--print'], 3],
    ['gateway.json', ['install-service', '--print'], 0],
    ['gateway.sock', ['status'], 2]
  ])('do not wait for a pipe in place of %s: %s', (name, args, code) => {
    const home = newHome();
    pipe(path.join(home, name));
    const ran = asRoot('seganet-gateway', ...args, '--home', home);
    expect(ran).toMatchObject({ code });
    if (code === 3) expect(ran.output).toMatch(/gateway\.env is not a regular file/);
  });
});

describe('seganet-accounts', () => {
  ofRoot.each(['-journal', '-wal'])('writes nothing through a link in place of the %s', async (side) => {
    const file = path.join(stage.user, 'ocf.db');
    const store = new SqliteStore(file);
    await store.close();
    give(file);
    if (side === '-journal') {
      const db = new DatabaseSync(file);
      db.exec('PRAGMA journal_mode = DELETE');
      db.close();
    }
    link(file + side, stage.shadow);
    const ran = asRoot('seganet-accounts', 'code', 'kim', '--store', file);
    if (ran.code !== 0) expect(ran).toMatchObject({ code: 3 });
    expect(belongings(stage)).toEqual(before);
  });

  ofRoot('deletes no file that a journal names', async () => {
    const file = path.join(stage.user, 'ocf.db');
    await new SqliteStore(file).close();
    const db = new DatabaseSync(file);
    db.exec('PRAGMA journal_mode = DELETE');
    db.close();
    give(file);
    plantJournal(file, stage.shadow);
    asRoot('seganet-accounts', 'users', '--store', file);
    expect(belongings(stage)).toEqual(before);
  });
});

describe('seganet-passwd', () => {
  ofRoot('changes no file of root to which a link leads', () => {
    const file = path.join(stage.user, 'tokens');
    link(file, stage.shadow);
    const ran = asRoot('seganet-passwd', 'token', file, 'pump-1');
    expect(ran).toMatchObject({ code: 3, output: expect.stringMatching(SENTENCE) });
    expect(belongings(stage)).toEqual(before);
  });
});

describe('any command', () => {
  ofRoot('refuses a folder that several users could exchange, with a remedy', () => {
    const other = path.join(stage.user, 'other');
    fs.mkdirSync(other);
    give(other, 12345);
    for (const ran of [
      asRoot('seganet-gateway', 'init', '--home', path.join(other, 'gw')),
      asRoot('seganet-log', 'inspect', other),
      asRoot('seganet-accounts', 'users', '--store', path.join(other, 'ocf.db')),
      asRoot('seganet-passwd', 'token', path.join(other, 'tokens'), 'pump-1')
    ]) {
      expect(ran.code).toBe(3);
      expect(ran.output).toMatch(SENTENCE);
      expect(ran.output).toMatch(/several users could exchange it: .*sudo -u/);
    }
    expect(fs.readdirSync(other)).toEqual([]);
  });

  ofRoot('refuses a folder of root to which others may write', () => {
    const open = path.join(stage.stage, 'open');
    fs.mkdirSync(open);
    fs.chmodSync(open, 0o777);
    const ran = asRoot('seganet-log', 'inspect', open);
    expect(ran).toMatchObject({ code: 3, output: expect.stringMatching(SENTENCE) });
    expect(ran.output).toMatch(`Run "chmod go-w ${open}"`);
  });

  ofRoot.each([
    ['seganet-net', ['check']],
    ['seganet-paths', ['undo']]
  ])('%s keeps no state where another user could change it', (name, args) => {
    const ran = asRoot(/** @type {any} */ (name), ...args, '--state-dir', path.join(stage.user, 'state'));
    expect(ran).toMatchObject({ code: 3, output: expect.stringMatching(SENTENCE) });
    expect(ran.output).toMatch(/which user 65534 could change\. Choose a folder of root with --state-dir\./);
    expect(fs.readdirSync(stage.user)).toEqual([]);
  });
});

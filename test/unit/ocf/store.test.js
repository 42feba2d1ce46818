'use strict';
// Accounts and directory in SQLite: what every store does, and what only a file does.

const fs = require('node:fs');
const { DatabaseSync } = require('../../../nodes/lib/store/sqlite');
const { SqliteStore, StoreThread } = require('../../../nodes/lib/ocf/store');
const { GroupCommit } = require('../../../nodes/lib/ocf/store/group-commit');
const { APPLICATION_ID, VERSIONS } = require('../../../nodes/lib/ocf/store/schema');
const { findSql } = require('../../../nodes/lib/ocf/store/links');
const { newCode } = require('../../../nodes/lib/ocf/cloud/access-codes');
const { newFile } = require('../../fixtures/ocf/control-plane');
const { eventually } = require('../../fixtures/ocf/scenes');
const { NOW, diOf, storeCalls } = require('../../fixtures/ocf/store-calls');
const { storeSuite } = require('../../fixtures/ocf/store-suite');

/** @type {string} */
let place;
describe('a store in SQLite', () =>
  storeSuite({
    newPlace: async () => (place = newFile()),
    open: async (at) => new SqliteStore(at),
    tx: ({ tx }) => tx,
    scans: async (statements) => {
      const db = new DatabaseSync(place, { readOnly: true });
      const scans = statements.flatMap((sql) =>
        db
          .prepare(`EXPLAIN QUERY PLAN ${sql}`)
          .all()
          // Without WHERE there is nothing to search.
          .filter(({ detail }) => /^SCAN (?!CONSTANT)(?!d USING COVERING INDEX)/.test(detail))
          .map(({ detail }) => `${detail}: ${sql}`)
      );
      db.close();
      return scans;
    },
    count: async (table) => {
      const db = new DatabaseSync(place, { readOnly: true });
      const { n } = db.prepare(`SELECT count(*) AS n FROM ${table}`).get();
      db.close();
      return Number(n);
    }
  }));

test('too many waiting writes fail at once', async () => {
  const done = [];
  const commits = new GroupCommit(async (take) => {
    for (let job = take(); job; job = take()) done.push(job.resolve(job.input));
  });
  const waiting = Array.from({ length: 4096 }, (_, i) => commits.write('none', i));
  await expect(commits.write('none', 0)).rejects.toThrow('too busy');
  expect((await Promise.all(waiting)).at(-1)).toBe(4095);
  const last = commits.write('none', 'last');
  await commits.close();
  expect(await last).toBe('last');
  await expect(commits.write('none', 0)).rejects.toThrow('closed');
  expect(done).toHaveLength(4097);
});

test('the time before the first write of a commit, as for a lock, does not end the commit', async () => {
  const taken = [];
  const commits = new GroupCommit(async (take) => {
    const jobs = [take()];
    await new Promise((resolve) => setTimeout(resolve, 300));
    for (let job = take(); job; job = take()) jobs.push(job);
    taken.push(jobs.length);
    for (const { resolve } of jobs) resolve(undefined);
  });
  await Promise.all([1, 2, 3].map((i) => commits.write('none', i)));
  await commits.close();
  expect(taken).toEqual([3]);
});

let store, file;
beforeEach(() => {
  file = newFile();
  store = new SqliteStore(file);
});
afterEach(() => store.close());

const { signUp, publish } = storeCalls(() => store);

test('discovery starts at the devices of the user, also when the type is common', () => {
  const db = new DatabaseSync(file, { readOnly: true });
  const plan = (form) =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${findSql(form)}`)
      .all()
      .map(({ detail }) => detail);
  for (const isShared of [false, true]) {
    const [first, second, third] = plan({ isShared, byType: true, byDevice: false });
    expect(first).toMatch(
      isShared
        ? /SEARCH d USING COVERING INDEX share_user \(uid=/
        : /SEARCH d USING COVERING INDEX device_user \(uid=/
    );
    expect(second).toMatch(/SEARCH t USING .*\(rt=\? AND di=\?/);
    expect(third).toMatch(/SEARCH l USING .*\(di=\? AND href=\?/);
  }
  db.close();
});

test('everything is there after closing and opening again; the file is private', async () => {
  const { uid, di, stored } = await signUp(1);
  void publish(1, ['x.a']);
  await store.close();
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  store = new SqliteStore(file);
  expect(await store.read('find', { uid, types: ['x.a'], devices: [], now: NOW, most: 10 })).toHaveLength(1);
  expect(await store.read('checkToken', { di, uid, hash: stored.access, now: NOW })).toEqual({
    expires: NOW + 3600000,
    isFirst: false
  });
  expect(await store.read('countDevices')).toBe(1);
});

test('no token or code is in the file', async () => {
  const { access, refresh } = await signUp(1);
  const { code } = await newCode(store, 'alice', { now: NOW });
  await store.close();
  const bytes = fs.readFileSync(file);
  for (const secret of [access, refresh, code]) expect(bytes.includes(secret)).toBe(false);
  store = new SqliteStore(file);
});

test('the database of another program, and one of a later version, are refused and not changed', async () => {
  const other = newFile();
  let db = new DatabaseSync(other);
  db.exec('CREATE TABLE mine (a)');
  db.close();
  expect(() => new SqliteStore(other)).toThrow(/another program/);
  await store.close();
  db = new DatabaseSync(file);
  db.exec('PRAGMA user_version = 99');
  db.close();
  expect(() => new SqliteStore(file)).toThrow(/later version/);
  store = new SqliteStore(newFile());
});

test('a file of an earlier format keeps its shares, which then stand beside those of groups', async () => {
  const old = newFile();
  const db = new DatabaseSync(old);
  for (const sql of VERSIONS.slice(0, 3)) {
    db.exec(sql.replaceAll('{bytes}', 'BLOB').replaceAll('{keyed}', ' WITHOUT ROWID'));
  }
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 3;
    INSERT INTO account VALUES ('a', '', 'ann', 0), ('b', '', 'bob', 0);
    INSERT INTO device VALUES ('d', 'a', '', '', NULL, 0, NULL, NULL, 0, 0, 0, 0);
    INSERT INTO share VALUES ('d', 'b', 'r')`);
  db.close();
  const opened = new SqliteStore(old);
  const most = { members: 9, groups: 9 };
  const rights = async () => (await opened.read('access', { di: 'd' })).shares.map((row) => row.rights);
  await opened.write('createGroup', { gid: 'g', uid: 'a', name: 'g', now: NOW, most });
  await opened.write('addMember', { gid: 'g', mid: 'b', most });
  await opened.write('shareWithGroup', { gid: 'g', dis: ['d'], rights: 'rw', most: 9 });
  expect(await rights()).toEqual(['rw']);
  await opened.write('removeGroup', { gid: 'g' });
  expect(await rights()).toEqual(['r']);
  await opened.close();
});

test('another process is noticed, and its lock only delays a write', async () => {
  expect(await store.takeChanges()).toEqual([]);
  await signUp(1);
  expect(await store.takeChanges()).toEqual([]);
  const other = new SqliteStore(file);
  await newCode(other, 'zoe', { now: NOW });
  await other.close();
  expect(await store.takeChanges()).toBe('all');
  expect(await store.takeChanges()).toEqual([]);
});

test('a store in a thread has the same operations, and comes back after its thread died', async () => {
  await store.close();
  const reports = [];
  const threaded = await StoreThread.open(file, (sentence) => reports.push(sentence));
  const { uid } = await newCode(threaded, 'alice');
  const isThere = async () => (await threaded.read('users')).map((user) => user.uid).includes(uid);
  expect(await isThere()).toBe(true);
  await expect(
    threaded.write('publish', { di: diOf(1), name: '', links: [], expires: 0, most: 1 })
  ).resolves.toEqual({
    problem: 'device'
  });
  const open = threaded.write('removeOldCodes', { now: 0 });
  threaded.crash();
  // Whether it was committed before depends on the moment; but it must not stay open.
  await Promise.allSettled([open]);
  await eventually(() => reports.length > 0, 'the report');
  await expect(threaded.read('users')).rejects.toThrow('not available');
  await eventually(() => isThere().catch(() => false), 'the next thread');
  // What others changed while there was no thread is unknown.
  expect(await threaded.takeChanges()).toBe('all');
  expect(await threaded.takeChanges()).toEqual([]);
  expect(reports).toEqual([expect.stringMatching(/ended .* starts again/)]);
  const last = threaded.write('removeOldCodes', { now: 0 });
  await threaded.close();
  await expect(last).resolves.toBeUndefined();
  await expect(threaded.read('users')).rejects.toThrow('closed');
  const other = newFile();
  fs.writeFileSync(other, 'This is no database, but a text of some length.'.repeat(100));
  await expect(StoreThread.open(other)).rejects.toThrow(/not a database/);
  await expect(StoreThread.open('/proc/none/x.db')).rejects.toThrow(/ENOENT|none/);
});

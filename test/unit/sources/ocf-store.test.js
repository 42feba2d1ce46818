'use strict';
// Accounts and directory in SQLite: plans of the queries, group commit, what a failed commit leaves, foreign files.

const fs = require('node:fs');
const { DatabaseSync } = require('../../../nodes/lib/store/sqlite');
const { SqliteStore, StoreThread } = require('../../../nodes/lib/sources/ocf/store');
const { READS, WRITES } = require('../../../nodes/lib/sources/ocf/store/operations');
const { findSql } = require('../../../nodes/lib/sources/ocf/store/links');
const { hashOf, newPair } = require('../../../nodes/lib/sources/ocf/tokens');
const { newCode } = require('../../../nodes/lib/sources/ocf/access-codes');
const { newFile } = require('../../fixtures/ocf/control-plane');
const { eventually } = require('../../fixtures/ocf/scenes');

const NOW = 1e12;
let store, file;
beforeEach(() => {
  file = newFile();
  store = new SqliteStore(file);
});
afterEach(() => store.close());

/** @param {number} i */
const diOf = (i) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;

/** @param {number} i @param {string} user */
async function signUp(i, user = 'alice') {
  const { code } = await newCode(store, user, { now: NOW });
  const pair = newPair(NOW, 3600);
  const result = await store.write('signUp', {
    hash: hashOf(code),
    di: diOf(i),
    kind: 'device',
    tokens: pair.stored,
    now: NOW,
    redeemedUntil: NOW + 600000,
    isFull: false,
    identity: null
  });
  return { di: diOf(i), uid: result.uid, ...pair };
}
/** @param {number} i @param {string[]} types @param {number} [expires] */
const publish = (i, types, expires = 0) =>
  store.write('publish', {
    di: diOf(i),
    name: '',
    expires,
    most: 256,
    links: types.map((rt) => ({ href: `/${rt}`, types: [rt], shown: true, body: Buffer.from('a0', 'hex') }))
  });

test('every statement of every operation uses an index, and none scans a table that grows', async () => {
  const statements = new Set();
  const spy = (connection) => {
    const noting =
      (run) =>
      (sql, ...values) => {
        statements.add(sql);
        return run(sql, ...values);
      };
    for (const name of ['get', 'all', 'run']) connection[name] = noting(connection[name].bind(connection));
    return connection;
  };
  spy(store.tx);
  const { di, uid, stored, refresh } = await signUp(1);
  await signUp(2, 'bob');
  await publish(1, ['x.a']);
  const shared = await store.write('share', { di, uid: (await signUp(3, 'carol')).uid, rights: 'r' });
  expect(shared).toBe('');
  const input = { di, uid, hash: stored.access, now: NOW };
  await store.write('useToken', { ...input, graceMs: 0 });
  const tokens = newPair(NOW, 60).stored;
  expect(
    await store.write('refresh', { di, uid, hash: hashOf(refresh), tokens, now: NOW, idleSince: 0 })
  ).toBe('done');
  await store.write('useToken', { di, uid, hash: tokens.access, now: NOW, graceMs: 0 });
  expect(
    await store.write('refresh', { di, uid, hash: hashOf(refresh), tokens, now: NOW, idleSince: 0 })
  ).toBe('reused');
  await store.write('unpublish', { di, ins: [1] });
  await store.write('removeOldLinks', { now: NOW });
  await store.write('removeDevice', { di });
  // Reads, by a transaction, so that they are seen, too.
  for (const isShared of [false, true]) {
    for (const byType of [false, true]) {
      for (const byDevice of [false, true]) statements.add(findSql({ isShared, byType, byDevice }));
    }
  }
  for (const name of ['access', 'visible', 'checkToken', 'redeemedFor'])
    await READS[name](store.tx, { di, uid, hash: tokens.access, now: NOW });
  expect(statements.size).toBeGreaterThan(35);
  const db = new DatabaseSync(file, { readOnly: true });
  const scans = [];
  for (const sql of statements) {
    for (const { detail } of db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()) {
      // Without WHERE there is nothing to search.
      if (/^SCAN (?!CONSTANT)/.test(detail) && !/^SCAN d USING COVERING INDEX/.test(detail))
        scans.push(`${detail}: ${sql}`);
    }
  }
  db.close();
  expect(scans).toEqual([]);
});

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

test('writes that come together share a commit, and one that fails undoes only itself', async () => {
  await signUp(1);
  const before = store.commits;
  const many = Array.from({ length: 200 }, (_, i) => publish(1, [`x.${i}`]));
  const tooMany = store.write('publish', {
    di: diOf(1),
    name: '',
    expires: 0,
    most: 1,
    links: [{ href: '/z', types: [], shown: true, body: Buffer.alloc(1) }]
  });
  await expect(tooMany).rejects.toThrow('too many links');
  await Promise.all(many);
  expect(store.commits - before).toBeLessThanOrEqual(2);
  const [device] = await store.read('devices', {});
  expect(Number(device.links)).toBe(200);
});

test('a read does not see a write before it is committed', async () => {
  const { uid } = await signUp(1);
  const written = publish(1, ['x.a']);
  const find = () => store.read('find', { uid, types: [], devices: [], now: NOW, most: 10 });
  expect(await find()).toEqual([]);
  await written;
  expect(await find()).toHaveLength(1);
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

test('expired links and codes are deleted, others stay', async () => {
  await signUp(1);
  await publish(1, ['x.a'], NOW + 1000);
  await publish(1, ['x.b']);
  await newCode(store, 'alice', { now: NOW });
  expect(await store.write('removeOldLinks', { now: NOW + 1000 })).toBe(false);
  await store.write('removeOldCodes', { now: NOW + 600000 });
  const db = new DatabaseSync(file, { readOnly: true });
  const count = (table) => Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get().n);
  expect([count('link'), count('link_type'), count('code'), count('redeemed')]).toEqual([1, 1, 0, 0]);
  db.close();
});

test('a deleted device leaves no row behind, and a deleted user no device', async () => {
  const { di, uid } = await signUp(1);
  await publish(1, ['x.a']);
  const guest = await signUp(2, 'bob');
  await store.write('share', { di, uid: guest.uid, rights: 'r' });
  expect(await store.write('removeDevice', { di })).toBe(true);
  expect(await store.write('removeDevice', { di })).toBe(false);
  expect(await store.write('removeUser', { uid: guest.uid })).toEqual({ isKnown: true, devices: [guest.di] });
  expect(await store.write('removeUser', { uid })).toEqual({ isKnown: true, devices: [] });
  const db = new DatabaseSync(file, { readOnly: true });
  for (const table of ['device', 'link', 'link_type', 'share', 'spent', 'redeemed', 'code', 'account']) {
    expect([table, Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get().n)]).toEqual([table, 0]);
  }
  db.close();
});

test('an old refresh token expires after its idle time, and the grace time is a setting', async () => {
  const { di, uid, stored, refresh } = await signUp(1);
  const next = newPair(NOW, 60).stored;
  const ask = (hash, more = {}) =>
    store.write('refresh', { di, uid, hash, tokens: next, now: NOW, idleSince: 0, ...more });
  expect(await ask(stored.refresh, { idleSince: NOW + 1 })).toBe('wrong');
  expect(await ask(hashOf('none'))).toBe('wrong');
  expect(
    await store.write('refresh', {
      di,
      uid: diOf(9),
      hash: hashOf(refresh),
      tokens: next,
      now: NOW,
      idleSince: 0
    })
  ).toBe('wrong');
  expect(await ask(stored.refresh)).toBe('done');
  await store.write('useToken', { di, uid, hash: next.access, now: NOW, graceMs: 5000 });
  expect(await ask(stored.refresh, { now: NOW + 5001 })).toBe('reused');
  expect(await ask(next.refresh)).toBe('wrong');
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

test('another process is noticed, and its lock only delays a write', async () => {
  expect(await store.wasChanged()).toBe(false);
  await signUp(1);
  expect(await store.wasChanged()).toBe(false);
  const other = new SqliteStore(file);
  await newCode(other, 'zoe', { now: NOW });
  await other.close();
  expect(await store.wasChanged()).toBe(true);
  expect(await store.wasChanged()).toBe(false);
});

test('too many waiting writes fail at once, and those after close() as well', async () => {
  const waiting = Array.from({ length: 4096 }, () => store.write('removeOldCodes', { now: 0 }));
  await expect(store.write('removeOldCodes', { now: 0 })).rejects.toThrow('too busy');
  await Promise.all(waiting);
  await store.close();
  await expect(store.write('removeOldCodes', { now: 0 })).rejects.toThrow('closed');
  await expect(store.read('users')).rejects.toThrow('closed');
});

test('a cloud id is bound to a store with devices', async () => {
  expect(await store.write('claim', { sid: 'a' })).toBe('a');
  expect(await store.write('claim', { sid: 'b' })).toBe('b');
  await signUp(1);
  expect(await store.write('claim', { sid: 'a' })).toBe('b');
  expect(Object.keys(WRITES)).toContain('claim');
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

'use strict';
// Answers of discoveries that the store keeps: what ends them, and their limits.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { ManagedThread } = require('../../../../nodes/lib/base/managed-thread');
const { newCode } = require('../../../../nodes/lib/ocf/cloud');
const { decode, encode } = require('../../../../nodes/lib/ocf/cloud/bodies');
const { SqliteStore, StoreThread } = require('../../../../nodes/lib/ocf/store');
const { AnswerCache, LIMITS } = require('../../../../nodes/lib/ocf/store/answer-cache');
const { DataVersion } = require('../../../../nodes/lib/ocf/store/data-version');
const { hashOf, newPair } = require('../../../../nodes/lib/ocf/cloud/tokens');
const { DatabaseSync } = require('../../../../nodes/lib/store/sqlite');
const { eventually } = require('../../../fixtures/ocf/scenes');

const NOW = 1000000;
/** @type {string} */
let folder;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-discovery-'));
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

/** @param {any} store @param {string} di @param {string} user */
async function signUp(store, di, user) {
  const { code } = await newCode(store, user, { now: NOW });
  const { stored } = newPair(NOW, 3600);
  const input = { hash: hashOf(code), di, kind: '', tokens: stored, now: NOW, redeemedUntil: NOW + 6e5 };
  return (await store.write('signUp', { ...input, isFull: false, identity: null })).uid;
}

/** @param {any} store @param {string} di @param {string[]} paths @param {number} [expires] */
const publish = (store, di, paths, expires = 0) => {
  const links = paths.map((href) => ({ href, types: ['a'], shown: true, body: encode({ rt: ['a'] }) }));
  return store.write('publish', { di, name: '', links, expires, most: 10 });
};

/** @param {any} store @param {string} uid @param {object} [more] */
async function hrefs(store, uid, more = {}) {
  const query = { uid, types: ['a'], devices: [], now: NOW, most: 10, endpoint: 'x', isGrouped: false };
  const found = await store.read('discover', { ...query, ...more });
  return decode(Buffer.from(found.body))
    .map(({ href }) => href.replace('/oic/route', ''))
    .sort();
}

/** @param {() => Promise<unknown>} work @returns {Promise<number>} discoveries that reach the thread */
async function asked(work) {
  const spy = jest.spyOn(ManagedThread.prototype, 'post');
  try {
    await work();
    return spy.mock.calls.filter(([message]) => message.name === 'discover').length;
  } finally {
    spy.mockRestore();
  }
}

test('the same question again does not reach the thread', async () => {
  const store = await StoreThread.open(path.join(folder, 'ocf.db'));
  const uid = await signUp(store, 'd', 'alice');
  await publish(store, 'd', ['/1']);
  expect(
    await asked(async () => {
      for (let i = 0; i < 5; i++) expect(await hrefs(store, uid)).toEqual(['/d/1']);
    })
  ).toBe(1);
  const others = [{ types: [] }, { devices: ['d'] }, { endpoint: 'y' }, { most: 9 }];
  for (const more of others) {
    expect(await asked(() => hrefs(store, uid, more))).toBe(1);
    expect(await asked(() => hrefs(store, uid, more))).toBe(0);
  }
  await store.close();
});

test.each(['in a thread', 'of this thread'])('each change shows at once, with a store %s', async (where) => {
  const file = path.join(folder, 'ocf.db');
  const store = where === 'in a thread' ? await StoreThread.open(file) : new SqliteStore(file);
  const alice = await signUp(store, 'd', 'alice');
  const bob = await signUp(store, 'e', 'bob');
  const both = async () => [await hrefs(store, alice), await hrefs(store, bob)];
  expect(await both()).toEqual([[], []]);
  await publish(store, 'd', ['/1', '/2']);
  expect(await both()).toEqual([['/d/1', '/d/2'], []]);
  await store.write('unpublish', { di: 'd', ins: [1] });
  expect(await both()).toEqual([['/d/2'], []]);
  await store.write('share', { di: 'd', uid: bob, rights: 'r' });
  expect(await both()).toEqual([['/d/2'], ['/d/2']]);
  await store.write('share', { di: 'd', uid: bob, rights: '' });
  expect(await both()).toEqual([['/d/2'], []]);
  const [gid, most] = ['g', { groups: 9, members: 9 }];
  await store.write('createGroup', { gid, uid: alice, name: 'home', now: NOW, most });
  await store.write('addMember', { gid, mid: bob, most });
  await store.write('shareWithGroup', { gid, uid: alice, dis: ['d'], rights: 'r', most: 9 });
  expect(await both()).toEqual([['/d/2'], ['/d/2']]);
  await store.write('removeMember', { gid, uid: bob, mid: bob });
  expect(await both()).toEqual([['/d/2'], []]);
  await store.write('removeDevice', { di: 'd' });
  expect(await both()).toEqual([[], []]);
  await store.close();
});

test('a change by another process shows at once', async () => {
  const file = path.join(folder, 'ocf.db');
  const [store, other] = [await StoreThread.open(file), new SqliteStore(file)];
  const uid = await signUp(store, 'd', 'alice');
  expect(await hrefs(store, uid)).toEqual([]);
  await publish(other, 'd', ['/1']);
  expect(await hrefs(store, uid)).toEqual(['/d/1']);
  await other.write('removeDevice', { di: 'd' });
  expect(await hrefs(store, uid)).toEqual([]);
  await other.close();
  await store.close();
});

test('a link that expires leaves, and comes back if the clock is set back', async () => {
  const store = await StoreThread.open(path.join(folder, 'ocf.db'));
  const uid = await signUp(store, 'd', 'alice');
  await publish(store, 'd', ['/1'], NOW + 100);
  await publish(store, 'd', ['/2']);
  expect(await hrefs(store, uid)).toEqual(['/d/1', '/d/2']);
  expect(await hrefs(store, uid, { now: NOW + 99 })).toEqual(['/d/1', '/d/2']);
  expect(await hrefs(store, uid, { now: NOW + 100 })).toEqual(['/d/2']);
  expect(await hrefs(store, uid)).toEqual(['/d/1', '/d/2']);
  await store.close();
});

test('nothing is kept over the end of the thread, or without a version', async () => {
  const file = path.join(folder, 'ocf.db');
  const store = await StoreThread.open(file);
  const uid = await signUp(store, 'd', 'alice');
  await publish(store, 'd', ['/1']);
  expect(await hrefs(store, uid)).toEqual(['/d/1']);
  store.crash();
  const isBack = () =>
    publish(store, 'd', ['/2']).then(
      () => true,
      () => false
    );
  await eventually(isBack, 'the thread is back');
  expect(await hrefs(store, uid)).toEqual(['/d/1', '/d/2']);
  const spy = jest.spyOn(DataVersion.prototype, 'read').mockReturnValue(NaN);
  expect(await asked(async () => void (await hrefs(store, uid), await hrefs(store, uid)))).toBe(2);
  spy.mockRestore();
  await store.close();
  await expect(hrefs(store, uid)).rejects.toThrow('closed');
  expect(fs.readdirSync(folder)).toEqual(['ocf.db']);
});

test('a version changes with each commit, and is never that of an earlier connection', () => {
  const file = path.join(folder, 'some.db');
  const db = new DatabaseSync(file);
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (n)');
  const version = new DataVersion(file);
  const seen = [version.read()];
  expect(version.read()).toBe(seen[0]);
  for (let i = 0; i < 3; i++) {
    db.exec('INSERT INTO t VALUES (1)');
    seen.push(version.read());
    version.reset();
    seen.push(version.read());
  }
  expect(new Set(seen).size).toBe(seen.length);
  version.close();
  expect(version.read()).toBeNaN();
  expect(new DataVersion(path.join(folder, 'none.db')).read()).toBeNaN();
  db.close();
});

test('more links than the limit have no answer', async () => {
  const store = new SqliteStore(path.join(folder, 'ocf.db'));
  const uid = await signUp(store, 'd', 'alice');
  await publish(store, 'd', ['/1', '/2']);
  const query = { uid, types: [], devices: [], now: NOW, most: 1, endpoint: 'x', isGrouped: false };
  for (let i = 0; i < 2; i++) expect(await store.read('discover', query)).toBeNull();
  await store.close();
});

test('the memory of the answers is limited', () => {
  const cache = new AnswerCache();
  const answer = (bytes) => ({ body: new Uint8Array(bytes), until: Infinity });
  cache.get(1, 'large', 0);
  cache.set(1, 'large', 0, answer(LIMITS.answerBytes + 1));
  expect(cache.size).toEqual({ entries: 0, bytes: 0 });
  for (let i = 0; i < 200; i++) cache.set(1, `${i}`, 0, answer(LIMITS.answerBytes));
  expect(cache.size.bytes).toBeLessThanOrEqual(LIMITS.bytes);
  expect(cache.size.entries).toBeGreaterThan(100);
  expect([cache.get(1, '0', 0), cache.get(1, '199', 0)]).toEqual([undefined, expect.anything()]);
  for (let i = 0; i < LIMITS.entries + 9; i++) cache.set(1, `s${i}`, 0, answer(1));
  expect(cache.size.entries).toBe(LIMITS.entries);
  cache.set(2, 'of another version', 0, answer(1));
  expect(cache.get(1, 'of another version', 0)).toBeUndefined();
  expect(cache.get(2, 's20', 0)).toBeUndefined();
  expect(cache.size).toEqual({ entries: 0, bytes: 0 });
});

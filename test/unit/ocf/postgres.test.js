'use strict';
// Accounts and directory in PostgreSQL, with a real server: what every store does, crashes, lost answers, two gateways.

const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { randomUUID } = require('node:crypto');
const { generate } = require('selfsigned');
const { needs } = require('../../../bench/harness/tools');
const { PostgresStore } = require('../../../nodes/lib/ocf/store');
const { newCode } = require('../../../nodes/lib/ocf/cloud/access-codes');
const { hashOf, newPair } = require('../../../nodes/lib/ocf/cloud/tokens');
const { findSql } = require('../../../nodes/lib/ocf/store/links');
const { Client } = require('../../../flows/demo/ocf/client');
const { startControlPlane } = require('../../fixtures/ocf/control-plane');
const { LIGHT, eventually } = require('../../fixtures/ocf/scenes');
const { PASSWORD, TOOLS, startPostgres } = require('../../fixtures/ocf/postgres-server');
const { NOW } = require('../../fixtures/ocf/store-calls');
const { storeSuite } = require('../../fixtures/ocf/store-suite');

const { test, missing } = needs(...TOOLS);
jest.setTimeout(240000);

/** @type {Awaited<ReturnType<typeof startPostgres>>} */
let server;
let pems;
beforeAll(async () => {
  if (missing.length > 0) return;
  pems = await generate([{ name: 'commonName', value: 'localhost' }], {
    keySize: 2048,
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }
    ]
  });
  server = await startPostgres({ tls: { key: pems.private, cert: pems.cert } });
});
afterAll(() => server?.end());

/** Stores that a failed test leaves open would connect again and again. @type {Set<any>} */
const stores = new Set();
afterEach(async () => {
  for (const store of stores) await store.close();
  stores.clear();
});
async function open(url, options = {}) {
  const store = await PostgresStore.open(url, { password: PASSWORD, ...options });
  stores.add(store);
  return store;
}
/** Servers that start after a crash take their time on a busy machine. */
const SLOW_MS = 60000;
/** @param {string} url @param {string} sql */
const one = async (url, sql) => Object.values((await server.query(url, sql))[0])[0];
let place = '';
const newPlace = async () => (place = await server.newDatabase());
let suitePlace = '';
/** A database whose tables are empty. To empty them is much faster than to make them. */
async function emptyPlace() {
  if (!suitePlace) return (suitePlace = await newPlace());
  const named = "string_agg(quote_ident(tablename), ', ') AS names FROM pg_tables";
  const [{ names }] = await server.query(
    suitePlace,
    `SELECT ${named} WHERE schemaname = 'seganet_ocf' AND tablename <> 'meta'`
  );
  await server.query(suitePlace, `TRUNCATE ${names}; DELETE FROM meta WHERE name <> 'format'`);
  return (place = suitePlace);
}

/** Plans for any value of the parameters. @param {string[]} statements @returns {Promise<any[]>} one for each */
async function plans(statements) {
  const client = await server.connect(new URL(place).pathname.slice(1));
  try {
    await client.query(
      'SET search_path = seganet_ocf; SET plan_cache_mode = force_generic_plan; SET join_collapse_limit = 1; SET enable_seqscan = off'
    );
    const found = [];
    for (const [i, sql] of statements.entries()) {
      await client.query(`PREPARE p${i} AS ${sql}`);
      const most = Math.max(0, ...[...sql.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n)));
      const values = most > 0 ? `(${Array(most).fill('NULL').join(', ')})` : '';
      const { rows } = await client.query(`EXPLAIN (FORMAT JSON) EXECUTE p${i}${values}`);
      found.push(rows[0]['QUERY PLAN'][0].Plan);
    }
    return found;
  } finally {
    await client.end();
  }
}
/** @param {any} plan @returns {any[]} its nodes, outer before inner */
const nodesOf = (plan) => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

describe('a store in PostgreSQL', () =>
  storeSuite({
    test,
    newPlace: emptyPlace,
    open,
    tx: ({ tx }) => tx,
    scans: async (statements) => {
      const all = statements.filter(
        (sql) => /^\s*(SELECT|INSERT|UPDATE|DELETE)/.test(sql) && !/ writer |pg_notify/.test(sql)
      );
      const found = await plans(all);
      return all.filter((_, i) => nodesOf(found[i]).some((node) => node['Node Type'] === 'Seq Scan'));
    },
    count: async (table) => Number(await one(place, `SELECT count(*) FROM ${table}`))
  }));

test('with many devices, discovery starts at those of the user, also when the type is common', async () => {
  const store = await open(await newPlace());
  await server.query(
    place,
    `INSERT INTO device SELECT d::text, (d / 8)::text, '', '', NULL, 0, NULL, NULL, 0, 0, 8, 0 FROM generate_series(1, 4000) d;
     INSERT INTO share SELECT d::text, (d / 8 + 1)::text, 'r' FROM generate_series(1, 4000) d;
     INSERT INTO link SELECT d::text, '/' || l, l, 0, 1, '\\xa0' FROM generate_series(1, 4000) d, generate_series(1, 8) l;
     INSERT INTO link_type SELECT 'core.light', d::text, '/' || l FROM generate_series(1, 4000) d, generate_series(1, 8) l;
     ANALYZE`
  );
  const forms = [false, true].flatMap((isShared) =>
    [false, true].map((byType) => findSql({ isShared, byType, byDevice: false }))
  );
  for (const plan of await plans(forms)) {
    const nodes = nodesOf(plan).filter((node) => node['Relation Name']);
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
    expect(nodes[0].Alias).toBe('d');
    expect(nodes.map(({ Alias }) => Alias).join('')).toMatch(/^d(t)?l$/);
  }
  const found = await store.read('find', {
    uid: '7',
    types: ['core.light'],
    devices: [],
    now: 1,
    most: 1000
  });
  expect(found).toHaveLength(2 * 8 * 8);
  await store.close();
});

/** @param {any} store @param {string} di @param {string} [user] */
async function signUp(store, di, user = 'alice') {
  const { code } = await newCode(store, user, { now: NOW });
  const pair = newPair(NOW, 3600);
  const input = { hash: hashOf(code), di, kind: '', tokens: pair.stored, now: NOW, redeemedUntil: NOW + 6e5 };
  const result = await store.write('signUp', { ...input, isFull: false, identity: null });
  return { di, ...pair, ...result };
}

test('a crash of the server loses no acknowledged sign-up, and the store comes back', async () => {
  const reports = [];
  const store = await open(await newPlace(), { report: (sentence) => reports.push(sentence) });
  const acknowledged = [];
  let isOver = false;
  const worker = async () => {
    while (!isOver) {
      const di = randomUUID();
      await signUp(store, di).then(
        () => acknowledged.push(di),
        () => new Promise((resolve) => setTimeout(resolve, 5))
      );
    }
  };
  const work = Array.from({ length: 20 }, worker);
  try {
    await eventually(() => acknowledged.length > 20, 'sign-ups', SLOW_MS);
    await server.stop('SIGKILL');
    const before = acknowledged.length;
    await eventually(() => reports.length > 0, 'the report', SLOW_MS);
    await expect(store.read('users')).rejects.toThrow('not available');
    await expect(store.write('removeOldCodes', { now: 0 })).rejects.toThrow('not available');
    await server.start();
    await eventually(() => acknowledged.length > before + 20, 'sign-ups after the crash', SLOW_MS);
  } finally {
    isOver = true;
  }
  await Promise.all(work);
  // The connections of reads come back on their own.
  await eventually(() => store.isUp, 'all connections', SLOW_MS);
  const kept = new Set((await store.read('devices', {})).map(({ di }) => di));
  expect(acknowledged.filter((di) => !kept.has(di))).toEqual([]);
  await eventually(() => reports.length > 1, 'the second report', SLOW_MS);
  expect(reports).toEqual([
    expect.stringMatching(/not available .*5\.03/),
    expect.stringMatching(/available again/)
  ]);
  await store.close();
});

/**
 * A proxy that cuts the connection at the next COMMIT, once `cut` is set: before the server has it, or after it, with
 * its answer lost.
 */
async function startProxy() {
  const state = { cut: '', cuts: 0, sockets: new Set(), stop: async () => {} };
  const proxy = net.createServer((client) => {
    const upstream = net.connect(server.port, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client]
    ]) {
      state.sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => to.destroy());
    }
    let isMute = false;
    upstream.on('data', (bytes) => isMute || client.write(bytes));
    client.on('data', (bytes) => {
      const isCommit = state.cut !== '' && bytes.includes('COMMIT\0');
      if (!isCommit) return upstream.write(bytes);
      const { cut } = state;
      state.cut = '';
      state.cuts++;
      isMute = true;
      if (cut === 'before') client.destroy();
      else {
        upstream.once('data', () => client.destroy());
        upstream.write(bytes);
      }
    });
  });
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {net.AddressInfo} */ (proxy.address());
  state.stop = async () => {
    for (const socket of state.sockets) socket.destroy();
    proxy.close();
  };
  return Object.assign(state, { port });
}

test('when the answer to a COMMIT is lost, the store finds out, and applies nothing twice', async () => {
  const proxy = await startProxy();
  const direct = await newPlace();
  const store = await open(direct.replace(/:\d+\//, `:${proxy.port}/`));
  const { code } = await newCode(store, 'alice', { now: NOW });
  const input = (di) => ({
    hash: hashOf(code),
    di,
    kind: '',
    tokens: newPair(NOW, 60).stored,
    now: NOW,
    redeemedUntil: NOW + 6e5,
    isFull: false,
    identity: null
  });
  const di = randomUUID();
  proxy.cut = 'before';
  await expect(store.write('signUp', input(di))).rejects.toThrow('not available');
  expect(await one(direct, 'SELECT count(*) FROM device')).toBe('0');
  await eventually(() => store.isUp, 'the connection');
  proxy.cut = 'after';
  expect(await store.write('signUp', input(di))).toMatchObject({ problem: '', isNew: true });
  expect(proxy.cuts).toBe(2);
  expect(await one(direct, 'SELECT count(*) FROM device')).toBe('1');
  await store.close();
  await proxy.stop();
});

test('two gateways with one store see what the other changes', async () => {
  const url = await newPlace();
  const parts = { sid: randomUUID() };
  const [here, there] = await Promise.all([
    startControlPlane({}, { ...parts, opened: await open(url) }),
    startControlPlane({}, { ...parts, opened: await open(url) })
  ]);
  const device = await Client.open(here);
  expect((await device.signUp(await there.codeFor('alice'))).code).toBe('2.04');
  await device.signIn();
  await device.publish([LIGHT]);
  device.serve = () => ({ body: { on: true } });
  const guest = await Client.open(here);
  await guest.signUp(await here.codeFor('bob'));
  await guest.signIn();
  // A device signs in at the other gateway with the tokens of this one.
  const elsewhere = await Client.open(there);
  const tokens = await guest.signUp(await there.codeFor('bob'));
  expect(tokens.code).toBe('2.04');
  await guest.signIn();
  Object.assign(elsewhere, { di: guest.di, uid: guest.uid });
  expect((await elsewhere.signIn(guest.access)).code).toBe('2.04');
  const href = `/oic/route/${device.di}/light/1`;
  const read = async () => (await guest.request('GET', href)).code;
  expect(await read()).toBe('4.03');
  await there.cloud.share(device.di, guest.uid, 'r');
  await eventually(async () => (await read()) === '2.05', 'the guest reads');
  await there.cloud.share(device.di, guest.uid, '');
  await eventually(async () => (await read()) === '4.03', 'the guest reads no longer');
  const gid = (await device.request('POST', '/oic/acl/group', { body: { gname: 'home' } })).value.gid;
  const shared = { devices: [device.di], rights: 'r' };
  await device.request('POST', '/oic/acl/group', { body: shared, query: [`gid=${gid}`] });
  const news = [];
  await elsewhere.request('GET', '/oic/acl/invite', { observe: 0, onNext: ({ value }) => news.push(value) });
  await device.request('POST', '/oic/acl/invite', { body: { invite: [{ gid, mid: guest.uid }] } });
  await eventually(() => news.length > 0, 'the invitation');
  expect(news[0].invited).toMatchObject([{ gid, gname: 'home' }]);
  await elsewhere.request('POST', '/oic/acl/invite', { body: { gid, accept: true } });
  await eventually(async () => (await read()) === '2.05', 'the member reads');
  await there.cloud.deleteDevice(device.di);
  await device.closed;
  for (const client of [guest, elsewhere, device]) client.destroy();
  await here.stop();
  await there.stop();
});

test('TLS is checked as sslmode says, and a wrong password is a sentence', async () => {
  const url = (await newPlace()).replace('127.0.0.1', 'localhost');
  const ca = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'ca-')), 'ca.pem');
  fs.writeFileSync(ca, pems.cert);
  const secure = await open(`${url}?sslmode=verify-full&sslrootcert=${ca}`);
  const { rows } = await (async () => ({
    rows: await server.query(url, 'SELECT count(*) AS n FROM pg_stat_ssl WHERE ssl')
  }))();
  expect(Number(rows[0].n)).toBe(4);
  await secure.close();
  await expect(open(`${url}?sslmode=verify-full`)).rejects.toThrow(/cannot be used: .*certificate/);
  const byAddress = url.replace('localhost', '127.0.0.1');
  await expect(open(`${byAddress}?sslmode=verify-full&sslrootcert=${ca}`)).rejects.toThrow(/cannot be used/);
  await (await open(`${byAddress}?sslmode=require`)).close();
  await expect(open(url, { password: 'wrong' })).rejects.toThrow(/cannot be used: .*password/);
  await expect(open(await server.newDatabase(), { creates: false })).rejects.toThrow(/There are no accounts/);
});

test('tables of a later version and of another program are not changed', async () => {
  const url = await newPlace();
  await (await open(url)).close();
  await server.query(url, "UPDATE meta SET value = '99' WHERE name = 'format'");
  await expect(open(url)).rejects.toThrow(/later version/);
  const other = await newPlace();
  await server.query(other, 'CREATE SCHEMA seganet_ocf; CREATE TABLE seganet_ocf.mine (a int)');
  await expect(open(other)).rejects.toThrow(/another program/);
});

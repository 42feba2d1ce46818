'use strict';
// The database of docker/cluster/pair: what a commit promises when the machine of the primary burns.

const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { startPair, pairTools } = require('../../fixtures/pair/database');
const { PATIENCE } = require('../../../bench/harness/patience');

const { test, missing } = needs(...pairTools());
jest.setTimeout(180000);

/** On a machine of its own it is less than five seconds. Patroni's default time to live alone is 30. */
const TAKEOVER_MS = 20000 * PATIENCE;

/** @type {Awaited<ReturnType<typeof startPair>>} */
let pair;
beforeAll(async () => {
  if (missing.length === 0) pair = await startPair();
});
afterAll(() => pair?.end());

test('the role of the gateways creates its own schema and may do nothing else', async () => {
  const client = await pair.connect(await pair.primary());
  await client.query('CREATE SCHEMA own; CREATE TABLE own.records (number int PRIMARY KEY)');
  for (const forbidden of [
    'CREATE ROLE other',
    'CREATE DATABASE other',
    'CREATE TABLE public.other ()',
    "ALTER SYSTEM SET synchronous_standby_names = ''",
    "COPY own.records FROM PROGRAM 'echo 1'",
    "SELECT pg_read_file('PG_VERSION')"
  ]) {
    await expect(client.query(forbidden)).rejects.toThrow(/permission denied|must be superuser/);
  }
  await client.end();
  await expect(pair.connect(await pair.primary(), { database: 'postgres' })).rejects.toThrow(
    /permission denied|no pg_hba.conf entry/
  );
});

test('what was committed is there after its primary burned, and without a standby nothing is committed', async () => {
  const lost = await pair.primary();
  const writer = await pair.connect(lost);
  let committed = 0;
  const load = (async () => {
    for (;;) {
      await writer.query('INSERT INTO own.records VALUES ($1)', [committed + 1]);
      committed += 1;
    }
  })().catch(() => {});
  await eventually(() => committed > 200, { what: 'a load' });
  const burnt = performance.now();
  await pair.burn(lost);
  await load;
  const survivor = await pair.primary();
  const tookMs = performance.now() - burnt;
  expect(survivor).not.toBe(lost);
  expect(tookMs).toBeLessThan(TAKEOVER_MS);

  const client = await pair.connect(survivor);
  const { rows } = await client.query('SELECT count(*)::int, max(number) FROM own.records');
  // The last one may have been committed without an answer.
  expect(rows[0].count).toBe(rows[0].max);
  expect(rows[0].max - committed).toBeGreaterThanOrEqual(0);
  expect(rows[0].max - committed).toBeLessThanOrEqual(1);

  // A lease may be taken without a standby, records may not.
  await client.query(
    "BEGIN; SET LOCAL synchronous_commit = 'local'; INSERT INTO own.records VALUES (-1); COMMIT"
  );
  const waiting = client.query('INSERT INTO own.records VALUES (-2)');
  const watcher = await pair.connect(survivor, { user: 'postgres' });
  const waits = async () =>
    (await watcher.query("SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'")).rowCount === 1;
  await eventually(waits, { what: 'a commit that waits for a standby' });
  await pair.replace(lost);
  await waiting;
  expect(pair.mentions(survivor, `standby "${lost}" is now a synchronous standby`)).toBe(true);
  // A copy that is not complete could not take over.
  expect(pair.mentions(survivor, 'standby "pg_basebackup" is now a synchronous standby')).toBe(false);
});

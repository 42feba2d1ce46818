'use strict';
// The log in PostgreSQL does what every log does, and has one owner at a time; with a real server.

const { needs } = require('../../../bench/harness/tools');
const { TOOLS, startPostgres } = require('../../fixtures/ocf/postgres-server');
const { Lease } = require('../../../nodes/lib/pair/lease');
const { writeChunk } = require('../../../nodes/lib/store/log-chunk');
const { logSuite } = require('../../fixtures/store/log-suite');
const { PairRig } = require('../../fixtures/store/pair-rig');
const { until } = require('../../fixtures/store/store-files');
const { PATIENCE } = require('../../../bench/harness/patience');

const { test, missing } = needs(...TOOLS);

/** @type {Awaited<ReturnType<typeof startPostgres>>} */
let server;
beforeAll(async () => {
  if (missing.length > 0) return;
  server = await startPostgres();
  process.env.PGPASSWORD = server.password;
}, 60000);
afterAll(async () => {
  delete process.env.PGPASSWORD;
  await server?.end();
});

/** @type {PairRig[]} */
const rigs = [];
afterEach(() => Promise.all(rigs.splice(0).map((rig) => rig.stop(0))));

/** @param {PairRig} rig @returns {any} */
function kept(rig) {
  rigs.push(rig);
  return rig;
}

logSuite({
  open: async (options) => kept(new PairRig({ ...options, url: await server.newDatabase() })),
  again: async (/** @type {any} */ rig, options) =>
    kept(
      rig.again({
        ...options,
        ...(options?.isSameProcess && { memory: Float64Array.of(rig.memory[0], 0, 0) })
      })
    ),
  chunks: (/** @type {any} */ rig) =>
    server.query(rig.options.url, 'SELECT * FROM seganet_log.chunk ORDER BY id'),
  test
});

const COUNT = 'SELECT count(*)::int AS n FROM seganet_log.chunk';
/** @param {PairRig} rig @param {string} sql */
const ask = (rig, sql) => server.query(rig.options.url, sql);
/** @param {PairRig} rig @param {string} state */
const reaches = (rig, state) => until(() => rig.store.condition.state === state, `state ${state}`);

test('the second gateway is a standby, and takes the log at once when the first one stops in order', async () => {
  const first = kept(new PairRig({ url: await server.newDatabase() }));
  await first.save({ class: 2 }, { class: 3, records: 5 });
  const second = kept(first.again());
  await reaches(second, 'standby');
  second.source.push({});
  await until(() => second.store.pair.owner === 'here');
  expect(second.source.log).toEqual([]);
  const before = performance.now();
  expect(await first.stop()).toBe(true);
  await until(() => second.events('committed').length === 1);
  expect(performance.now() - before).toBeLessThan(5000 * PATIENCE);
  expect(second.events('opened')[0]).toMatchObject({ maxRow: 2, records: [0, 0, 1, 5, 0, 0, 0, 0, 0] });
  expect(second.store.pair).toMatchObject({ role: 'active', epoch: first.store.pair.epoch + 1 });
});

test('an owner that hangs is replaced, and the database refuses what it still writes', async () => {
  const first = kept(new PairRig({ url: await server.newDatabase() }));
  await first.save({});
  const second = kept(first.again({ place: 'there' }));
  await reaches(second, 'standby');
  // As a process that the system does not run: it gives no sign, and its connections stay.
  const silent = jest.spyOn(Lease.prototype, 'beat').mockImplementation(async () => true);
  await reaches(second, 'ready');
  first.source.push({ class: 1 });
  await until(() => first.fenced.length === 1);
  silent.mockRestore();
  expect(first.fenced[0]).toMatch(/^The gateway on \w+ has taken the log/);
  expect(first.events('committed')).toHaveLength(1);
  expect(await ask(second, COUNT)).toEqual([{ n: 1 }]);
  await second.save({ class: 1 });
  expect(await ask(second, COUNT)).toEqual([{ n: 2 }]);
});

test('a lost connection, also in the middle of transactions, loses and doubles nothing', async () => {
  const rig = kept(new PairRig({ url: await server.newDatabase() }));
  await rig.save({});
  const end =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'seganet-log-%' AND datname = current_database()";
  for (let i = 0; i < 5; i++) {
    for (let n = 0; n < 20; n++) rig.source.push({ class: 1 + (n % 4), bytes: 20000 });
    await ask(rig, end);
    await until(() => rig.events('committed').length === 1 + 20 * (i + 1), 'chunks committed', 20000);
  }
  expect(await rig.stop()).toBe(true);
  expect(await ask(rig, COUNT)).toEqual([{ n: 101 }]);
  expect(rig.fenced).toEqual([]);
});

test('after a lost connection, nothing is written before the engine knows that one disk does not count', async () => {
  const rig = kept(new PairRig({ url: await server.newDatabase() }));
  await rig.save({});
  const before = rig.told.length;
  /** @type {() => void} */
  let release = () => {};
  // As while a function node blocks Node-RED.
  rig.held = new Promise((resolve) => (release = resolve));
  await ask(
    rig,
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'seganet-log-%' AND datname = current_database()"
  );
  await until(() => rig.told.length > before, 'the engine is informed');
  rig.source.push({});
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(rig.events('committed')).toHaveLength(1);
  release();
  await until(() => rig.events('committed').length === 2);
  expect(rig.told.at(-1)).toBe(false);
});

test('a thread that ends takes the promise of two machines with it', async () => {
  const { StoreThread } = require('../../../nodes/lib/pair');
  const thread = new StoreThread({ directory: '/', url: 'postgres://u@127.0.0.1:1/d', name: 'g/e' });
  /** @type {boolean[]} */
  const counts = [];
  thread.on('counts', (isReplicated) => counts.push(isReplicated));
  try {
    await until(() => thread.state.state === 'failing', 'a thread that runs');
    thread.thread.terminate();
    await until(() => counts.length === 1);
    expect(counts).toEqual([false]);
  } finally {
    await thread.stop(100);
  }
});

test('a server that lost transactions ends the process, which believes that they are on disk', async () => {
  const rig = kept(new PairRig({ url: await server.newDatabase() }));
  await rig.save({}, {});
  await rig.save({});
  await ask(rig, 'UPDATE seganet_log.lease SET batch = 1');
  await ask(
    rig,
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'seganet-log-%' AND datname = current_database()"
  );
  await until(() => rig.fenced.length === 1);
  expect(rig.fenced[0]).toMatch(/lost rows of the log/);
});

test('dead letters are listed and sent again under their old keys', async () => {
  const rig = kept(new PairRig({ url: await server.newDatabase() }));
  const body = writeChunk(3, 7n, [{ sequence: 5n, bytes: Buffer.from('x'), records: 1 }]);
  const dead = { code: 149, reason: 'Packet too large' };
  await rig.save({ class: 3, body, dead }, { class: 3, body, dead, node: 'gone' });
  const { letters, next } = await rig.letters.list({ after: 0, limit: 1 });
  expect(letters).toMatchObject([{ row: 1, node: 'uplink', class: 3, code: 149, records: 1 }]);
  expect(next).toBe(1);
  const outcome = await rig.letters.sendAgain(null, ['uplink']);
  expect(outcome).toMatchObject({ sent: 1, records: 1, strangers: 1, failure: '' });
  expect(rig.events('sendAgain')).toMatchObject([{ row: 3, node: 'uplink', class: 3, records: [1] }]);
  expect(await ask(rig, 'SELECT id::int, node FROM seganet_log.chunk')).toEqual([{ id: 3, node: 'uplink' }]);
  expect(await ask(rig, 'SELECT id::int, node FROM seganet_log.dead')).toEqual([{ id: 2, node: 'gone' }]);
});

test('commands that wait are with the next owner, each once, in order', async () => {
  const first = kept(new PairRig({ url: await server.newDatabase() }));
  await reaches(first, 'ready');
  const second = kept(first.again());
  await reaches(second, 'standby');
  const command = (/** @type {string} */ id, /** @type {any} */ origin = null) => ({
    id,
    device: 'd',
    topic: 't',
    payload: Buffer.from([0, 255]),
    qos: 1,
    expiresAt: 1e13,
    origin
  });
  /** @param {PairRig} rig @param {any} given @returns {Promise<{ error: Error | null, row: number }>} */
  const add = (rig, given) =>
    new Promise((resolve) => rig.commands.add(given, (error, row) => resolve({ error, row })));
  expect((await add(second, command('x'))).error?.message).toMatch(/does not have the log/);
  const origin = { broker: 'b', rest: 'r', correlation: Buffer.from([1, 0]) };
  const added = [command('one'), command('two', origin), command('three')].map((each) => add(first, each));
  expect((await Promise.all(added)).map(({ error, row }) => [error, row])).toEqual([
    [null, 1],
    [null, 2],
    [null, 3]
  ]);
  first.commands.remove(1);
  await until(async () => (await ask(first, 'SELECT row FROM seganet_log.command')).length === 2, 'removed');
  let isFound = false;
  second.commands.onFound = () => (isFound = true);
  await first.stop();
  await until(() => isFound, 'commands found');
  expect(second.commands.load()).toEqual([
    { row: 2, command: command('two', origin) },
    { row: 3, command: command('three') }
  ]);
  expect((await add(second, command('four'))).row).toBe(4);
});

test.each([
  ['mysql://u@h/d', /must be an address such as postgres/],
  ['postgres://h/d', /must name one host, a user and a database/],
  ['postgres://u:secret@h/d', /must not contain the password/],
  [`postgres://u@${'h,'.repeat(8)}h/d`, /8 servers, not 9/]
])('refuses %s', (url, sentence) => {
  expect(() => new PairRig({ url })).toThrow(sentence);
});

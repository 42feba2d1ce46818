'use strict';
// When backups are due, what the settings may say, and what follows a backup.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { runHook } = require('../../../docker/tenants/lib/backup/hook');
const { backupTenant, nightly } = require('../../../docker/tenants/lib/backup/nightly');
const { readPassphrase, readSettings } = require('../../../docker/tenants/lib/backup/settings');
const { Timetable, dueAt, jitterOf } = require('../../../docker/tenants/lib/backup/timetable');
const { noteBackup } = require('../../../docker/tenants/lib/life/last-backup');

const HOUR = 3_600_000;
/** @param {number} day @param {number} hour @param {number} [minute] */
const local = (day, hour, minute = 0) => new Date(2026, 10, day, hour, minute).getTime();

/** @type {string} */
let folder;
beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-timetable-'))));
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

test('is due at its times of the day', () => {
  const job = { name: 'acme', at: ['02:00', '14:30'], jitterMs: 0 };
  expect(dueAt(job, local(23, 1, 59))).toBe(local(22, 14, 30));
  expect(dueAt(job, local(23, 2))).toBe(local(23, 2));
  expect(dueAt(job, local(23, 14, 29))).toBe(local(23, 2));
  expect(dueAt(job, local(23, 23))).toBe(local(23, 14, 30));
  expect(dueAt({ ...job, at: [] }, local(23, 23))).toBe(0);
});

test('is due later by a jitter that is always the same for a tenant', () => {
  const names = Array.from({ length: 200 }, (_, i) => `tenant-${i}`);
  const jitters = names.map((name) => jitterOf(name, HOUR));
  expect(jitters.every((ms) => ms >= 0 && ms < HOUR)).toBe(true);
  expect(new Set(jitters.map((ms) => Math.floor(ms / 60_000))).size).toBeGreaterThan(50);
  expect(names.map((name) => jitterOf(name, HOUR))).toEqual(jitters);
  const late = { name: 'late', at: ['23:30'], jitterMs: 12 * HOUR };
  expect(dueAt(late, local(23, 12))).toBe(local(22, 23, 30) + jitterOf('late', 12 * HOUR));
});

/** @param {{ last?: number, now: number, results?: boolean[], names?: string[] }} parts */
function table({ last = 0, now, results = [], names = ['acme'] }) {
  const world = {
    now,
    last,
    runs: /** @type {number[]} */ ([]),
    order: /** @type {string[]} */ ([]),
    pauses: /** @type {number[]} */ ([]),
    most: 0,
    open: 0
  };
  const timetable = new Timetable({
    now: () => world.now,
    every: () => () => {},
    pause: async (ms) => {
      world.pauses.push(ms);
      world.now += ms;
    },
    jobs: () =>
      names.map((name) => ({
        name,
        at: ['02:00'],
        jitterMs: 0,
        last: () => world.last,
        run: async () => {
          world.runs.push(world.now);
          world.order.push(name);
          world.most = Math.max(world.most, ++world.open);
          await new Promise((resolve) => setImmediate(resolve));
          world.open--;
          const isDone = results.shift() ?? true;
          if (isDone && names.length === 1) world.last = world.now;
          return isDone;
        }
      }))
  });
  return { world, timetable };
}

test('runs a job once for each of its times', async () => {
  const { world, timetable } = table({ last: local(22, 2, 1), now: local(23, 0) });
  for (; world.now < local(25, 12); world.now += 10 * 60_000) await timetable.look();
  expect(world.runs).toEqual([local(23, 2), local(24, 2), local(25, 2)]);
});

test('makes up for a time at which the machine was off', async () => {
  const { world, timetable } = table({ last: local(20, 2, 1), now: local(23, 9) });
  await timetable.look();
  await timetable.look();
  expect(world.runs).toEqual([local(23, 9)]);
});

test('tries again after a failure, at most twice, and then at the next time', async () => {
  const { world, timetable } = table({
    last: local(22, 3),
    now: local(23, 2),
    results: [false, false, false, true]
  });
  for (; world.now < local(24, 3); world.now += 60_000) await timetable.look();
  expect(world.runs).toEqual([local(23, 2), local(23, 2, 15), local(23, 3, 15), local(24, 2)]);
});

test('makes up for many missed times one at a time, the newest first, with pauses, and what is due now before them', async () => {
  const world = {
    now: local(23, 9),
    order: /** @type {string[]} */ ([]),
    starts: /** @type {number[]} */ ([])
  };
  const saved = new Map();
  const tookMs = 20_000;
  const job = (/** @type {string} */ name, /** @type {string} */ at) => ({
    name,
    at: [at],
    jitterMs: 0,
    last: () => saved.get(name) ?? local(20, 0),
    run: async () => {
      world.order.push(name);
      world.starts.push(world.now);
      world.now += tookMs;
      saved.set(name, world.now);
      return true;
    }
  });
  const jobs = [
    job('a', '02:00'),
    job('b', '04:00'),
    job('c', '03:00'),
    job('d', '01:00'),
    job('now', '09:01')
  ];
  const timetable = new Timetable({
    now: () => world.now,
    every: () => () => {},
    pause: async (ms) => void (world.now += ms),
    jobs: () => jobs
  });
  await timetable.look();
  expect(world.order).toEqual(['b', 'now', 'c', 'a', 'd']);
  // Three times as long as it took.
  const missed = world.starts.filter((_at, i) => world.order[i] !== 'now');
  for (let i = 1; i < missed.length; i++)
    expect(missed[i] - missed[i - 1]).toBeGreaterThanOrEqual(4 * tookMs);
  await timetable.look();
  expect(world.order).toHaveLength(5);
  // The machine sleeps over the next night.
  world.now = local(24, 10);
  await timetable.look();
  expect(world.order.slice(5)).toEqual(['now', 'b', 'c', 'a', 'd']);
});

test('ends a pause between missed jobs when it is closed', async () => {
  const order = [];
  const timetable = new Timetable({
    now: () => local(23, 9),
    every: () => () => {},
    jobs: () =>
      ['a', 'b'].map((name) => ({
        name,
        at: ['02:00'],
        jitterMs: 0,
        last: () => 0,
        run: async () => order.push(name) > 0
      }))
  });
  const looking = timetable.look();
  await new Promise((resolve) => setImmediate(resolve));
  await timetable.close();
  await looking;
  expect(order).toEqual(['a']);
});

test('continues after a clock that was wrong', async () => {
  const { world, timetable } = table({ last: local(22, 3), now: local(23, 2), results: [false] });
  await timetable.look();
  world.now = local(23, 2) - 30_000;
  await timetable.look();
  world.now = local(23, 2, 1);
  world.last = local(30, 0);
  await timetable.look();
  expect(world.runs).toEqual([local(23, 2)]);
});

test('continues with the other jobs when the last time of one cannot be read', async () => {
  const done = /** @type {string[]} */ ([]);
  const sentences = /** @type {string[]} */ ([]);
  const job = (/** @type {string} */ name, /** @type {() => number} */ last) => ({
    name,
    at: ['02:00'],
    jitterMs: 0,
    last,
    run: async () => done.push(name) > 0
  });
  const broken = () => {
    throw Object.assign(new Error('EIO: i/o error, scandir /mnt/backups'), { code: 'EIO' });
  };
  /** @type {() => void} */
  let tick = () => {};
  const timetable = new Timetable({
    now: () => local(23, 3),
    every: (_, call) => {
      tick = call;
      return () => {};
    },
    jobs: () => [job('backup acme', broken), job('backup other', () => 0)],
    report: (sentence) => sentences.push(sentence)
  });
  timetable.start();
  tick();
  await timetable.look();
  expect(done).toEqual(['backup other']);
  expect(sentences).toEqual(['Not done: backup acme: EIO: i/o error, scandir /mnt/backups']);
  await timetable.close();
});

test('reports a job whose last time cannot be read once for each due time, and runs it when it can be read', async () => {
  const world = { now: local(23, 1), isAway: true, last: local(22, 2, 5) };
  const [runs, skipped, sentences] = [[], [], []].map((list) => /** @type {any[]} */ (list));
  const job = (/** @type {string} */ name, /** @type {number} */ noted) => ({
    name,
    at: ['02:00'],
    jitterMs: 0,
    noted: () => noted,
    last: () => {
      if (world.isAway) throw new Error('EIO');
      return world.last;
    },
    run: async () => {
      runs.push([name, world.now]);
      world.last = world.now;
      return true;
    },
    skipped: (/** @type {string} */ reason) => skipped.push([name, world.now, reason])
  });
  const timetable = new Timetable({
    now: () => world.now,
    jobs: () => [job('acme', local(22, 2, 5)), job('good', local(26, 0))],
    report: (sentence) => sentences.push(sentence)
  });
  for (; world.now < local(25, 12); world.now += 60_000) await timetable.look();
  expect(skipped).toEqual([
    ['acme', local(23, 2), 'EIO'],
    ['acme', local(24, 2), 'EIO'],
    ['acme', local(25, 2), 'EIO']
  ]);
  expect(sentences).toEqual(Array(3).fill('Not done: acme: EIO'));
  world.isAway = false;
  await timetable.look();
  expect(runs).toEqual([['acme', local(25, 12)]]);
});

test('notes a backup as failed while the folder of backups cannot be read, unless a good one is noted', async () => {
  const [volumes, state, to] = ['volumes', 'state', 'to'].map((name) => path.join(folder, name));
  for (const name of ['acme', 'good']) fs.mkdirSync(path.join(volumes, name), { recursive: true });
  // A file is no folder that can be read.
  fs.writeFileSync(to, '');
  fs.writeFileSync(path.join(folder, 'backup.json'), JSON.stringify({ version: 1, to }));
  noteBackup(state, 'acme', { at: Date.now() - 72 * HOUR, ok: true, reason: '' });
  noteBackup(state, 'good', { at: Date.now() + HOUR, ok: true, reason: '' });
  const told = /** @type {any[]} */ ([]);
  const sentences = /** @type {string[]} */ ([]);
  const timetable = nightly({
    main: path.join(folder, 'none.js'),
    env: process.env,
    names: () => ['acme', 'good'],
    home: { folder, volumes, state, backups: folder },
    backedUp: (name, outcome) => void told.push([name, outcome]),
    report: (sentence) => void sentences.push(sentence)
  });
  for (let i = 0; i < 3; i++) await timetable.look();
  const reason = expect.stringMatching(/^The backups in .*to cannot be read: ENOTDIR/);
  expect(told).toEqual([['acme', { ok: false, reason }]]);
  expect(sentences).toEqual([expect.stringMatching(/^Not done: backup acme: ENOTDIR/)]);
});

test('ends a backup that takes too long, with a message', async () => {
  const main = path.join(folder, 'main.js');
  // It does not end at SIGTERM either.
  fs.writeFileSync(main, "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);");
  const told = /** @type {any[]} */ ([]);
  const parts = {
    main,
    jobMs: 500,
    endMs: 500,
    env: process.env,
    names: () => [],
    report: () => {},
    home: { folder, volumes: folder, state: folder, backups: folder },
    backedUp: (/** @type {string} */ name, /** @type {any} */ outcome) => void told.push([name, outcome])
  };
  const outcome = await backupTenant(parts, 'acme');
  expect(outcome).toEqual({ ok: false, reason: 'It took longer than 0.5 s and was ended.' });
  expect(told).toEqual([['acme', outcome]]);
});

test('runs one job at a time, and none after its end', async () => {
  const names = ['a', 'b', 'c'];
  const { world, timetable } = table({ now: local(23, 9), names });
  await Promise.all([timetable.look(), timetable.look()]);
  expect([world.order, world.most]).toEqual([names, 1]);
  const looking = timetable.look();
  await timetable.close();
  await looking;
  expect(world.order).toEqual(names);
});

test('reads its settings, and has standards for the rest', () => {
  expect(readSettings(folder)).toMatchObject({
    at: ['02:00'],
    jitterMinutes: 60,
    keep: { daily: 7, weekly: 4 },
    to: path.join(folder, 'backups'),
    passphraseFile: '',
    hook: [],
    snapshots: { at: [], gateway: 'http://127.0.0.1:1880', keep: 500 }
  });
  const file = path.join(folder, 'backup.json');
  fs.writeFileSync(
    file,
    '{"version":1,"keep":{"daily":3},"to":"/b","hook":["restic","backup"],"snapshots":{"at":["06:00"],"gateway":"https://gw:1880/"}}'
  );
  expect(readSettings(folder)).toMatchObject({
    keep: { daily: 3, weekly: 4 },
    to: '/b',
    hook: ['restic', 'backup'],
    snapshots: { at: ['06:00'], gateway: 'https://gw:1880' }
  });
});

test.each([
  ['no JSON', /cannot be read/],
  ['[]', /version is missing/],
  ['{}', /version is missing/],
  ['{"version":2}', /version must be 1/],
  ['{"version":1,"when":"02:00"}', /unknown key 'when'/],
  ['{"version":1,"at":["24:00"]}', /at\[0\] must be a time/],
  ['{"version":1,"at":"02:00"}', /at must be a list/],
  ['{"version":1,"jitterMinutes":-1}', /jitterMinutes must be a whole number from 0 to 720/],
  ['{"version":1,"keep":{"daily":0}}', /keep\.daily must be a whole number from 1/],
  ['{"version":1,"keep":{"monthly":1}}', /unknown key 'monthly'/],
  ['{"version":1,"to":"relative"}', /to must be an absolute path/],
  ['{"version":1,"to":""}', /to must be an absolute path/],
  ['{"version":1,"hook":[1]}', /hook\[0\] must be a text/],
  ['{"version":1,"snapshots":{"gateway":"file:///x"}}', /snapshots\.gateway must be a URL/],
  ['{"version":1,"snapshots":null}', /snapshots must be an object/]
])('refuses the settings %s', (text, reason) => {
  fs.writeFileSync(path.join(folder, 'backup.json'), text);
  expect(() => readSettings(folder)).toThrow(reason);
  expect(() => readSettings(folder)).toThrow(expect.objectContaining({ exitCode: 78 }));
});

test('reads a passphrase from the first line of a file', () => {
  const file = path.join(folder, 'passphrase');
  fs.writeFileSync(file, 'correct horse battery\nmore\n');
  expect(readPassphrase(file)).toBe('correct horse battery');
  expect(readPassphrase('')).toBe('');
  fs.writeFileSync(file, '\n');
  expect(() => readPassphrase(file)).toThrow(/its first line is empty/);
  expect(() => readPassphrase(path.join(folder, 'none'))).toThrow(/cannot be read/);
});

test('runs the hook with the backup in its environment, and reports a failure', async () => {
  const about = { tenant: 'acme', file: '/b/acme.tar.zst', sha256: 'ab', bytes: 12 };
  const seen = path.join(folder, 'seen');
  const script =
    'echo "$SEGANET_BACKUP_TENANT $SEGANET_BACKUP_FILE $SEGANET_BACKUP_SHA256 $SEGANET_BACKUP_BYTES" > "$1"';
  expect(await runHook(['sh', '-c', script, 'sh', seen], about)).toBe('');
  expect(fs.readFileSync(seen, 'utf8')).toBe('acme /b/acme.tar.zst ab 12\n');
  expect(await runHook(['sh', '-c', 'echo no bucket >&2; exit 4'], about)).toBe(
    'it ended with code 4; its last output: no bucket'
  );
  expect(await runHook(['/no/such/program'], about)).toMatch(/it cannot be run: .*ENOENT/);
  expect(await runHook(['sleep', '60'], about, 100)).toBe('it took longer than 0.1 s and was ended');
});

'use strict';

// Damaged files. Whatever the damage: no crash, and nothing is skipped silently.

const fs = require('node:fs');
const path = require('node:path');
const { Rig, inspect, temporaryFolder, until } = require('../../fixtures/store/store-files');
const { body } = require('../../fixtures/store/memory-store-source');
const { seeded } = require('../../fixtures/random');
const { USER_VERSION } = require('../../../nodes/lib/store/log-schema');
const { DatabaseSync } = require('../../../nodes/lib/store/sqlite');

/** STORE_ROUNDS=1000 for a long run. */
const ROUNDS = Number(process.env.STORE_ROUNDS ?? 15);

jest.setTimeout(30000 + ROUNDS * 500);

/** @type {Rig[]} */
const rigs = [];
/** @type {string} */
let directory;
beforeEach(() => (directory = temporaryFolder()));
function rig(options) {
  const made = new Rig({ directory, ...options });
  rigs.push(made);
  return made;
}
afterEach(async () => {
  for (const made of rigs.splice(0)) await made.stop(0);
  fs.rmSync(directory, { recursive: true, force: true });
});

const log = () => path.join(directory, 'log.db');
const aside = () => fs.readdirSync(directory).filter((name) => /^log\.db\.damaged-[-0-9T.]+Z$/.test(name));

/** A log with this many chunks of 20 kB, closed in order. */
async function makeLog(count, chunk = {}) {
  const made = rig();
  const bodies = Array.from({ length: count }, () => body(20000));
  await made.save(...bodies.map((bytes) => ({ body: bytes, ...chunk })));
  await made.stop();
  return bodies;
}

/** Changes the file as a failing disk might. */
function spoil(change, file = log()) {
  const bytes = fs.readFileSync(file);
  fs.writeFileSync(file, change(bytes) ?? bytes);
}

/** The next run requests everything; returns it once nothing more arrives. */
async function readAll(options) {
  const made = rig(options);
  made.source.want('uplink', 3);
  await until(() => made.events('missing').length === 1);
  return made;
}

const verdicts = (made) => made.events('loaded').map(({ row, verdict }) => `${row} ${verdict}`);

/** The page of a chunk's row, or of its overflow. */
function pageOf(needle) {
  return Math.floor(fs.readFileSync(log()).indexOf(needle) / 4096);
}

describe('chunks', () => {
  test('whose bytes changed go to the quarantine with their body; all others are read', async () => {
    const bodies = await makeLog(5);
    spoil((bytes) => void (bytes[bytes.indexOf(bodies[2].subarray(6000, 6100)) + 10] ^= 1));
    const made = await readAll();
    expect(verdicts(made)).toEqual(['1 ok', '2 ok', '3 corrupt', '4 ok', '5 ok']);
    await until(() => made.store.quarantine.count === 1);
    expect(made.problems).toMatchObject([
      { code: 'CHUNK_CORRUPT', reason: expect.stringMatching(/seganet-log inspect/) }
    ]);
    await made.stop();
    const { chunks, quarantine, integrity } = inspect(directory);
    expect([integrity, chunks.length]).toEqual(['ok', 4]);
    expect(quarantine).toMatchObject([
      { id: 3, node: 'uplink', class: 3, records: 1, reason: 'its checksum or format is wrong' }
    ]);
    expect(quarantine[0].body).toHaveLength(20000);
  });

  test.each([
    ['the first page', 0],
    ['another page', 20]
  ])('on %s are quarantined unread if SQLite cannot read it; the rest are read', async (_which, chunk) => {
    // Small rows share leaf pages.
    const made = rig();
    const bodies = Array.from({ length: 60 }, () => body(600));
    await made.save(...bodies.map((bytes) => ({ body: bytes, records: 2 })));
    await made.stop();
    const page = pageOf(bodies[chunk]);
    spoil((bytes) => void bytes.fill(0xff, page * 4096, page * 4096 + 4096));
    const second = await readAll();
    const unread = second.events('loaded').filter(({ verdict }) => verdict === 'corrupt');
    expect(second.events('loaded')).toHaveLength(60);
    expect(unread.length).toBeGreaterThan(0);
    expect(unread.length).toBeLessThan(10);
    await until(() => second.store.quarantine.count === unread.length && second.state === 'ready');
    // Rows that cannot be deleted stay; saving continues.
    await second.save({}, {});
    expect(aside()).toEqual([]);
    await second.stop();
    const third = rig();
    await until(() => third.state === 'ready' && third.events('opened').length === 1);
    expect(third.store.quarantine.count).toBe(unread.length);
  });

  test('are quarantined unread when the index has them and the table does not', async () => {
    await makeLog(3);
    const db = new DatabaseSync(log(), { defensive: false });
    const where = "WHERE name = 'chunk_lane'";
    const index = Object.values(db.prepare(`SELECT * FROM sqlite_schema ${where}`).get());
    db.exec(
      `PRAGMA writable_schema = ON; DELETE FROM sqlite_schema ${where}; PRAGMA writable_schema = RESET`
    );
    db.exec('DELETE FROM chunk WHERE id = 2; PRAGMA writable_schema = ON');
    db.prepare('INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)').run(...index);
    db.close();
    const made = await readAll();
    expect(verdicts(made)).toEqual(['1 ok', '2 corrupt', '3 ok']);
    await until(() => made.store.quarantine.count === 1);
    await made.stop();
    expect(inspect(directory).quarantine).toMatchObject([
      { id: 2, body: null, reason: 'its pages cannot be read' }
    ]);
  });
});

describe('a flipped bit in the uplink node of a chunk', () => {
  const TABLE_LEAF = 13;
  const INDEX_LEAF = 10;

  /** Flips a bit in the first name on a page of this type. @param {number} type */
  function flipName(type) {
    spoil((bytes) => {
      for (let page = 4096; page < bytes.length; page += 4096) {
        const at = bytes.indexOf('an-uplink-node', page);
        if (bytes[page] !== type || at < 0 || at >= page + 4096) continue;
        bytes[at + 3] ^= 1;
        return;
      }
      throw new Error('there is no such name');
    });
  }

  test.each([
    ['its row', TABLE_LEAF],
    ['the index', INDEX_LEAF]
  ])('is found in %s, reported and corrected', async (_where, type) => {
    await makeLog(70, { node: 'an-uplink-node' });
    flipName(type);
    const made = rig();
    await until(() => made.events('opened').length === 1 && made.state === 'ready');
    for (let i = 0; i < 3; i++) made.store.tick();
    expect(made.problems).toMatchObject([
      { code: 'ROW_DAMAGED', reason: expect.stringContaining('It now belongs to an-uplink-node') }
    ]);
    await made.stop();
    const { integrity, chunks } = inspect(directory);
    expect(integrity).toBe('ok');
    expect(new Set(chunks.map(({ node }) => node))).toEqual(new Set(['an-uplink-node']));
    const next = rig();
    next.source.want('an-uplink-node', 3);
    await until(() => next.events('missing').length === 1);
    expect(next.events('loaded')).toHaveLength(70);
  });

  test('is not looked for again, and a sound log has none', async () => {
    await makeLog(70, { node: 'an-uplink-node' });
    const made = rig();
    await until(() => made.events('opened').length === 1);
    for (let i = 0; i < 3; i++) made.store.tick();
    expect(made.problems).toEqual([]);
    expect(made.store.rowCheck.after).toBe(70);
  });
});

describe('the file', () => {
  /** The store's reaction to a file that is damaged as a whole. */
  async function expectSetAside(bytes = fs.readFileSync(log())) {
    const made = rig();
    await made.save({});
    expect(made.state).toBe('ready');
    expect(aside()).toHaveLength(1);
    expect(fs.readFileSync(path.join(directory, aside()[0])).equals(bytes)).toBe(true);
    expect(made.problems).toMatchObject([
      { code: 'LOG_DAMAGED', reason: expect.stringContaining('seganet-log repair') }
    ]);
    expect(made.problems[0].reason).toContain(aside()[0]);
    await made.stop();
    expect(inspect(directory)).toMatchObject({ integrity: 'ok', chunks: { length: 1 } });
  }

  test('is set aside unchanged when it is not a database, and a new one begun', async () => {
    fs.writeFileSync(log(), 'these are not the bytes you are looking for '.repeat(300));
    await expectSetAside();
  });

  test('is set aside without its first page', async () => {
    await makeLog(20);
    spoil((bytes) => void bytes.fill(0, 0, 4096));
    await expectSetAside();
  });

  test('is set aside when it was cut', async () => {
    await makeLog(20);
    spoil((bytes) => bytes.subarray(0, 5 * 4096));
    await expectSetAside();
  });

  test('is set aside when its index breaks while the store runs; all missing data are reported', async () => {
    const made = rig();
    await made.save(...Array.from({ length: 2000 }, () => ({ bytes: 30 })));
    await made.stop();
    // Not the root, and not the first leaf: the sums at the start must not read it.
    const second = rig();
    await until(() => second.state === 'ready');
    const root = second.store.recovery.database.db
      .prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'chunk_lane'")
      .get().rootpage;
    second.store.recovery.database.db.exec('PRAGMA shrink_memory');
    spoil((bytes) => void bytes.fill(0xee, (root - 1) * 4096 + 8, root * 4096));
    second.source.want('uplink', 3);
    await until(() => second.problems.some(({ code }) => code === 'LOG_DAMAGED') && second.state === 'ready');
    await until(() => second.events('missing').length === 1);
    expect(await second.save({})).toEqual([2001]);
    expect(aside()).toHaveLength(1);
  });

  test('is a new log when it is empty', async () => {
    fs.writeFileSync(log(), '');
    const made = rig();
    await made.save({});
    expect(made.problems).toEqual([]);
  });

  test('is a new log when its creation was interrupted', async () => {
    const db = new DatabaseSync(log());
    db.exec('PRAGMA auto_vacuum = INCREMENTAL; CREATE TABLE x (y); DROP TABLE x');
    db.close();
    expect(fs.statSync(log()).size).toBeGreaterThan(0);
    const made = rig();
    await made.save({});
    expect(made.problems).toEqual([]);
    expect(aside()).toEqual([]);
  });

  test('is whole with its WAL after a killed checkpoint', async () => {
    await makeLog(3);
    const old = fs.readFileSync(log());
    const made = rig();
    await made.save(...Array.from({ length: 30 }, () => ({ bytes: 30000 })));
    const wal = fs.readFileSync(`${log()}-wal`);
    made.store.recovery.database.checkpoint('PASSIVE');
    const full = fs.readFileSync(log());
    await made.stop();
    // Page 1 of the new file refers to pages that do not exist yet.
    fs.writeFileSync(log(), Buffer.concat([full.subarray(0, old.length), Buffer.alloc(4096)]));
    fs.writeFileSync(`${log()}-wal`, wal);
    const next = await readAll();
    expect(next.events('loaded').filter(({ verdict }) => verdict === 'ok')).toHaveLength(33);
    expect(next.problems).toEqual([]);
  });

  test('opens with its remaining content without its WAL', async () => {
    const made = rig();
    await made.save(...Array.from({ length: 30 }, () => ({ bytes: 30000 })));
    const half = fs.readFileSync(log());
    await made.stop();
    fs.writeFileSync(log(), half);
    fs.rmSync(`${log()}-wal`, { force: true });
    const next = rig();
    await next.save({});
    expect(next.problems).toEqual([]);
    await next.stop();
    expect(inspect(directory).integrity).toBe('ok');
  });

  test('opens with its remaining content when the WAL is noise', async () => {
    await makeLog(5);
    fs.writeFileSync(`${log()}-wal`, seeded(5).bytes(50000));
    const made = await readAll();
    expect(verdicts(made)).toHaveLength(5);
  });

  test('is opened, read and written, or set aside, with any damaged bytes: never a crash', async () => {
    const seed = Date.now() % 100000;
    const random = seeded(seed);
    await makeLog(12);
    const good = fs.readFileSync(log());
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of aside()) fs.rmSync(path.join(directory, name));
      const bytes = Buffer.from(good);
      for (let n = 1 + random.integer(20); n > 0; n--) {
        const at = random.integer([100, 4096, bytes.length][round % 3]);
        random.bytes(1 + random.integer(30)).copy(bytes, at);
      }
      fs.writeFileSync(log(), bytes);
      for (const name of ['log.db-wal', 'log.db-journal'])
        fs.rmSync(path.join(directory, name), { force: true });
      const made = rig();
      const what = () =>
        `round ${round}, seed ${seed}: ${JSON.stringify([made.store.condition, made.problems])}`;
      await until(() => ['ready', 'refused'].includes(made.state), what());
      if (made.state === 'ready') {
        made.source.push({});
        made.source.want('uplink', 3);
        await until(() => made.events('committed').length === 1 && made.events('missing').length === 1).catch(
          (error) => {
            throw new Error(what(), { cause: error });
          }
        );
      }
      await made.stop();
    }
  });

  test('is reported and begun again when it is deleted or replaced while the store runs', async () => {
    const made = rig();
    await made.save({}, {});
    fs.rmSync(log());
    made.store.tick();
    await until(() => made.state === 'ready' && made.problems.some(({ code }) => code === 'LOG_MOVED'));
    expect(await made.save({})).toEqual([3]);
    await made.stop();
    expect(inspect(directory).chunks).toHaveLength(1);
  });

  test('loses nothing when its WAL is deleted while the store runs', async () => {
    const made = rig();
    await made.save({}, {});
    fs.rmSync(`${log()}-wal`);
    made.store.tick();
    await until(() => made.state === 'ready' && fs.existsSync(`${log()}-wal`));
    await made.save({});
    await made.stop();
    expect(inspect(directory).chunks).toHaveLength(3);
  });
});

test('a log of an older version is raised to the present one, and keeps its records', async () => {
  await makeLog(2);
  const older = new DatabaseSync(log());
  older.exec(`PRAGMA user_version = ${USER_VERSION - 1}`);
  older.close();
  const made = rig();
  await until(() => made.state === 'ready');
  await made.stop();
  const db = new DatabaseSync(log());
  expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: USER_VERSION });
  db.close();
  expect(inspect(directory).chunks).toHaveLength(2);
});

describe('refused, and left unchanged', () => {
  const untouched = async (made, bytes, code) => {
    await until(() => made.state === 'refused');
    expect(made.store.condition.code).toBe(code);
    expect(fs.readFileSync(log()).equals(bytes)).toBe(true);
    expect(fs.readdirSync(directory)).toEqual(['log.db']);
    expect(made.events('opened')).toEqual([]);
  };

  test('is the database of another program, also one in WAL mode', async () => {
    const db = new DatabaseSync(log());
    db.exec('PRAGMA journal_mode = WAL; CREATE TABLE precious (x); INSERT INTO precious VALUES (1);');
    db.close();
    const bytes = fs.readFileSync(log());
    const made = rig();
    await untouched(made, bytes, 'FOREIGN');
    expect(made.store.condition.reason).toMatch(/another program; it was not changed. Choose another folder/);
  });

  test('is a log of a newer version, until it is gone', async () => {
    await makeLog(2);
    const db = new DatabaseSync(log());
    db.exec(`PRAGMA user_version = ${USER_VERSION + 1}`);
    db.close();
    fs.rmSync(path.join(directory, 'log.reserve'));
    const bytes = fs.readFileSync(log());
    const made = rig();
    await untouched(made, bytes, 'NEWER');
    expect(made.store.condition.reason).toMatch(/newer version/);
    fs.rmSync(log());
    await until(() => made.state === 'ready');
  });

  test('is a folder that is a file', async () => {
    fs.writeFileSync(path.join(directory, 'file'), '');
    const made = rig({ directory: path.join(directory, 'file') });
    await until(() => made.state === 'refused');
    expect(made.store.condition.reason).toMatch(/is not a folder/);
    const below = rig({ directory: path.join(directory, 'file', 'below') });
    await until(() => below.state === 'refused');
  });

  test('is a log that another store has open, until that has ended', async () => {
    const first = rig();
    await first.save({});
    const second = rig();
    await until(() => second.state === 'refused');
    expect(second.store.condition).toMatchObject({
      code: 'SQLITE_BUSY',
      reason: expect.stringContaining('in use by another process')
    });
    await first.save({});
    await first.stop();
    await until(() => second.state === 'ready');
    await second.save({});
  });
});

'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { Rig, inspect, temporaryFolder, until } = require('../../fixtures/store/store-files');

/** @type {Rig[]} */
const rigs = [];
function rig(options) {
  const made = new Rig(options);
  rigs.push(made);
  return made;
}
afterEach(async () => {
  for (const made of rigs.splice(0)) {
    await made.stop(0);
    fs.rmSync(made.directory, { recursive: true, force: true });
  }
});

describe('commits', () => {
  test('hold everything that is due together, most urgent first', async () => {
    const { source, store } = rig();
    for (let i = 0; i < 20; i++) source.push({ class: 1 + (i % 4), bytes: 2000, key: i });
    await until(() => source.stored.size === 20);
    expect(store.commits).toBe(1);
    const classes = source.log.filter(({ type }) => type === 'committed').map((event) => event.class);
    expect(classes).toEqual([...classes].sort());
  });

  test('take about 1 MiB in a transaction', async () => {
    const made = rig();
    for (let i = 0; i < 40; i++) made.source.push({ bytes: 100000 });
    await until(() => made.source.stored.size === 40);
    expect(made.store.commits).toBe(4);
  });

  test('take a chunk larger than the buffer whole, and shrink the buffer again', async () => {
    const made = rig();
    await made.save({ bytes: 5 << 20 });
    expect(made.store.intake.bytes.length).toBeLessThan(1 << 20);
    await made.stop();
    expect(inspect(made.directory).chunks[0].body).toHaveLength(5 << 20);
  });

  test("write the engine's data to rows, and dead letters to their table", async () => {
    const made = rig();
    const body = Buffer.from('not a chunk, but bytes');
    await made.save(
      { node: 'ünode', class: 2, records: 7, body },
      { node: 'n', class: 4, records: 1, body, dead: { code: 149, reason: 'Packet too large: größer' } }
    );
    expect(await made.stop()).toBe(true);
    const { chunks, dead, integrity } = inspect(made.directory);
    expect(integrity).toBe('ok');
    expect(chunks.map((c) => ({ ...c, body: Buffer.from(c.body).toString() }))).toEqual([
      {
        id: 1,
        node: 'ünode',
        class: 2,
        records: 7,
        bytes: 22,
        first_ts: 1000,
        last_ts: 2000,
        body: body.toString()
      }
    ]);
    expect(dead).toMatchObject([
      { id: 2, node: 'n', class: 4, code: 149, reason: 'Packet too large: größer', records: 1 }
    ]);
    expect(Math.abs(Date.now() - Number(dead[0].at))).toBeLessThan(60000);
  });

  test('free rows with the next commit, or after 100 ms, or 512 of them at once', async () => {
    const made = rig();
    const rows = await made.save(...Array.from({ length: 1400 }, () => ({ bytes: 100 })));
    const { source } = made;
    const started = performance.now();
    source.free(rows[0]);
    await until(() => made.events('freed').length === 1);
    expect(performance.now() - started).toBeGreaterThan(80);
    source.free(rows[1]);
    await made.save({ bytes: 100 });
    expect(made.events('freed')[1].rows).toEqual([rows[1]]);
    // By time alone it would be one event for all of them.
    for (const row of rows.slice(2, 1200)) source.free(row);
    await until(() => made.events('freed').length >= 4);
    await until(() => made.events('freed').flatMap((event) => event.rows).length === 1200);
    await made.stop();
    expect(inspect(made.directory).chunks.map(({ id }) => id)).toEqual([...rows.slice(1200), 1401]);
    expect(made.store.usage.totalChunks).toBe(201);
  });

  test('number rows upwards over restarts of the thread, although the rows are gone', async () => {
    const first = rig();
    const rows = await first.save({}, {}, {});
    for (const row of rows) first.source.free(row);
    await until(() => first.events('freed').length > 0);
    await first.stop();
    const second = rig({ directory: first.directory, rows: first.rows });
    await until(() => second.events('opened').length === 1);
    expect(second.events('opened')[0]).toMatchObject({ maxRow: 3, records: [0, 0, 0, 0, 0, 0, 0, 0, 0] });
    expect(await second.save({})).toEqual([4]);
  });

  test('are preceded after a restart by a report of the data on disk, by class', async () => {
    const first = rig();
    await first.save({ class: 1, records: 5 }, { class: 4, records: 70 }, { class: 4, records: 7 });
    for (const recordClass of [5, 6, 7, 8]) await first.save({ class: recordClass, records: recordClass });
    await first.stop();
    const second = rig({ directory: first.directory });
    second.source.push({ class: 2 });
    await until(() => second.source.log.length >= 2);
    expect(second.source.log[0]).toEqual({
      type: 'opened',
      maxRow: 7,
      records: [0, 5, 0, 0, 77, 5, 6, 7, 8]
    });
  });

  test('finish due writes and deletions at stop, and report whether they could', async () => {
    const made = rig();
    const [row] = await made.save({});
    made.source.free(row);
    for (let i = 0; i < 30; i++) made.source.push({ bytes: 200000 });
    expect(await made.stop(5000)).toBe(true);
    expect(inspect(made.directory).chunks).toHaveLength(30);
    expect(fs.existsSync(path.join(made.directory, 'log.db-wal'))).toBe(false);
  });

  test('write to a folder and files for the user of the gateway alone', async () => {
    const parent = temporaryFolder();
    const directory = path.join(parent, 'a', 'b');
    const made = rig({ directory });
    await made.save({});
    expect(fs.statSync(directory).mode & 0o777).toBe(0o700);
    for (const name of fs.readdirSync(directory)) {
      expect([name, fs.statSync(path.join(directory, name)).mode & 0o777]).toEqual([name, 0o600]);
    }
    await made.stop();
    fs.rmSync(parent, { recursive: true });
  });

  test('wake an idle store once a second at most', async () => {
    const made = rig();
    await made.save({}, {});
    let turns = 0;
    const { ring } = made.store;
    made.store.ring = function count() {
      turns++;
      return ring.call(this);
    };
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(turns).toBe(0);
  });
});

describe('reading back', () => {
  test('gives the requested chunks row by row, of this node and class alone, then missing()', async () => {
    const made = rig();
    await made.save(
      { class: 3, node: 'a' },
      { class: 3, node: 'b' },
      { class: 2, node: 'a' },
      { class: 3, node: 'a', records: 9 }
    );
    const expected = made.events('committed');
    made.source.want('a', 3);
    await until(() => made.events('missing').length === 1);
    const loaded = made.events('loaded');
    expect(loaded.map(({ verdict }) => verdict)).toEqual(['ok', 'ok']);
    const rows = loaded.map(({ row, digest }) =>
      expected.find((event) => event.row === row && event.digest === digest)
    );
    expect(rows.map((event) => event.class)).toEqual([3, 3]);
    expect(loaded[1].records).toBe(9);
  });

  test('lets a due save go before reads', async () => {
    const made = rig();
    await made.save(...Array.from({ length: 30 }, () => ({ class: 4 })));
    made.source.want('uplink', 4);
    made.source.push({ class: 1 });
    await until(() => made.events('missing').length === 1);
    const types = made.source.log.slice(31).map(({ type }) => type);
    expect(types[0]).toBe('committed');
    expect(types.filter((type) => type === 'loaded')).toHaveLength(30);
  });

  test('frees the bytes of each body when the engine has it, without waiting for V8', async () => {
    const made = rig();
    await made.save(...Array.from({ length: 30 }, () => ({ bytes: 60000 })));
    /** @type {Uint8Array[]} */
    const bodies = [];
    const { loaded } = made.source;
    made.source.loaded = function keep(row, records, bytes) {
      bodies.push(bytes);
      return loaded.call(this, row, records, bytes);
    };
    made.source.want('uplink', 3);
    await until(() => made.events('missing').length === 1);
    expect(made.events('loaded').map(({ verdict }) => verdict)).toEqual(Array(30).fill('ok'));
    expect(bodies.map(({ length }) => length)).toEqual(Array(30).fill(0));
  });

  test('goes on after the memory of SQLite was released', async () => {
    const made = rig();
    const release = () => made.store.releaseMemory();
    release(); // not open yet, or just so
    await made.save(...Array.from({ length: 40 }, () => ({ bytes: 60000 })));
    release();
    made.source.want('uplink', 3);
    await until(() => made.events('missing').length === 1);
    expect(made.events('loaded')).toHaveLength(40);
    release();
    expect(await made.save({})).toEqual([41]);
    await made.stop();
    release();
    expect(inspect(made.directory)).toMatchObject({ integrity: 'ok', chunks: { length: 41 } });
  });

  test('deletes an expired chunk', async () => {
    const made = rig({ isExpired: (row) => row === 1 });
    await made.save({}, {});
    made.source.want('uplink', 3);
    await until(() => made.events('missing').length === 1 && made.store.usage.totalChunks === 1);
    await made.stop();
    expect(inspect(made.directory).chunks.map(({ id }) => id)).toEqual([2]);
  });
});

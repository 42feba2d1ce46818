'use strict';
// The files of a folder, and what a crash at each step leaves.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { inNode } = require('../../fixtures/parquet/in-node');

const DAY = 'date=2026-11-30';

/** @type {string} */
let folder;
beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-archive-'))));
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

const namesIn = (/** @type {string} */ day) => fs.readdirSync(path.join(folder, day)).sort();
const manifest = () => JSON.parse(fs.readFileSync(path.join(folder, DAY, '_manifest.json'), 'utf8'));

/** Writes two files with a common record. */
const twoFiles = async (/** @type {any} */ { open, row }, /** @type {string} */ where) => {
  const { store, archive } = await open(where);
  await archive.add('2026-11-30', [
    row({ part: 1, ts: 5 }),
    row({ part: 0, ts: 4 }),
    row({ part: 0, ts: 4 })
  ]);
  await archive.add('2026-11-30', [row({ part: 1, ts: 5 }), row({ part: 2, ts: 3 })]);
  store.close();
};

test('gives back each kind of value as it was', () => {
  const found = inNode(async ({ open, row, rows }, where) => {
    const { archive } = await open(where);
    await archive.add('2026-11-30', [
      row({ device: 'a/b\0c', topic: '', payload: Buffer.alloc(0), seq: null, part: -1 }),
      row({ device: 'Küche ☃', seq: 4294967295, value: -0.5, unit: '°C', sequence: 2 ** 50, ts: -1 }),
      row({ device: 'z', payload: Buffer.from([0, 255, 10]), value: 1e300 })
    ]);
    return rows(where);
  }, folder);
  const common = { gateway: 'gw', boot: 'b1', class: 3, topic: 't', unit: null };
  expect(found).toEqual([
    {
      ...common,
      device: 'Küche ☃',
      payload: 'x',
      seq: 4294967295,
      value: -0.5,
      unit: '°C',
      sequence: 2 ** 50,
      ts: -1,
      part: 0
    },
    {
      ...common,
      device: 'a/b\0c',
      topic: '',
      payload: '',
      seq: null,
      value: null,
      sequence: 1,
      ts: 1796000000000,
      part: -1
    },
    {
      ...common,
      device: 'z',
      payload: '\0\xff\n',
      seq: 0,
      value: 1e300,
      sequence: 1,
      ts: 1796000000000,
      part: 0
    }
  ]);
});

test('writes a record once that occurs twice in a file, and once a day after a merge', () => {
  inNode(twoFiles, folder);
  expect(manifest().runs.map((/** @type {any} */ { files }) => files[0].rows)).toEqual([2, 2]);
  const found = inNode(async ({ open, mergeRuns, rows, loadLibrary }, where) => {
    const { store, archive } = await open(where);
    const runs = archive.days.get('2026-11-30');
    const { run, repeated } = await mergeRuns(store, loadLibrary(), { date: '2026-11-30', runs });
    await archive.replace('2026-11-30', runs, run);
    return { repeated, parts: (await rows(where)).map(({ part, ts }) => [ts, part]) };
  }, folder);
  expect(found).toEqual({
    repeated: 1,
    parts: [
      [3, 2],
      [4, 0],
      [5, 1]
    ]
  });
  expect(namesIn(DAY)).toHaveLength(2);
});

test('cuts a merged run into files that do not overlap, and merges them again with a late record', () => {
  const found = inNode(async ({ open, row, mergeRuns, rows, loadLibrary }, where) => {
    const { store, archive } = await open(where);
    const many = (/** @type {number} */ first) =>
      Array.from({ length: 20000 }, (_, i) =>
        row({
          sequence: first + i,
          device: `d${(first + i) % 7}`,
          payload: Buffer.from(String(Math.random()))
        })
      );
    await archive.add('2026-11-30', many(0));
    await archive.add('2026-11-30', many(10000));
    const files = [];
    for (let round = 0; round < 2; round++) {
      const runs = archive.days.get('2026-11-30');
      const { run } = await mergeRuns(
        store,
        loadLibrary(),
        { date: '2026-11-30', runs },
        { fileBytes: 100000 }
      );
      await archive.replace('2026-11-30', runs, run);
      files.push(run.files.length);
      await archive.add('2026-11-30', [
        row({ device: 'd3', sequence: 999999 }),
        row({ device: 'd3', sequence: 3 })
      ]);
    }
    const merged = await rows(where);
    return {
      files,
      count: merged.length,
      distinct: new Set(merged.map((/** @type {any} */ { sequence }) => sequence)).size
    };
  }, folder);
  expect(found.files[0]).toBeGreaterThan(1);
  expect(found).toMatchObject({ count: 30001 + 2, distinct: 30001 });
});

test('removes the files of a merge that fails', () => {
  const found = inNode(async ({ open, row, mergeRuns, loadLibrary, fs: files }, where) => {
    const { store, archive } = await open(where);
    const many = (/** @type {string} */ device) =>
      Array.from({ length: 10000 }, (_, i) =>
        row({ device, sequence: i, payload: Buffer.from(String(Math.random())) })
      );
    await archive.add('2026-11-30', many('a'));
    await archive.add('2026-11-30', many('z'));
    const runs = archive.days.get('2026-11-30');
    const day = `${where}/date=2026-11-30`;
    // The second row group of the second file is damaged.
    const file = `${day}/${runs[1].files[0].name}`;
    const bytes = files.readFileSync(file);
    files.writeFileSync(
      file,
      bytes.fill(255, Math.floor(bytes.length * 0.84), Math.floor(bytes.length * 0.95))
    );
    const before = files.readdirSync(day).length;
    const failure = await mergeRuns(
      store,
      loadLibrary(),
      { date: '2026-11-30', runs },
      { fileBytes: 1000 }
    ).then(
      () => '',
      (/** @type {Error} */ error) => error.message
    );
    return { failure, more: files.readdirSync(day).length - before };
  }, folder);
  expect(found).toEqual({ failure: expect.stringMatching(/./), more: 0 });
});

test('removes a file that a crash left before its manifest, and temporary files, and nothing else', () => {
  inNode(twoFiles, folder);
  const [{ name }] = manifest().runs[0].files;
  const left = ['part-abc-00000000.parquet', `${name}.0123456789ab.new`, '_manifest.json.0123456789ab.new'];
  const others = ['notes.txt', 'export.parquet'];
  for (const file of [...left, ...others]) fs.writeFileSync(path.join(folder, DAY, file), 'x');
  const { opened } = inNode(async ({ open }, where) => ({ opened: (await open(where)).opened }), folder);
  expect(opened).toEqual({ removed: 3, missing: [] });
  expect(namesIn(DAY)).toEqual(expect.arrayContaining(others));
  expect(namesIn(DAY)).toHaveLength(3 + others.length);
});

test('removes the merged files that a crash left behind the manifest', () => {
  inNode(twoFiles, folder);
  const kept = manifest().runs.slice(1);
  fs.writeFileSync(path.join(folder, DAY, '_manifest.json'), JSON.stringify({ version: 1, runs: kept }));
  const { opened } = inNode(async ({ open }, where) => ({ opened: (await open(where)).opened }), folder);
  expect(opened).toEqual({ removed: 1, missing: [] });
});

test('keeps the files of a day whose folder is a link to another disk', () => {
  inNode(twoFiles, folder);
  const disk = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-archive-disk-'));
  try {
    fs.cpSync(path.join(folder, DAY), path.join(disk, DAY), { recursive: true });
    fs.rmSync(path.join(folder, DAY), { recursive: true });
    fs.symlinkSync(path.join(disk, DAY), path.join(folder, DAY));
    inNode(twoFiles, folder);
    expect(manifest().runs).toHaveLength(4);
  } finally {
    fs.rmSync(disk, { recursive: true });
  }
});

test('names files that are missing, and goes on', () => {
  inNode(twoFiles, folder);
  const [{ name }] = manifest().runs[0].files;
  fs.rmSync(path.join(folder, DAY, name));
  const { opened } = inNode(async ({ open }, where) => ({ opened: (await open(where)).opened }), folder);
  expect(opened.missing).toEqual([`${DAY}/${name}`]);
});

test.each([
  ['', 'is not JSON'],
  ['{"version":1}', 'does not list files'],
  ['{"version":1,"runs":[{"level":0,"files":[{"name":"../../x","rows":1}]}]}', 'does not list files'],
  ['{"version":2,"runs":[]}', 'has version 2']
])('refuses a damaged manifest %j, and removes nothing', (text, reason) => {
  inNode(twoFiles, folder);
  const before = namesIn(DAY);
  fs.writeFileSync(path.join(folder, DAY, '_manifest.json'), text);
  const message = inNode(
    ({ open }, where) =>
      open(where).then(
        () => '',
        (/** @type {Error} */ error) => error.message
      ),
    folder
  );
  expect(message).toContain(`${DAY}/_manifest.json ${reason}`);
  expect(message).toMatch(/Restore it from a backup/);
  expect(namesIn(DAY)).toEqual(before);
});

test('refuses a folder that another process has', () => {
  const message = inNode(async ({ open }, where) => {
    const { store } = await open(where);
    const { spawnSync } = process.getBuiltinModule('node:child_process');
    const program = `const { DatabaseSync } = require('node:sqlite');
      const db = new DatabaseSync(${JSON.stringify(where)} + '/_lock.db', { timeout: 0 });
      try { db.exec('BEGIN EXCLUSIVE'); console.log('taken'); } catch { console.log('held'); }`;
    const held = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' }).stdout.trim();
    const second = await open(where).then(
      () => '',
      (/** @type {Error} */ error) => error.message
    );
    store.close();
    const free = await open(where).then(
      () => 'free',
      (/** @type {Error} */ error) => error.message
    );
    return { held, second, free };
  }, folder);
  expect(message).toEqual({
    held: 'held',
    second: expect.stringMatching(/in use by another parquet uplink node.*Choose another folder/),
    free: 'free'
  });
});

'use strict';
// When the keeper looks at the tenants' data, and what it counts.

const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { deletedBytes } = require('../../../docker/tenants/lib/base/deleted-files');
const { folderSize } = require('../../../docker/tenants/lib/base/folder-size');
const { dataProblem } = require('../../../docker/tenants/lib/life/tenant/data-limit');
const { DataWatch } = require('../../../docker/tenants/lib/life/data-watch');
const { FakeClock } = require('../../fixtures/tenants/fake-clock');

const MIB = 1 << 20;
/** A user without rights. */
const NOBODY = 65534;
/** @param {{ tookMs?: number, hasFree?: boolean }} [options] tookMs: of a look */
function rig({ tookMs = 0, hasFree = true } = {}) {
  const clock = new FakeClock();
  const world = {
    clock,
    free: 1000 * MIB,
    looks: /** @type {number[]} */ ([]),
    watch: /** @type {any} */ (null)
  };
  world.watch = new DataWatch({
    clock,
    ...(hasFree && {
      free: async () => {
        if (world.free < 0) throw new Error('gone');
        return world.free;
      }
    }),
    look: async () => {
      world.looks.push(clock.now());
      if (tookMs) await new Promise((resolve) => void clock.timer(tookMs, resolve));
    }
  });
  return world;
}

test('looks each 30 s while nothing is written', async () => {
  const world = rig();
  await world.clock.pass(95_000);
  expect(world.looks).toEqual([30_000, 60_000, 90_000]);
});

test('looks within a second after 4 MiB were written, and again while more are', async () => {
  const world = rig();
  await world.clock.pass(5000);
  world.free -= 3 * MIB;
  await world.clock.pass(2000);
  expect(world.looks).toEqual([]);
  for (let i = 0; i < 5; i++) {
    world.free -= 100 * MIB;
    await world.clock.pass(1000);
  }
  expect(world.looks).toEqual([8000, 9000, 10_000, 11_000, 12_000]);
  // A deletion is none.
  world.free += 500 * MIB;
  await world.clock.pass(3000);
  expect(world.looks).toHaveLength(5);
  world.free -= 4 * MIB;
  await world.clock.pass(1000);
  expect(world.looks).toHaveLength(6);
});

test('spends at most a tenth of the time with looks', async () => {
  const world = rig({ tookMs: 500 });
  for (let i = 0; i < 60; i++) {
    world.free -= 10 * MIB;
    await world.clock.pass(1000);
  }
  expect(world.looks.length).toBeGreaterThan(8);
  expect(world.looks.length).toBeLessThanOrEqual(12);
});

test('counts files that are empty, and ends at the limit', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-size-'));
  try {
    for (let i = 0; i < 300; i++) fs.writeFileSync(path.join(folder, `${i}`), '');
    fs.mkdirSync(path.join(folder, 'more'));
    fs.writeFileSync(path.join(folder, 'more', 'data'), Buffer.alloc(100_000, 1));
    const all = await folderSize(folder, 2 ** 30);
    expect(all).toBeGreaterThanOrEqual(300 * 1024 + 100_000);
    expect(all).toBeLessThan(302 * 2148 + 120_000);
    expect(await folderSize(folder, 20_000)).toBeLessThan(20_000 + 110_000);
    expect(await folderSize(folder, 20_000)).toBeGreaterThan(20_000);
    // At most half a million files, whatever the limit is.
    expect(await folderSize(folder, 500_000 * 10_240)).toBeGreaterThanOrEqual(300 * 10_240);
    expect(await folderSize(path.join(folder, 'none'), 1)).toBe(0);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
});

/** Keeps a deleted file open twice, until it gets a word. */
const HIDER = `const fs = require('fs');
const file = process.argv[1];
const fds = ['w', 'r'].map((flags) => fs.openSync(file, flags));
fs.rmSync(file);
fs.writeSync(fds[0], Buffer.alloc(2 << 20, 1));
process.stdin.on('data', () => { for (const fd of fds) fs.closeSync(fd); console.log('closed'); });
console.log('open');`;

test('counts files with any name, and deleted ones that a process keeps open', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-size-'));
  try {
    fs.writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff])]), Buffer.alloc(MIB, 1));
    expect(await folderSize(folder, 2 ** 30)).toBeGreaterThanOrEqual(MIB);
    // A process of its own: this one may have deleted files of other tests.
    const child = spawn(process.execPath, ['-e', HIDER, path.join(folder, 'hidden')]);
    try {
      await once(child.stdout, 'data');
      const pids = [Number(child.pid), 2 ** 30];
      const limits = { files: 64 };
      const found = await deletedBytes(pids, folder, limits);
      // Once, although it is open twice.
      expect(found).toBeGreaterThanOrEqual(2 * MIB);
      expect(found).toBeLessThan(3 * MIB);
      expect(await deletedBytes(pids, path.join(folder, 'none'), limits)).toBe(0);
      child.stdin.write('close');
      await once(child.stdout, 'data');
      expect(await deletedBytes(pids, folder, limits)).toBe(0);
    } finally {
      child.kill();
    }
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
});

describe('a folder that the keeper cannot look into is a violation', () => {
  const limits = { volumeMiB: 10 };
  const problemOf = (/** @type {string} */ folder) =>
    dataProblem(
      /** @type {any} */ ({ dataBytes: () => folderSize(folder, limits.volumeMiB * MIB) }),
      /** @type {any} */ ({ spec: { limits }, dataBytes: 0 })
    );
  /** @type {string} */
  let folder;
  beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-size-'))));
  // Unlike Node, it removes what is too deep.
  afterEach(() => void execFileSync('rm', ['-rf', folder]));

  test('because of its mode', async () => {
    fs.mkdirSync(path.join(folder, 'shut'), { mode: 0 });
    const isRoot = process.getuid?.() === 0;
    if (isRoot) fs.chownSync(folder, NOBODY, NOBODY);
    // Root opens every folder.
    if (isRoot) process.seteuid?.(NOBODY);
    const problem = await problemOf(folder).finally(() => isRoot && process.seteuid?.(0));
    expect(problem).toMatch(/^its data cannot be counted: ".*shut" is closed to the keeper \(EACCES\)$/);
  });

  test('because of its depth', async () => {
    const dig = `for (let i = 0; i < 20; i++) { const name = 'x'.repeat(250);
      require('node:fs').mkdirSync(name); process.chdir(name); }`;
    execFileSync(process.execPath, ['-e', dig], { cwd: folder });
    expect(await problemOf(folder)).toMatch(/^its data cannot be counted: .*\(ENAMETOOLONG\)$/);
  });
});

test('looks each 30 s where the free space is unknown, and not after its end', async () => {
  const unknown = rig();
  unknown.free = -1;
  await unknown.clock.pass(65_000);
  expect(unknown.looks).toEqual([30_000, 60_000]);
  const without = rig({ hasFree: false });
  await without.clock.pass(65_000);
  expect(without.looks).toEqual([30_000, 60_000]);
  without.watch.close();
  await without.clock.pass(65_000);
  expect(without.looks).toHaveLength(2);
});

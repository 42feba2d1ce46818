'use strict';
// A copy of the log while it is in use.

const fs = require('node:fs');
const path = require('node:path');
const { Volume } = require('../../../bench/harness/volume');
const { needs } = require('../../../bench/harness/tools');
const { Rig, inspect, temporaryFolder, until } = require('../../fixtures/store/store-files');

const { test: asRoot } = needs('mount', ...(process.getuid?.() === 0 ? [] : ['root']));

/** @type {Rig[]} */
const rigs = [];
/** @type {(() => void)[]} */
const cleanups = [];
afterEach(async () => {
  for (const made of rigs.splice(0)) {
    await made.stop(0);
    fs.rmSync(made.directory, { recursive: true, force: true });
  }
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function rig() {
  const made = new Rig();
  rigs.push(made);
  await until(() => made.state === 'ready');
  return made;
}

function folder() {
  const made = temporaryFolder();
  cleanups.push(() => fs.rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Fills a log with about this much. @param {Rig} made @param {number} chunks of 100 kB */
const fill = (made, chunks) => made.save(...Array.from({ length: chunks }, () => ({ bytes: 100000 })));

test('has every chunk that was committed before, while commits continue', async () => {
  const made = await rig();
  const before = await fill(made, 300);
  const to = folder();
  let isOver = false;
  const copied = made.store.backup(path.join(to, 'log.db')).finally(() => (isOver = true));
  const commits = made.store.commits;
  while (!isOver) await made.save({ bytes: 1000 });
  await copied;
  expect(made.store.commits).toBeGreaterThan(commits);
  const { integrity, chunks } = inspect(to);
  expect(integrity).toBe('ok');
  const rows = new Set(chunks.map(({ id }) => id));
  expect(before.filter((row) => !rows.has(row))).toEqual([]);
  expect(fs.readdirSync(to)).toEqual(['log.db']);
  // The log itself is as before.
  expect(made.problems).toEqual([]);
  await made.stop();
  expect(inspect(made.directory).integrity).toBe('ok');
});

test('is a log that a store opens', async () => {
  const made = await rig();
  await fill(made, 3);
  const to = folder();
  await made.store.backup(path.join(to, 'log.db'));
  const restored = new Rig({ directory: to });
  rigs.push(restored);
  await until(() => restored.state === 'ready');
  expect(restored.store.usage.totalChunks).toBe(3);
});

test('is refused with the reason while the log is not open', async () => {
  const first = await rig();
  const second = new Rig({ directory: first.directory });
  rigs.push(second);
  await until(() => second.state === 'refused');
  await expect(second.store.backup(path.join(folder(), 'log.db'))).rejects.toThrow(/another|in use/i);
});

test('ends when the log stops, and leaves no file', async () => {
  const made = await rig();
  await fill(made, 300);
  const to = folder();
  const copied = made.store.backup(path.join(to, 'log.db'));
  copied.catch(() => {});
  await made.stop();
  await expect(copied).rejects.toThrow('The copy was canceled.');
  expect(fs.readdirSync(to)).toEqual([]);
});

asRoot('fails on a full disk without harm to the log, and leaves no file', async () => {
  const volume = new Volume('tmpfs', 1).mount();
  cleanups.push(() => volume.remove());
  const made = await rig();
  await fill(made, 30);
  await expect(made.store.backup(path.join(volume.folder, 'log.db'))).rejects.toThrow(/full/);
  expect(fs.readdirSync(volume.folder)).toEqual([]);
  await fill(made, 1);
  expect(made.state).toBe('ready');
});

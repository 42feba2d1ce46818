'use strict';
// Dictionaries whose folder cannot be written for a while.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Dictionaries } = require('../../../nodes/lib/unbatch/dictionaries');

/** @type {string} */
let parent;
/** @type {string} */
let folder;

beforeEach(() => {
  parent = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-dictionaries-'));
  folder = path.join(parent, 'dictionaries');
});
afterEach(() => fs.rmSync(parent, { recursive: true, force: true }));

/** A file in the place of the folder: every write fails. */
const block = () => fs.writeFileSync(folder, '');
const unblock = () => fs.rmSync(folder);
const content = (/** @type {string} */ text) => Buffer.from(text.repeat(20));

test('writes a dictionary whose first write failed when its gateway sends it again', () => {
  block();
  const dictionaries = new Dictionaries(folder);
  const { hash, problem } = dictionaries.add(content('a'));
  expect(problem).toMatch(/is not kept on disk/);
  expect(dictionaries.get(hash)).toEqual(content('a'));
  unblock();
  expect(dictionaries.add(content('a')).problem).toBe('');
  expect(new Dictionaries(folder).get(hash)).toEqual(content('a'));
});

test('writes it also without another message, once the folder can be written', () => {
  block();
  const dictionaries = new Dictionaries(folder);
  const hashes = ['a', 'b'].map((text) => dictionaries.add(content(text)).hash);
  dictionaries.retry();
  unblock();
  dictionaries.retry();
  const after = new Dictionaries(folder);
  expect(hashes.map((hash) => after.get(hash))).toEqual([content('a'), content('b')]);
  fs.rmSync(path.join(folder, hashes[0]));
  dictionaries.retry();
  expect(fs.readdirSync(folder)).toEqual([hashes[1]]);
});

test('writes one again whose file was deleted', () => {
  const dictionaries = new Dictionaries(folder);
  const { hash } = dictionaries.add(content('a'));
  fs.rmSync(path.join(folder, hash));
  dictionaries.add(content('a'));
  expect(fs.readdirSync(folder)).toEqual([hash]);
});

test('keeps those in memory that are not on disk, within the limit', () => {
  const dictionaries = new Dictionaries(folder, 100, 50);
  fs.mkdirSync(folder);
  const written = dictionaries.add(content('w')).hash;
  fs.renameSync(folder, `${folder}-away`);
  block();
  const only = dictionaries.add(content('o')).hash;
  // 60 bytes: one has to go. The written one would be the most recently used.
  expect(dictionaries.loaded).toBe(2);
  dictionaries.add(content('p'));
  expect(dictionaries.loaded).toBe(2);
  expect(dictionaries.get(only)).toEqual(content('o'));
  unblock();
  fs.renameSync(`${folder}-away`, folder);
  expect(dictionaries.get(written)).toEqual(content('w'));
  dictionaries.retry();
  expect(new Dictionaries(folder).size).toBe(3);
});

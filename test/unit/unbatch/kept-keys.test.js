'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { readKeys, writeKeys } = require('../../../nodes/lib/unbatch/kept-keys');
const { KeyWindow } = require('../../../nodes/lib/unbatch/key-window');
const { parseKey } = require('../../../nodes/lib/unbatch/record-key');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-keys-'));
const file = path.join(folder, 'sub', 'keys.json');
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

const key = (/** @type {string} */ text) => /** @type {any} */ (parseKey(text));

test('keeps the keys with their numbers of records', () => {
  const before = new KeyWindow(10, 10);
  before.add(key('front/e1/3/7'), 2);
  before.add(key('front/e1/3/8.2'), 1);
  before.add(key('other gw/e2/1/9'), 1);
  before.add({ ...key('pi-1/e2/1/9'), gateway: 'spBv1.0/my plant/edge 1+pi-1' }, 1);
  writeKeys(file, before);
  const after = new KeyWindow(10, 10);
  readKeys(file, after);
  expect(after.entries()).toEqual(before.entries());
  expect([after.size, after.lanes]).toEqual([4, 3]);
  expect(after.has(key('front/e1/3/7'), 2)).toBe(true);
  expect(after.has(key('front/e1/3/7'), 3)).toBe(false);
});

test('stays within the limits of a memory that became smaller: the latest keys stay', () => {
  const before = new KeyWindow(10, 10);
  for (let i = 0; i < 10; i++) before.add(key(`front/e1/3/${i}`), 1);
  writeKeys(file, before);
  const after = new KeyWindow(4, 10);
  readKeys(file, after);
  expect(after.entries()[0][1].map(([part]) => part)).toEqual(['6', '7', '8', '9']);
});

test('ignores a file that is missing, damaged, or of another form, and lines of it', () => {
  const keysOf = (/** @type {string | null} */ text) => {
    if (text === null) fs.rmSync(file, { force: true });
    else fs.writeFileSync(file, text);
    const seen = new KeyWindow(10, 10);
    readKeys(file, seen);
    return seen.size;
  };
  const lanes = (/** @type {unknown} */ given) => JSON.stringify({ version: 1, lanes: given });
  for (const text of [null, '', '{', 'null', '[]', '{"version":2,"lanes":[]}', lanes(7), lanes([7, null])])
    expect(keysOf(text)).toBe(0);
  expect(keysOf(lanes([['front/e/9', [['1', 1]]]]))).toBe(0);
  const bad = [['x', 1], ['1', 0], ['1', '1'], 5, null, ['1']];
  expect(
    keysOf(
      lanes([
        ['front/e/3', [...bad, ['2', 1]]],
        ['g/e/3', 'x']
      ])
    )
  ).toBe(1);
});

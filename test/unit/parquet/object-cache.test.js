'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { ObjectCache } = require('../../../nodes/lib/parquet/store/object-cache');

const MIB = 1024 * 1024;
const BUCKET = {
  endpoint: 'http://127.0.0.1:1',
  bucket: 'plant',
  prefix: '',
  region: 'r',
  accessKey: 'a',
  secretKey: 's'
};

/** @type {string} */
let folder;
beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-cache-'))));
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

/** @param {number} i @param {number} [bytes] */
const object = (i, bytes = MIB) => ({
  key: `date=2026-11-30/part-${i}-0000000${i}.parquet`,
  bytes,
  etag: `"${i}"`
});

/** @param {ReturnType<typeof object>} object */
const storeWith = ({ bytes, etag }) => ({
  download: async () => ({
    etag,
    chunks: (async function* () {
      yield new Uint8Array(bytes);
    })()
  })
});

/** @param {ObjectCache} cache @param {ReturnType<typeof object>[]} objects @param {number} usedAt s since 1970 */
async function copyAll(cache, objects, usedAt) {
  cache.reserve(objects);
  for (const each of objects) {
    const file = await cache.copy(storeWith(each), each.key, () => {});
    fs.utimesSync(file, usedAt, usedAt);
  }
}

test('reuses a copy while its object has the same ETag and size', async () => {
  const cache = new ObjectCache(folder, BUCKET, 10 * MIB);
  await copyAll(cache, [object(1)], 1);
  expect(cache.find(object(1))).toMatch(/\/date=2026-11-30\/part-1-00000001-[0-9a-f]{16}\.parquet$/);
  expect(cache.find({ ...object(1), etag: '"2"' })).toBe('');
  expect(cache.find({ ...object(1), bytes: MIB - 1 })).toBe('');
  expect(new ObjectCache(folder, { ...BUCKET, prefix: 'x/' }, MIB).find(object(1))).toBe('');
});

test('evicts the least recently used copies of any bucket, and no other files', async () => {
  const cache = new ObjectCache(folder, BUCKET, 3 * MIB);
  fs.writeFileSync(path.join(folder, 'notes.parquet'), Buffer.alloc(5 * MIB));
  const other = new ObjectCache(folder, { ...BUCKET, bucket: 'other' }, 3 * MIB);
  await copyAll(other, [object(1)], 2);
  await copyAll(cache, [object(2)], 3);
  await copyAll(cache, [object(3)], 1);
  cache.reserve([object(4), object(2)]);
  expect([other.find(object(1)), cache.find(object(3))]).toEqual([expect.stringMatching(/./), '']);
  cache.reserve([object(4), object(5), object(2)]);
  expect([other.find(object(1)), cache.find(object(2))]).toEqual(['', expect.stringMatching(/./)]);
  expect(fs.existsSync(path.join(folder, 'notes.parquet'))).toBe(true);
  cache.clear();
  expect(fs.readdirSync(folder, { recursive: true }).filter((name) => /part-/.test(String(name)))).toEqual(
    []
  );
  expect(fs.existsSync(path.join(folder, 'notes.parquet'))).toBe(true);
});

test('refuses objects larger in total than the limit before it evicts anything', async () => {
  const cache = new ObjectCache(folder, BUCKET, 2 * MIB);
  await copyAll(cache, [object(1)], 1);
  expect(() => cache.reserve([object(2), object(3), object(4, 1)])).toThrow(
    'The 3 objects have 3 MiB, and the cache may have 2 MiB. Ask fewer days with --days, or raise --cache-limit.'
  );
  expect(cache.find(object(1))).not.toBe('');
});

test('refuses objects that do not fit on the disk', () => {
  const cache = new ObjectCache(folder, BUCKET, 2 ** 60);
  expect(() => cache.reserve([object(1, 2 ** 55)])).toThrow(/have to be fetched, and the disk of .* has/);
});

test('keeps no part of a truncated object, and removes files left by a kill', async () => {
  const cache = new ObjectCache(folder, BUCKET, 2 * MIB);
  const ending = {
    download: async () => ({
      etag: '"1"',
      chunks: (async function* () {
        yield new Uint8Array(10);
        throw new Error('lost');
      })()
    })
  };
  await expect(cache.copy(ending, object(1).key, () => {})).rejects.toThrow('lost');
  await copyAll(cache, [object(2)], 1);
  const left = `${cache.find(object(2)).replace('part-2-00000002', 'part-1-00000001')}.new`;
  fs.writeFileSync(left, 'x');
  cache.reserve([object(2)]);
  const names = fs.readdirSync(path.dirname(left));
  expect(names).toEqual([path.basename(cache.find(object(2)))]);
});

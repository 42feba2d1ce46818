'use strict';
// Archives that another program made: nothing is written outside the folder, and nothing that does not match its
// manifest is accepted.

const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { writeArchive } = require('../../../docker/tenants/lib/backup/archive');
const { END, head, padding } = require('../../../nodes/lib/base/tar/tar');
const { unpack } = require('../../../docker/tenants/lib/backup/unpack');

/** @type {string} */
let root;
beforeEach(() => (root = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-hostile-'))));
afterEach(() => fs.rmSync(root, { recursive: true, force: true }));

let count = 0;
/** @param {string} file @param {number} [most] */
async function unpacked(file, most = 2 ** 30) {
  const out = path.join(root, `out-${count++}`);
  fs.mkdirSync(out);
  await unpack({ file, folder: out, most, sync: false });
  return out;
}

/**
 * Entries of an archive that another program made.
 * @typedef {Partial<import('../../../nodes/lib/base/tar/tar').Entry> & { name: string, text?: string }} Forged
 */

/** @param {Forged[]} entries @param {{ rows?: object[] | null }} [options] rows: of the manifest; null = no manifest */
async function forge(entries, { rows } = {}) {
  const created = '2026-11-23T02:00:00.000Z';
  const sum = (/** @type {string} */ text) => crypto.createHash('sha256').update(text).digest('hex');
  const row = (/** @type {Forged} */ { name, type = 'file', text = '', link }) => ({
    path: name.replace('volume/', ''),
    kind: type,
    size: Buffer.byteLength(text),
    mode: 0o600,
    mtimeMs: 0,
    ...(type === 'file' && { sha256: sum(text) }),
    ...(type === 'link' && { target: link })
  });
  const common = { format: 1, tenant: 'acme', created };
  const all = [
    { name: 'BACKUP.json', text: JSON.stringify({ ...common, program: '0.1.0' }) },
    ...entries,
    ...(rows === null
      ? []
      : [
          {
            name: 'MANIFEST.json',
            text: JSON.stringify({
              ...common,
              owner: { uid: process.getuid?.(), gid: process.getgid?.() },
              entries: rows ?? entries.map(row),
              skipped: []
            })
          }
        ])
  ];
  const file = path.join(root, `forged-${count++}.tar.zst`);
  const tar = (async function* () {
    for (const { text = '', ...entry } of /** @type {Forged[]} */ (all)) {
      const type = entry.type ?? 'file';
      const sha256 = type === 'file' ? sum(text) : '';
      const rest = { type, size: Buffer.byteLength(text), mode: 0o600, mtimeMs: 0, link: '', sha256 };
      yield head({ ...rest, ...entry });
      yield Buffer.from(text);
      yield padding(Buffer.byteLength(text));
    }
    yield END;
  })();
  await writeArchive(file, tar);
  return file;
}

test.each([
  '../evil',
  'volume/../../evil',
  '/etc/evil',
  'volume//evil',
  'volume/./evil',
  'volume',
  'other/evil',
  `volume/${'x'.repeat(256)}`
])('refuses the entry %s, and writes nothing outside', async (name) => {
  const file = await forge([{ name, text: 'x' }]);
  await expect(unpacked(file)).rejects.toThrow(/which no backup has/);
  expect(fs.readdirSync(root, { recursive: true }).some((each) => String(each).endsWith('evil'))).toBe(false);
});

test('refuses links that lead outside, and files below a link', async () => {
  for (const link of ['/etc', '..', '../..', 'a/../../b', '']) {
    const file = await forge([{ name: 'volume/l', type: 'link', link }]);
    await expect(unpacked(file)).rejects.toThrow(/which no backup has/);
  }
  const link = /** @type {Forged} */ ({ name: 'volume/l', type: 'link', link: '.' });
  await expect(unpacked(await forge([link, { name: 'volume/l/f', text: 'x' }]))).rejects.toThrow(
    /folder of l\/f is not in it/
  );
  await expect(unpacked(await forge([link, { name: 'volume/l', text: 'x' }]))).rejects.toThrow(/twice/);
  await expect(
    unpacked(
      await forge([
        { name: 'volume/f', text: 'x' },
        { name: 'volume/f/g', text: 'x' }
      ])
    )
  ).rejects.toThrow(/folder of f\/g is not in it/);
});

test('refuses a manifest that does not match', async () => {
  const file = { name: 'volume/a', text: 'x' };
  const row = {
    path: 'a',
    kind: 'file',
    size: 1,
    mode: 0o600,
    mtimeMs: 0,
    sha256: crypto.createHash('sha256').update('x').digest('hex')
  };
  await unpacked(await forge([file], { rows: [row] }));
  await expect(unpacked(await forge([file], { rows: [] }))).rejects.toThrow(/a is not in its MANIFEST/);
  await expect(unpacked(await forge([], { rows: [row] }))).rejects.toThrow(/the file a is missing/);
  await expect(unpacked(await forge([file], { rows: [row, row] }))).rejects.toThrow(/a differs/);
  for (const wrong of [{ size: 2 }, { mode: 0o777 }, { sha256: 'x' }, { kind: 'link' }, { mtimeMs: 5 }]) {
    await expect(unpacked(await forge([file], { rows: [{ ...row, ...wrong }] }))).rejects.toThrow(
      /a differs/
    );
  }
  await expect(unpacked(await forge([file], { rows: [/** @type {any} */ (null)] }))).rejects.toThrow(
    /is missing/
  );
  await expect(unpacked(await forge([file], { rows: null }))).rejects.toThrow(/it is cut short/);
  await expect(
    unpacked(await forge([file, { ...file, name: 'MANIFEST.json', text: 'no JSON' }]))
  ).rejects.toThrow(/is not JSON/);
  await expect(unpacked(await forge([{ name: 'BACKUP.json', text: '{}' }]))).rejects.toThrow(
    /which no backup has/
  );
  const fakeRow = { ...row, kind: 'database' };
  await expect(unpacked(await forge([file], { rows: [fakeRow] }))).rejects.toThrow(
    /the database a is damaged/
  );
});

test('refuses more bytes than there is room, before it writes them', async () => {
  const file = await forge([{ name: 'volume/zeros', text: '\0'.repeat(8 << 20) }]);
  expect(fs.statSync(file).size).toBeLessThan(10_000);
  await expect(unpacked(file, 4 << 20)).rejects.toThrow(/more than 4 MiB/);
  expect(fs.readdirSync(path.join(root, `out-${count - 1}`))).toEqual([]);
});

test('finds a database that is damaged inside a sound archive', async () => {
  // SQLite's header with a page size of 4096 and two pages, and no page that is one.
  const text = `SQLite format 3\0\u0010\0\u0001\u0001\0@  \0\0\0\u0001\0\0\0\u0002${'x'.repeat(8192)}`;
  const sha256 = crypto.createHash('sha256').update(text).digest('hex');
  const row = { path: 'd', kind: 'database', size: Buffer.byteLength(text), mode: 0o600, mtimeMs: 0, sha256 };
  const file = await forge([{ name: 'volume/d', text }], { rows: [row] });
  await expect(unpacked(file)).rejects.toThrow(/the database d is damaged/);
});

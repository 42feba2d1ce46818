'use strict';
// The archive inside a backup: what comes out is what went in, and a hostile archive is refused.

const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { execFileSync } = require('node:child_process');
const { needs } = require('../../../bench/harness/tools');
const { isInside, isSafeLink } = require('../../../nodes/lib/base/tar/names');
const { END, TarError, head, padding, readTar } = require('../../../nodes/lib/base/tar/tar');

const { test: withTar } = needs('tar');

/** @typedef {import('../../../nodes/lib/base/tar/tar').Entry} Entry */

/** @param {Partial<Entry> & { name: string }} entry @param {Buffer} [body] @returns {{ entry: Entry, body: Buffer }} */
function made(entry, body = Buffer.alloc(0)) {
  const type = entry.type ?? 'file';
  const sha256 = type === 'file' ? crypto.createHash('sha256').update(body).digest('hex') : '';
  const rest = { type, size: body.length, mode: 0o640, mtimeMs: 1_700_000_000_123, link: '', sha256 };
  return { entry: { ...rest, ...entry }, body };
}

/** @param {{ entry: Entry, body: Buffer }[]} entries */
const pack = (entries) =>
  Buffer.concat([...entries.flatMap(({ entry, body }) => [head(entry), body, padding(body.length)]), END]);

/** @param {Buffer} bytes @param {number} [piece] bytes of a chunk */
async function unpack(bytes, piece = 65536) {
  /** @type {{ entry: Entry, body: Buffer }[]} */
  const entries = [];
  const chunks = (async function* () {
    for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece);
  })();
  await readTar(chunks, async (entry, body) => {
    const parts = [];
    for await (const part of body) parts.push(part);
    entries.push({ entry, body: Buffer.concat(parts) });
  });
  return entries;
}

const ENTRIES = [
  made({ name: 'a' }, Buffer.from('x')),
  made({ name: 'empty' }),
  made({ name: 'block' }, crypto.randomBytes(512)),
  made({ name: 'folder', type: 'folder' }),
  made({ name: `folder/${'ü'.repeat(120)}` }, crypto.randomBytes(1000)),
  made({ name: `${'long/'.repeat(60)}name`, mode: 0o777 }, Buffer.from('y')),
  made({ name: 'line\nbreak=1' }, Buffer.from('z')),
  made({ name: 'old', mtimeMs: -1500 }, Buffer.from('o')),
  made({ name: 'link', type: 'link', link: 'folder/x' }),
  made({ name: 'long link', type: 'link', link: 'p/'.repeat(100) + 'q' })
];

test.each([1, 7, 512, 513, 65536])(
  'restores every entry when it arrives in chunks of %d B',
  async (piece) => {
    expect(await unpack(pack(ENTRIES), piece)).toEqual(ENTRIES);
  }
);

withTar('is an archive that tar understands', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-tar-'));
  try {
    const file = path.join(folder, 'a.tar');
    fs.writeFileSync(file, pack(ENTRIES));
    const listed = execFileSync('tar', ['-tf', file, '--quoting-style=literal', '--warning=none'], {
      encoding: 'utf8'
    });
    const names = ENTRIES.map(({ entry }) => (entry.type === 'folder' ? `${entry.name}/` : entry.name));
    expect(listed).toBe(`${names.join('\n')}\n`);
    execFileSync('tar', ['-xf', file, '-C', folder, '--warning=none', 'a', 'block']);
    expect(fs.readFileSync(path.join(folder, 'block')).equals(ENTRIES[2].body)).toBe(true);
    expect(fs.statSync(path.join(folder, 'a')).mtimeMs).toBe(1_700_000_000_123);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test('holds sizes beyond the eleven octal digits of a header', async () => {
  const size = 8 ** 11 + 5;
  const [block] = [head(made({ name: 'large', size }).entry)];
  await expect(unpack(Buffer.concat([block, Buffer.alloc(512)]))).rejects.toThrow('it is cut short');
  expect(block.includes(`size=${size}\n`)).toBe(true);
});

test('is refused when it is cut anywhere', async () => {
  const whole = pack(ENTRIES.slice(0, 4));
  for (let bytes = 0; bytes < whole.length; bytes += 61) {
    await expect(unpack(whole.subarray(0, bytes))).rejects.toThrow(TarError);
  }
});

test('is refused, or gives the same, when bytes are changed at random', async () => {
  const seed = process.env.SEGANET_SEED ?? '1';
  let state = crypto.createHash('sha256').update(seed).digest();
  const random = (/** @type {number} */ below) => {
    state = crypto.createHash('sha256').update(state).digest();
    return state.readUInt32BE() % below;
  };
  const whole = pack(ENTRIES);
  for (let round = 0; round < 1500; round++) {
    const bytes = Buffer.from(whole);
    for (let i = 0; i <= random(3); i++) bytes[random(bytes.length)] = random(256);
    const cut = random(4) === 0 ? bytes.subarray(0, random(bytes.length)) : bytes;
    const result = await unpack(cut, 1 + random(4096)).catch((error) => error);
    if (result instanceof Error) {
      if (!(result instanceof TarError)) throw new Error(`seed ${seed}, round ${round}: ${result.stack}`);
      continue;
    }
    for (const { entry } of result) expect(entry.size).toBeLessThan(2 ** 20);
  }
});

test('is refused with what no backup has', async () => {
  const good = made({ name: 'a' }, Buffer.from('x'));
  const header = head(good.entry);
  /** @param {string} type of the entry behind the pax header */
  const withType = (type) => {
    const bytes = Buffer.from(header);
    const at = bytes.length - 512;
    bytes.write(type, at + 156);
    const sum = bytes.subarray(at).reduce((all, byte, i) => all + (i < 148 || i >= 156 ? byte : 0), 256);
    bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148, 'latin1');
    return Buffer.concat([bytes, Buffer.alloc(512), END]);
  };
  for (const type of ['1', '3', '4', '6', '7', 'g', 'L', 'S']) {
    await expect(unpack(withType(type))).rejects.toThrow('"a" is neither a file, a folder nor a link');
  }
  await expect(unpack(Buffer.concat([header.subarray(-512), END]))).rejects.toThrow(/without a pax header/);
  await expect(unpack(Buffer.concat([pack([good]), Buffer.from('more')]))).rejects.toThrow(
    /more bytes behind its end/
  );
  await expect(unpack(pack([made({ name: 'x'.repeat(4097) })]))).rejects.toThrow(/too long/);
  await expect(unpack(pack([made({ name: 'x'.repeat(70_000) })]))).rejects.toThrow(/too long/);
  await expect(unpack(Buffer.alloc(0))).rejects.toThrow('it is cut short');
  expect(await unpack(pack([]))).toEqual([]);
});

test.each([
  '',
  '.',
  '..',
  '/etc/passwd',
  'a//b',
  'a/../b',
  'a/.',
  'a/',
  'a\0b',
  'x'.repeat(256),
  'a/'.repeat(101) + 'b'
])('does not take %j for a name inside the volume', (name) => {
  expect(isInside(name)).toBe(false);
});

test('takes plain names for names inside the volume', () => {
  for (const name of ['a', 'a/b', '...', 'a\\..\\b', 'ü', ' ', '-rf', 'a\nb'])
    expect(isInside(name)).toBe(true);
});

test.each([
  ['a', 'b', true],
  ['a', 'b/c', true],
  ['x/a', '../b', true],
  ['x/y/a', '../../b/c', true],
  ['x/a', '..', true],
  ['a', '.', true],
  ['a', 'b/', true],
  ['a', '..', false],
  ['a', '../b', false],
  ['x/a', '../../b', false],
  ['x/a', 'y/../z', false],
  ['x/a', '../y/..', false],
  ['a', '/etc', false],
  ['a', '', false],
  ['a', 'b//c', false]
])('knows whether the link %s → %s stays inside: %s', (name, target, isSafe) => {
  expect(isSafeLink(name, target)).toBe(isSafe);
});

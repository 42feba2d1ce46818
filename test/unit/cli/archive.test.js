'use strict';
// The file of a backup: what comes out is what went in, and nothing damaged or hostile comes out.

const { execFileSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const zlib = require('node:zlib');
const { ArchiveWriter, TooLarge, unpack } = require('../../../flows/cli/archive');
const { END, head, padding } = require('../../../nodes/lib/base/tar/tar');
const { needs } = require('../../../bench/harness/tools');

const { test: withTar } = needs('tar', 'sha256sum');

/** @type {string} */
let folder;
/** @type {string} */
let file;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-archive-'));
  file = path.join(folder, 'a.backup');
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

const manifest = { format: 1, version: '0.1.0', created: '2026-01-01T00:00:00.000Z', home: '/h', logs: [] };

/** A name that only a pax header can hold. */
const LONG = `home/${'a'.repeat(200)}/${'ü'.repeat(100)}.json`;

async function write() {
  const archive = new ArchiveWriter(file);
  await archive.addText('seganet-backup.json', JSON.stringify(manifest));
  await archive.addText('home/empty', '');
  await archive.addText('home/one block', 'x'.repeat(512));
  await archive.addText(LONG, '{}');
  const large = crypto.randomBytes(300_000);
  const parts = [large.subarray(0, 1), large.subarray(1, 70_000), large.subarray(70_000)];
  await archive.add({ name: 'log/e/log.db', size: large.length, mode: 0o640, mtimeMs: 1e12 }, parts);
  await archive.end();
  return large;
}

async function unpacked() {
  const target = fs.mkdtempSync(path.join(folder, 'out-'));
  return { target, manifest: await unpack(file, target) };
}

/** An archive with these entries, as another program could write it. @param {[string, string][]} entries */
function forge(entries) {
  const blocks = entries.flatMap(([name, text]) => {
    const bytes = Buffer.from(text);
    return [head({ name, size: bytes.length, mode: 0o600, mtimeMs: 0 }), bytes, padding(bytes.length)];
  });
  fs.writeFileSync(file, zlib.gzipSync(Buffer.concat([...blocks, END])));
}

/** @param {string} name @param {string} text */
const sumLine = (name, text) => `${crypto.createHash('sha256').update(text).digest('hex')}  ${name}\n`;

/** A sound archive with one entry more. @param {string} name @param {string} text */
function forgeWith(name, text) {
  const first = JSON.stringify(manifest);
  forge([
    ['seganet-backup.json', first],
    [name, text],
    ['SHA256SUMS', sumLine('seganet-backup.json', first) + sumLine(name, text)]
  ]);
}

test('restores every byte, name and mode', async () => {
  const large = await write();
  const out = await unpacked();
  expect(out.manifest).toEqual(manifest);
  const read = (/** @type {string} */ name) => fs.readFileSync(path.join(out.target, name));
  expect(read('log/e/log.db').equals(large)).toBe(true);
  expect(read('home/empty')).toHaveLength(0);
  expect(read('home/one block').toString()).toBe('x'.repeat(512));
  expect(read(LONG).toString()).toBe('{}');
  const stat = fs.statSync(path.join(out.target, 'log/e/log.db'));
  expect([stat.mode & 0o777, stat.mtimeMs]).toEqual([0o640 & ~process.umask(), 1e12]);
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
});

withTar('is an archive that tar and sha256sum understand', async () => {
  await write();
  execFileSync('tar', ['-xzf', file, '-C', folder]);
  const checked = execFileSync('sha256sum', ['-c', 'SHA256SUMS'], { cwd: folder, encoding: 'utf8' });
  expect(checked.trim().split('\n')).toHaveLength(5);
});

test('is refused when it is cut anywhere', async () => {
  await write();
  const whole = fs.readFileSync(file);
  for (const bytes of [0, 1, 17, 300, whole.length >> 1, whole.length - 9, whole.length - 1]) {
    fs.writeFileSync(file, whole.subarray(0, bytes));
    await expect(unpacked()).rejects.toThrow();
  }
});

test('is refused when a bit is flipped anywhere', async () => {
  await write();
  const whole = fs.readFileSync(file);
  for (let at = 10; at < whole.length; at += Math.ceil(whole.length / 60)) {
    const bytes = Buffer.from(whole);
    bytes[at] ^= 1 << (at % 8);
    fs.writeFileSync(file, bytes);
    await expect(unpacked()).rejects.toThrow();
  }
});

test('is refused when it was packed again with another content', async () => {
  const first = JSON.stringify(manifest);
  const entries = /** @type {[string, string][]} */ ([
    ['seganet-backup.json', first],
    ['home/gateway.json', '[1]']
  ]);
  const sums = sumLine('seganet-backup.json', first) + sumLine('home/gateway.json', '[]');
  forge([...entries, ['SHA256SUMS', sums]]);
  await expect(unpacked()).rejects.toThrow('the checksum of home/gateway.json is wrong');
  forge([...entries, ['SHA256SUMS', sumLine('seganet-backup.json', first)]]);
  await expect(unpacked()).rejects.toThrow('the checksum of home/gateway.json is wrong');
  forge(entries);
  await expect(unpacked()).rejects.toThrow('it is cut short');
  forge([entries[0], ['SHA256SUMS', sums]]);
  await expect(unpacked()).rejects.toThrow('the entry home/gateway.json is missing');
});

test.each([
  '../evil',
  'home/../../evil',
  '/etc/evil',
  'home//evil',
  'home/./evil',
  'home',
  'other/evil',
  'home/a\\..\\evil'
])('is refused with the entry %s, and nothing is written outside', async (name) => {
  forgeWith(name, 'x');
  await expect(unpacked()).rejects.toThrow(/which no backup has/);
  expect(fs.readdirSync(folder).some((each) => each.includes('evil'))).toBe(false);
});

test('is refused with a link, a doubled entry, or an entry behind the checksums', async () => {
  forgeWith('home/a', '');
  const tar = zlib.gunzipSync(fs.readFileSync(file));
  const at = tar.indexOf('home/a\0');
  tar[at + 156] = '2'.charCodeAt(0);
  const sum = tar
    .subarray(at, at + 512)
    .reduce((all, byte, i) => all + (i < 148 || i >= 156 ? byte : 0), 256);
  tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148, 'latin1');
  fs.writeFileSync(file, zlib.gzipSync(tar));
  await expect(unpacked()).rejects.toThrow('home/a is not a regular file');

  const text = JSON.stringify(manifest);
  const first = /** @type {[string, string]} */ (['seganet-backup.json', text]);
  forge([first, ['home/a', ''], ['home/a', '']]);
  await expect(unpacked()).rejects.toThrow('it has the entry home/a twice');
  forge([first, ['SHA256SUMS', sumLine(...first)], ['home/a', '']]);
  await expect(unpacked()).rejects.toThrow('it has the entry home/a behind its checksums');
});

test('is refused if it is something else, or from a newer gateway', async () => {
  forge([['home/a', '']]);
  await expect(unpacked()).rejects.toThrow('it is not a backup of a gateway');
  for (const text of ['', '[]', '{}', 'null', '{"format":1}']) {
    forge([['seganet-backup.json', text]]);
    await expect(unpacked()).rejects.toThrow('it is not a backup of a gateway');
  }
  // As an older version wrote it: ustar without pax headers.
  fs.writeFileSync(path.join(folder, 'seganet-backup.json'), JSON.stringify(manifest));
  execFileSync('tar', ['-czf', file, '--format=ustar', '-C', folder, 'seganet-backup.json']);
  await expect(unpacked()).rejects.toThrow('another program wrote it, or an older version');
  forge([['seganet-backup.json', JSON.stringify({ ...manifest, format: 2, version: '9.0.0' })]]);
  await expect(unpacked()).rejects.toThrow('a newer gateway (9.0.0) wrote it');
});

test('takes no second entry of a name, as no reader accepts it', async () => {
  const archive = new ArchiveWriter(file);
  await archive.addText('seganet-backup.json', JSON.stringify(manifest));
  await archive.addText('log/e/log.db', 'first');
  await expect(archive.addText('log/e/log.db', 'second')).rejects.toThrow('log/e/log.db already');
  await archive.end();
  const { target } = await unpacked();
  expect(fs.readFileSync(path.join(target, 'log/e/log.db'), 'utf8')).toBe('first');
});

test('reports a file that changed while it was read', async () => {
  const archive = new ArchiveWriter(file);
  const entry = { name: 'home/a', size: 3, mode: 0o600, mtimeMs: 0 };
  await expect(archive.add(entry, [Buffer.from('ab')])).rejects.toThrow('home/a changed while it was read');
  await expect(archive.add(entry, [Buffer.from('abcd')])).rejects.toThrow('home/a changed while it was read');
  await archive.abort();
});

test.each(['home/a\\b', 'other/a', `home/${'a/'.repeat(101)}b`, `home/${'a'.repeat(256)}`])(
  'writes no file with the name %s, which unpack() would refuse',
  async (name) => {
    const archive = new ArchiveWriter(file);
    await expect(archive.addText(name, '')).rejects.toThrow('no backup can have the name');
    await archive.abort();
  }
);

test('has files of more than 8 GiB', async () => {
  const size = 8 ** 11 + 1;
  const archive = new ArchiveWriter(file);
  await archive.addText('seganet-backup.json', JSON.stringify(manifest));
  const cut = archive.add({ name: 'log/e/log.db', size, mode: 0o600, mtimeMs: 0 }, [Buffer.from('x')]);
  await expect(cut).rejects.toThrow('log/e/log.db changed while it was read');
  await archive.abort();
  const start = JSON.stringify(manifest);
  const large = head({ name: 'log/e/log.db', size, mode: 0o600, mtimeMs: 0 });
  const first = head({ name: 'seganet-backup.json', size: start.length, mode: 0o600, mtimeMs: 0 });
  fs.writeFileSync(
    file,
    zlib.gzipSync(Buffer.concat([first, Buffer.from(start), padding(start.length), large]))
  );
  const target = fs.mkdtempSync(path.join(folder, 'out-'));
  await expect(unpack(file, target, size)).rejects.toThrow(TooLarge);
  await expect(unpack(file, target, size + start.length)).rejects.toThrow('it is cut short');
});

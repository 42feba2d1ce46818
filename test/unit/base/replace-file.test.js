'use strict';
// Files that are replaced as a whole, with real files and a real file size limit.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { replaceFile } = require('../../../nodes/lib/base/replace-file');

const MODULE = path.join(__dirname, '../../../nodes/lib/base/replace-file');
let folder, file;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-replace-'));
  file = path.join(folder, 'file');
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

const modeOf = (name) => fs.statSync(name).mode & 0o777;

test('makes a file with its mode regardless of the umask, and replaces it', () => {
  const before = process.umask(0o077);
  try {
    replaceFile(file, 'one', 0o640);
    expect([fs.readFileSync(file, 'utf8'), modeOf(file)]).toEqual(['one', 0o640]);
    replaceFile(file, Buffer.from('two'));
    expect([fs.readFileSync(file, 'utf8'), modeOf(file)]).toEqual(['two', 0o600]);
    expect(fs.readdirSync(folder)).toEqual(['file']);
  } finally {
    process.umask(before);
  }
});

test('replaces the target of a link', () => {
  fs.writeFileSync(path.join(folder, 'real'), 'one');
  fs.symlinkSync('real', file);
  replaceFile(file, 'two');
  expect(fs.lstatSync(file).isSymbolicLink()).toBe(true);
  expect(fs.readFileSync(path.join(folder, 'real'), 'utf8')).toBe('two');
});

test('keeps the old file when the system writes only a part of the new one', () => {
  fs.writeFileSync(file, 'old\n'.repeat(5000));
  // A write past the limit is cut short and the next one fails, as on a full disk.
  const script = `process.on('SIGXFSZ', () => {});
    try { require(${JSON.stringify(MODULE)}).replaceFile(${JSON.stringify(file)}, 'new\\n'.repeat(20000)); console.log('written'); }
    catch (error) { console.log(error.code); }`;
  const { stdout } = spawnSync('bash', ['-c', 'ulimit -f 40; exec "$0" -e "$1"', process.execPath, script], {
    encoding: 'utf8'
  });
  expect(stdout).toBe('EFBIG\n');
  expect(fs.readFileSync(file, 'utf8')).toBe('old\n'.repeat(5000));
  expect(fs.readdirSync(folder)).toEqual(['file']);
});

test('reports an error of the system', () => {
  expect(() => replaceFile(path.join(folder, 'none', 'file'), 'x')).toThrow(/ENOENT/);
});

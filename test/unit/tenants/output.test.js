'use strict';
// The file that a tenant prints to, which is the tenant's own: nothing about it is certain.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { needs } = require('../../../bench/harness/tools');
const { KEPT_BYTES, MAX_BYTES, Output } = require('../../../docker/tenants/lib/drivers/output');
const { plainText } = require('../../../docker/tenants/lib/base/plain-text');

/** @type {string} */
let folder;
/** @type {string} */
let file;
/** @type {Output} */
let output;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'output-'));
  output = new Output(folder);
  file = output.make();
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

describe('the file of an output', () => {
  test('is emptied above its limit, and its end is kept', async () => {
    const fd = output.open();
    fs.writeSync(fd, 'first\n');
    expect(await output.turn()).toBe(false);
    fs.writeSync(fd, `${'x'.repeat(1023)}\n`.repeat(MAX_BYTES / 1024));
    fs.writeSync(fd, 'before\n');
    expect(await output.turn()).toBe(true);
    expect(fs.statSync(file).size).toBe(0);
    expect(fs.statSync(`${file}.1`).size).toBe(KEPT_BYTES);
    // The tenant goes on at the new end.
    fs.writeSync(fd, 'after\n');
    fs.closeSync(fd);
    expect(await output.last(2)).toBe('before\nafter');
    expect(fs.statSync(file).size).toBe(6);
  });

  test('keeps no rest of a longer end', async () => {
    fs.writeFileSync(`${file}.1`, 'y'.repeat(KEPT_BYTES));
    fs.truncateSync(file, MAX_BYTES);
    fs.appendFileSync(file, '\nlast\n');
    expect(await output.turn()).toBe(true);
    expect(fs.readFileSync(`${file}.1`, 'utf8')).not.toContain('y');
    expect(await output.last(1)).toBe('last');
  });

  const { test: fallocateTest } = needs('fallocate');
  fallocateTest('is emptied when it takes space beyond its end', async () => {
    execFileSync('fallocate', ['--keep-size', '--length', String(2 * MAX_BYTES), file]);
    expect(fs.statSync(file).size).toBe(0);
    expect(await output.turn()).toBe(true);
    expect(fs.statSync(file).blocks).toBe(0);
  });

  test('is not followed as a link', async () => {
    const victim = path.join(folder, 'victim');
    fs.writeFileSync(victim, 'secret\n'.repeat(MAX_BYTES / 4));
    fs.rmSync(file);
    fs.symlinkSync(victim, file);
    await expect(output.turn()).rejects.toThrow(/ELOOP/);
    expect(await output.last(1)).toBe('');
    output.make();
    expect(fs.lstatSync(file).isFile()).toBe(true);
    expect(fs.statSync(victim).size).toBeGreaterThan(MAX_BYTES);
  });

  test('is not waited for as a pipe, and is made again in the place of one or of a folder', async () => {
    fs.rmSync(file);
    execFileSync('mkfifo', [file]);
    expect(await output.turn()).toBe(false);
    expect(await output.last(1)).toBe('');
    output.make();
    fs.rmSync(file);
    fs.mkdirSync(file);
    expect(await output.turn()).toBe(false);
    output.make();
    expect(fs.lstatSync(file).isFile()).toBe(true);
  });

  test('is readable again after the tenant has closed it to itself', () => {
    fs.chmodSync(file, 0o200);
    output.make();
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  });

  test('that is missing has no lines', async () => {
    output.remove();
    expect(await output.turn()).toBe(false);
    expect(await output.last(5)).toBe('');
  });
});

describe('a text of a tenant', () => {
  test('has escapes in the place of what changes a terminal', () => {
    expect(plainText('\x1b[2J\x1b]0;title\x07 \x9b31m')).toBe('\\x1b[2J\\x1b]0;title\\x07 \\x9b31m');
    expect(plainText('100 %\rdone\b')).toBe('100 %\\x0ddone\\x08');
    expect(plainText('\u202Eabc\u2028\ufeff')).toBe('\\u202eabc\\u2028\\ufeff');
    expect(plainText('\0\ud800')).toBe('\\x00\\ud800');
  });

  test('keeps lines, tabs and letters of all languages', () => {
    expect(plainText('a\tb\r\nzwölf 🦊 三\n')).toBe('a\tb\nzwölf 🦊 三\n');
  });

  test('bounds the length of a line', () => {
    expect(plainText(`${'x'.repeat(1e6)}\nend`)).toHaveLength(4096 + 2 + 4);
  });
});

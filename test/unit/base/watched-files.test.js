'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { WatchedFiles } = require('../../../nodes/lib/base/watched-files');
const { watchTlsFiles } = require('../../../nodes/lib/base/tls-files');

/** @type {string} */
let folder;
beforeEach(() => void (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-watched-'))));
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

/** @param {string} name @param {string} text */
const write = (name, text) => {
  const file = path.join(folder, name);
  fs.writeFileSync(file, text);
  return file;
};

/** @param {() => unknown} read @returns {any} */
const errorOf = (read) => {
  try {
    read();
  } catch (error) {
    return error;
  }
  return null;
};

test('blank paths are ignored', async () => {
  const files = new WatchedFiles({ cert: write('cert', 'c'), key: '' }, { cert: 'certificate', key: 'key' });
  expect(files.read()).toEqual({ cert: Buffer.from('c') });
  expect(files.roles).toEqual(['cert']);
});

test('a replaced file is a change until it is read; a missing one is not', async () => {
  const cert = write('cert', 'old');
  const files = new WatchedFiles({ cert }, { cert: 'certificate' });
  files.read();
  expect(await files.haveChanged()).toBe(false);
  fs.unlinkSync(cert);
  expect(await files.haveChanged()).toBe(false);
  write('cert', 'renewed');
  expect(await files.haveChanged()).toBe(true);
  expect(files.read()).toEqual({ cert: Buffer.from('renewed') });
  expect(await files.haveChanged()).toBe(false);
});

test('a file above the limit is refused', () => {
  const files = new WatchedFiles(
    { users: write('users', '12345') },
    { users: 'password file' },
    { maxBytes: 4 }
  );
  expect(errorOf(() => files.read())).toMatchObject({
    code: 'FILE',
    message: expect.stringMatching(
      /^The password file .* cannot be read \(more than 4 bytes\)\. Check the file\.$/
    )
  });
});

test('an error names the file and a remedy, and only what the caller says happens meanwhile', () => {
  const key = path.join(folder, 'missing.pem');
  expect(errorOf(() => watchTlsFiles({ key }).read())).toMatchObject({
    code: 'TLS_FILE',
    message: `The private key ${key} cannot be read (ENOENT). There is no such file. Create it, or correct the path.`
  });
  expect(errorOf(() => watchTlsFiles({ key }, 'records are kept meanwhile').read()).message).toMatch(
    /or correct the path; records are kept meanwhile\.$/
  );
});

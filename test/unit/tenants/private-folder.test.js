'use strict';
// The folder of the keeper, if the keeper is root and the folder is in one of another user.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { makePrivate } = require('../../../docker/tenants/lib/base/home');

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn('Skipped: only root can give a link to another user.');

/** @type {string} */
let folder;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-private-'));
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

/** @param {string} name */
const modeOf = (name) => fs.statSync(name).mode & 0o777;

(isRoot ? test : test.skip)('changes no folder of root to which a link of another user leads', () => {
  const [target, link] = [path.join(folder, 'etc'), path.join(folder, 'tenants')];
  fs.mkdirSync(target, { mode: 0o755 });
  fs.symlinkSync(target, link);
  fs.lchownSync(link, 65534, 65534);
  expect(() => makePrivate(link)).toThrow(/tenants cannot be used: it belongs to another user\.$/);
  expect(modeOf(target)).toBe(0o755);
});

test('makes a folder private, and takes an own link only to one that is private already', () => {
  const [made, link] = [path.join(folder, 'a', 'tenants'), path.join(folder, 'link')];
  makePrivate(made);
  fs.chmodSync(made, 0o755);
  makePrivate(made);
  expect(modeOf(made)).toBe(0o700);
  fs.symlinkSync(made, link);
  makePrivate(link);
  fs.chmodSync(made, 0o750);
  expect(() => makePrivate(link)).toThrow(
    /it is a link to a folder that others may enter; run "chmod 700" on that\.$/
  );
});

'use strict';
// The files of a gateway's folder that belong into a backup.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { homeFiles } = require('../../../flows/cli/home-files');

/** @type {string} */
let home;
beforeEach(() => {
  home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-home-'));
});
afterEach(() => {
  jest.restoreAllMocks();
  fs.rmSync(home, { recursive: true, force: true });
});

test('leaves out files and folders that a running gateway removes while they are listed', () => {
  const files = ['a.json', 'b.json', 'b.json-wal', 'c/d.json', 'e/f.json'];
  for (const file of files) {
    fs.mkdirSync(path.join(home, path.dirname(file)), { recursive: true });
    fs.writeFileSync(path.join(home, file), '{}');
  }
  const list = fs.readdirSync;
  jest
    .spyOn(fs, 'readdirSync')
    .mockImplementation((/** @type {any} */ folder, /** @type {any} */ options) => {
      const entries = list(folder, options);
      if (folder === fs.realpathSync(home)) {
        for (const gone of ['a.json', 'b.json', 'c']) fs.rmSync(path.join(home, gone), { recursive: true });
      }
      return entries;
    });
  const found = homeFiles(home, [], path.join(home, 'backup'));
  expect(found.files).toEqual(['e/f.json']);
  expect(found.databases).toEqual([]);
});

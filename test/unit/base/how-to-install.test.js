'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { howToInstall } = require('../../../nodes/lib/base/texts/how-to-install');

/** @type {string} */
let folder;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-install-'));
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

/** @param {string} place in the folder @returns {string} a root of the gateway there */
const rootIn = (place) => path.join(folder, place, 'node_modules', '@seganet', 'node-red-gateway');

test('names the folder of the checkout', () => {
  const root = path.join(__dirname, '..', '..', '..');
  expect(howToInstall('pg@8')).toBe(`run "npm install pg@8" in ${root}`);
});

test('names the user folder of Node-RED', () => {
  fs.writeFileSync(path.join(folder, 'package.json'), '{}');
  expect(howToInstall('pg@8', rootIn(''))).toBe(`run "npm install pg@8" in ${folder}`);
  expect(howToInstall('pg@8', rootIn('node_modules/other'))).toBe(`run "npm install pg@8" in ${folder}`);
});

test('gives the global command for a global package', () => {
  expect(howToInstall('pg@8', rootIn('lib'))).toBe('run "npm install -g pg@8"');
});

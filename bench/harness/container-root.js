'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { FOLDERS, NODE, TEXTS, systemFiles } = require('../../docker/tenants/lib/image/system');

/**
 * Makes a root file system for an image: this machine's Node and shell with the libraries that they need. Nothing is
 * pulled.
 * @param {string} folder
 */
function makeRoot(folder) {
  for (const each of FOLDERS) fs.mkdirSync(path.join(folder, each), { recursive: true });
  // An engine gives a file system in memory the mode of the folder in the image.
  fs.chmodSync(path.join(folder, 'tmp'), 0o1777);
  for (const [name, file] of systemFiles()) {
    fs.mkdirSync(path.join(folder, path.dirname(name)), { recursive: true });
    fs.copyFileSync(file, path.join(folder, name));
  }
  fs.mkdirSync(path.join(folder, 'etc'), { recursive: true });
  for (const [name, text] of Object.entries(TEXTS)) fs.writeFileSync(path.join(folder, name), text);
}

module.exports = { NODE, makeRoot };

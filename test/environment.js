'use strict';
// The environment of each test file: removes the temporary folders that the file made when it ends, also if it failed.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { TestEnvironment } = require('jest-environment-node');

/** @type {typeof fs.mkdtempSync} */
const makeFolder = fs.mkdtempSync;

class FoldersRemoved extends TestEnvironment {
  /** @type {Set<string>} */
  #folders = new Set();

  async setup() {
    await super.setup();
    // Jest gives tests the modules of Node themselves.
    fs.mkdtempSync = /** @type {any} */ (
      (/** @type {string} */ prefix, /** @type {any} */ options) => {
        const folder = makeFolder(prefix, options);
        if (path.dirname(path.resolve(prefix)) === os.tmpdir()) this.#folders.add(String(folder));
        return folder;
      }
    );
  }

  async teardown() {
    fs.mkdtempSync = makeFolder;
    for (const folder of this.#folders) remove(folder);
    await super.teardown();
  }
}

/** @param {string} folder */
function remove(folder) {
  try {
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch (err) {
    // A program that the file should have ended still writes there.
    console.error(`${folder} cannot be removed: ${/** @type {Error} */ (err).message}`);
  }
}

module.exports = FoldersRemoved;

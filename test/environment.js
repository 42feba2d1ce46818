'use strict';
// The environment of each test file: removes the temporary folders that the file made when it ends, also if it failed,
// and gives tests and hooks more time on a busy machine.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { TestEnvironment } = require('jest-environment-node');
const { PATIENCE } = require('../bench/harness/patience');

/** @type {typeof fs.mkdtempSync} */
const makeFolder = fs.mkdtempSync;

class OurEnvironment extends TestEnvironment {
  /** @type {Set<string>} */
  #folders = new Set();
  /** Tests and hooks that have their time. @type {WeakSet<object>} */
  #patient = new WeakSet();

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

  /** @param {any} event @param {any} state of Jest */
  handleTestEvent({ name, hook, test }, state) {
    const timed = name === 'hook_start' ? hook : name === 'test_fn_start' ? test : null;
    // A hook begins before each of several tests.
    if (!timed || this.#patient.has(timed)) return;
    this.#patient.add(timed);
    timed.timeout = (timed.timeout || state.testTimeout) * PATIENCE;
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

module.exports = OurEnvironment;

'use strict';
// The log in SQLite does what every log does.

const fs = require('node:fs');
const { logSuite } = require('../../fixtures/store/log-suite');
const { Rig, inspect } = require('../../fixtures/store/store-files');

/** @type {any[]} */
const rigs = [];
afterEach(async () => {
  for (const rig of rigs.splice(0)) {
    await rig.stop(0);
    fs.rmSync(rig.directory, { recursive: true, force: true });
  }
});

/** @param {any} [options] */
function rigOf(options) {
  const rig = new Rig(options);
  rigs.push(rig);
  return /** @type {any} */ (rig);
}

logSuite({
  open: async (options) => rigOf(options),
  again: async (/** @type {any} */ rig, options) =>
    rigOf({
      ...options,
      directory: rig.directory,
      ...(options?.isSameProcess && { rows: rig.rows })
    }),
  chunks: async (/** @type {any} */ rig) => inspect(rig.directory).chunks,
  test
});

'use strict';
// The log in PostgreSQL does what every log does, with a real server.

const { needs } = require('../../../bench/harness/tools');
const { TOOLS, startPostgres } = require('../../fixtures/ocf/postgres-server');
const { logSuite } = require('../../fixtures/store/log-suite');
const { PairRig } = require('../../fixtures/store/pair-rig');

const { test, missing } = needs(...TOOLS);

/** @type {Awaited<ReturnType<typeof startPostgres>>} */
let server;
beforeAll(async () => {
  if (missing.length > 0) return;
  server = await startPostgres();
  process.env.PGPASSWORD = server.password;
}, 60000);
afterAll(async () => {
  delete process.env.PGPASSWORD;
  await server?.end();
});

/** @type {PairRig[]} */
const rigs = [];
afterEach(() => Promise.all(rigs.splice(0).map((rig) => rig.stop(0))));

/** @param {PairRig} rig @returns {any} */
function kept(rig) {
  rigs.push(rig);
  return rig;
}

logSuite({
  open: async (options) => kept(new PairRig({ ...options, url: await server.newDatabase() })),
  again: async (/** @type {any} */ rig, options) =>
    kept(
      rig.again({
        ...options,
        ...(options?.isSameProcess && { memory: Float64Array.of(rig.memory[0], 0, 0) })
      })
    ),
  chunks: (/** @type {any} */ rig) =>
    server.query(rig.options.url, 'SELECT * FROM seganet_log.chunk ORDER BY id'),
  test
});

'use strict';
// The short form of test/system/broker-refusals/run.js.

const { runAll } = require('./run');

test('no reason code of a broker stops a session: all records arrive but those that it never takes', async () => {
  const seed = Date.now() % 2 ** 31;
  expect({ seed, findings: await runAll({ runs: 6, seed, parallel: 6 }) }).toEqual({ seed, findings: [] });
}, 180000);

'use strict';
// bench/questions/burns.js in short: a record that only the burned machine had is lost, and it must say so.

const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { root } = require('../../../bench/harness/gateway');
const { needs } = require('../../../bench/harness/tools');
const { burnAll } = require('../../../bench/runs/burn');

const { test: withMosquitto } = needs('mosquitto', 'c++', 'openssl');

jest.setTimeout(60000);

test.each(['burns', 'balanced', 'gateways', 'replicated'])('%s prints its options', (name) => {
  const command = path.join(root, 'bench', 'questions', `${name}.js`);
  const text = execFileSync(process.execPath, [command, '--help'], { encoding: 'utf8' });
  expect(text).toContain(`node native/node/run.js bench/questions/${name}.js [options]`);
});

withMosquitto('counts what a burned mosquitto had acknowledged while the cloud was away', async () => {
  const profile = {
    ...{ devices: 5, rate: 20, seconds: 3, warmup: 0, payload: 100, alarmEvery: 0, inflight: 64, drain: 10 },
    ...{ quietMs: 4000, datatype: 'buffer', gatewayEnv: {}, gatewayCpus: undefined, harnessCpus: undefined }
  };
  /** @type {string[]} */
  const told = [];
  const given = { profile, takeoverMs: 200, told: (/** @type {string} */ text) => void told.push(text) };
  const { loads } = await burnAll('mosquitto', [{ at: 1500, awayFrom: 700 }], given);
  expect(loads[0].acked).toBe(300);
  expect(loads[0].lost).toBeGreaterThan(20);
  expect(loads[0].lost).toBeLessThan(200);
  expect(told).toEqual(['mosquitto: burn 1 of 1, 300 acknowledged so far']);
});

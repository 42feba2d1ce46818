'use strict';
// The short form of test/system/flooder/run.js.

const { needs } = require('../../bench/harness/tools');
const { flood } = require('./flooder/flood');

const { test } = needs('mosquitto', 'openssl');

const seed = Number(process.env.SEGANET_TEST_SEED) || Math.floor(Math.random() * 2 ** 31);

test(`keeps honest devices connected, loses no record and leaves time to the main thread under hostile devices (SEGANET_TEST_SEED=${seed})`, async () => {
  const { findings, ...summary } = await flood({ seconds: 20, seed });
  if (findings.length > 0) console.log(JSON.stringify(summary, null, 1));
  expect(findings).toEqual([]);
}, 240000);

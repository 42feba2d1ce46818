'use strict';
// The short form of test/system/message-fuzzer/run.js.

const { needs } = require('../../bench/harness/tools');
const { fuzz } = require('./message-fuzzer/run');

const { test } = needs('mosquitto', 'openssl');

test('completes odd messages to every node once each, ends no process, and loses no accepted record', async () => {
  const seed = Date.now() % 2 ** 31;
  const { findings, summary } = await fuzz({ seconds: 14, seed });
  expect({ seed, summary, findings }).toEqual({
    seed,
    summary: expect.stringContaining(' messages, '),
    findings: []
  });
}, 150000);

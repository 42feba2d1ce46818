'use strict';
// The short form of test/system/message-fuzzer/run.js.

const { needs } = require('../../bench/harness/tools');
const { fuzz } = require('./message-fuzzer/run');

const { test } = needs('mosquitto', 'openssl');

test('odd messages to every node end once each, end no process, and lose no record that was taken', async () => {
  const seed = Date.now() % 2 ** 31;
  const { findings, summary } = await fuzz({ seconds: 14, seed });
  expect({ seed, summary, findings }).toEqual({
    seed,
    summary: expect.stringContaining(' messages, '),
    findings: []
  });
}, 150000);

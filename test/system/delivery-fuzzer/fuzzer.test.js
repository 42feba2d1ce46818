'use strict';
// The short form of run.js.

const { needs } = require('../../../bench/harness/tools');
const { fuzz } = require('./run');

const { test } = needs('mosquitto', 'openssl');

test('acknowledges each record that the flow delivers, and no other one, across a kill -9', async () => {
  const seed = Date.now() % 2 ** 31;
  const { findings, summary } = await fuzz({ seconds: 60, rounds: 1, seed, killed: true });
  expect({ seed, summary, findings }).toEqual({
    seed,
    summary: expect.stringContaining(' acknowledged, '),
    findings: []
  });
}, 150000);

'use strict';
// A pair of gateways loses nothing that it acknowledged, and changes no order, when machines fail under load.
// More of it: node native/node/run.js test/system/pair/run.js --help

const { needs } = require('../../../bench/harness/tools');
const { pairTools } = require('../../fixtures/pair/database');
const { runFaults } = require('./run');

const { test } = needs(...pairTools(), 'mosquitto');

jest.setTimeout(240000);

test('the active machine burns, and a gateway hangs and comes back', async () => {
  /** @type {string[]} */
  const lines = [];
  const names = ['the active machine burns', 'the active gateway hangs and comes back'];
  const { acked, lost, disorder, otherKey } = await runFaults({
    runs: 2,
    seed: 3,
    names,
    log: (line) => lines.push(line)
  });
  expect({ lost, disorder, otherKey, lines }).toEqual({ lost: 0, disorder: 0, otherKey: 0, lines });
  expect(acked).toBeGreaterThan(50);
});

'use strict';

const { seeded } = require('../../fixtures/random');
const { runDemand } = require('./scenario');

jest.setTimeout(120000);

test('gives each device its normal rate back, also after kill -9 while devices leave and return', async () => {
  const found = await runDemand({ count: 100, seconds: 4, perS: 50, random: seeded(1) });
  expect(found).toMatchObject({ stuck: [], refused: 0 });
  expect(found.on).toBeGreaterThan(0);
  expect(found.fast).toBeGreaterThan(20);
});

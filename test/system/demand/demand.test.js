'use strict';

const { seeded } = require('../../fixtures/random');
const { runDemand } = require('./scenario');

jest.setTimeout(120000);

test('keeps accepted questions over kill -9 while devices leave and return, and restores each device', async () => {
  const found = await runDemand({ count: 100, seconds: 6, perS: 50, kills: 1, longS: 60, random: seeded(1) });
  expect(found).toMatchObject({ stuck: [], lost: [], refusals: [] });
  expect(found.on).toBeGreaterThan(0);
  expect(found.survived).toBeGreaterThan(0);
  expect(found.fast).toBeGreaterThan(5);
});

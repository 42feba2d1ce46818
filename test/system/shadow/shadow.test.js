'use strict';

const { needs } = require('../../../bench/harness/tools');
const { seeded } = require('../../fixtures/random');
const { runReconnects } = require('./reconnects');
const { runShadows } = require('./scenario');
const { runStore } = require('./store');

jest.setTimeout(240000);

const { test: asRoot } = needs(
  'mount',
  'mkfs.ext4',
  'findmnt',
  'cp',
  ...(process.getuid?.() === 0 ? [] : ['root'])
);
const SHORT = { shadows: 1500, devices: 60, perS: 40 };

test('loses no acknowledged version by kill -9, and gives each device that connects what is desired', async () => {
  const found = await runShadows({ ...SHORT, cut: false, random: seeded(1) });
  expect(found).toMatchObject({ shadows: 1500, lost: 0, devices: 60, wrong: 0 });
});

test('gives each device that connects its difference while updates are committed, and never an older one', async () => {
  const options = { shadows: 300, devices: 100, perS: 50, load: 200, rounds: 2, random: seeded(4) };
  const found = await runReconnects(options);
  expect(found).toMatchObject({ connections: 200, missing: 0, backwards: 0, load: { failed: 0 } });
  expect(found.load.updates).toBeGreaterThan(0);
});

asRoot('loses no acknowledged version by a power cut', async () => {
  const found = await runShadows({ ...SHORT, devices: 5, cut: true, random: seeded(2) });
  expect(found).toMatchObject({ shadows: 1500, lost: 0, wrong: 0 });
});

asRoot(
  'loses none of many in a process that is ended by kill -9, and in one whose disk loses its power',
  async () => {
    const found = await runStore({ shadows: 2000, cut: true, random: seeded(3) });
    expect(found).toMatchObject({ lost: 0, lostByCut: 0 });
  }
);

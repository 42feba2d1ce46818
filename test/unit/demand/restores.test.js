'use strict';
// Restores and questions outlive what happens to their devices, to the clock and to their file.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { World } = require('../../fixtures/demand/world');

/** @type {string} */
let folder;
/** @type {World} */
let world;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-demand-'));
  jest.useFakeTimers({ doNotFake: ['performance', 'nextTick', 'setImmediate'] });
  world = new World(folder);
});
afterEach(() => {
  void world.demand.close();
  jest.useRealTimers();
  fs.rmSync(folder, { recursive: true });
});

test('gives a restore up when the device was away for 30 days', async () => {
  await world.ask({ forS: 1 });
  world.connected.delete('a');
  await world.pass(1000);
  await world.pass(29 * 86_400_000);
  expect(world.demand.view('a')).toMatchObject({ state: 'restoring' });
  await world.pass(86_400_000);
  expect(world.warnings).toEqual([expect.stringMatching(/^The device a was away for 30 days/)]);
  expect([world.demand.view('a'), jest.getTimerCount()]).toEqual([null, 0]);
  await world.pass(100);
  world.kill();
  await world.connect('a');
  expect([world.got.a, world.warnings.length, jest.getTimerCount()]).toEqual([['100'], 1, 0]);
});

test('restores a device in the first hour of a start, however long the gateway was away or wrong its clock', async () => {
  await world.ask({ forS: 1 });
  world.connected.delete('a');
  await world.pass(1000);
  world.wallAhead = 400 * 86_400_000;
  world.kill();
  await world.pass(3_500_000);
  await world.connect('a');
  expect([world.got.a, world.warnings]).toEqual([['100', 'normal'], []]);
  await world.ask({ device: 'b', forS: 1 });
  world.connected.delete('b');
  await world.pass(1000);
  world.wallAhead *= 2;
  world.kill();
  await world.pass(3_600_000);
  expect([world.demand.view('b'), world.warnings.length]).toEqual([null, 1]);
});

test('writes all that is open into a new file when its file was deleted while it was in use', async () => {
  await world.ask({ device: 'a', forS: 100 });
  world.connected.delete('b');
  await world.ask({ device: 'b', by: 'bob', forS: 10 });
  for (const name of fs.readdirSync(folder)) fs.rmSync(path.join(folder, name));
  const refused = await world.ask({ device: 'c', forS: 10 });
  expect([refused.status, refused.message]).toEqual([503, expect.stringMatching(/moved or deleted/)]);
  await world.pass(1000);
  world.kill();
  expect(world.demand.list('', 9).map(({ device, askers }) => [device, ...askers])).toEqual([
    ['a', 'ann'],
    ['b', 'bob']
  ]);
  await world.pass(100_000);
  await world.connect('b');
  expect([world.got.a.at(-1), world.got.b]).toEqual(['normal', ['normal']]);
});

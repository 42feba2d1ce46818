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

'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { gatewayEnv } = require('../../../bench/options/options');
const { splitSettings, writeFlow } = require('../../../bench/harness/flow-settings');

/** @type {string} */
let home;
beforeEach(() => (home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-flow-'))));
afterEach(() => fs.rmSync(home, { recursive: true }));
const flow = () => JSON.parse(fs.readFileSync(path.join(home, 'gateway.json'), 'utf8'));

test('--env takes variables and properties of nodes', () => {
  const settings = gatewayEnv('SEGANET_WORKERS=1,seganet-batch.gapMs=4');
  expect(splitSettings(settings)).toEqual({
    env: { SEGANET_WORKERS: '1' },
    properties: [['seganet-batch', 'gapMs', '4']]
  });
});

test('properties replace those of the shipped flow, then those of the flow in the home', () => {
  writeFlow(home, [['seganet-batch', 'gapMs', '4']], [{ id: 'more', type: 'comment' }]);
  writeFlow(home, [['seganet-engine', 'rebalance', 'live']]);
  const of = (/** @type {string} */ type) => flow().find((/** @type {any} */ node) => node.type === type);
  expect([of('seganet-batch').gapMs, of('seganet-engine').rebalance]).toEqual(['4', 'live']);
  expect(flow().filter(({ id }) => id === 'more')).toHaveLength(1);
});

test('a node with the id of another replaces it', () => {
  writeFlow(home, [], [{ id: 'seganet-uplink-1', type: 'comment' }]);
  expect(flow().filter(({ id }) => id === 'seganet-uplink-1')).toEqual([
    { id: 'seganet-uplink-1', type: 'comment' }
  ]);
});

test('a property that no node of the flow has is refused', () => {
  expect(() => writeFlow(home, [['seganet-batch', 'gap', '4']])).toThrow(
    'the flow has no node of type seganet-batch with the property gap'
  );
});

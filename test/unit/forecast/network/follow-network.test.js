'use strict';

// The network forecasts of an engine over its life, with a real file.

const { EventEmitter } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { followNetwork, networkForecasts, networkLive } = require('../../../../nodes/lib/forecast/network');
const { until } = require('../../../native/support/addon');

/** @type {string} */
let folder;
beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'network-'))));
afterEach(() => fs.rmSync(folder, { recursive: true }));

const SECOND = { state: 'connected', connects: 1, acknowledged: 0, rttMs: 0, sessions: [] };

/** An engine with one uplink. @param {{ seasonS?: number, keptIn?: string }} [options] */
function start({ seasonS = 4, keptIn = folder } = {}) {
  const node = Object.assign(new EventEmitter(), { warnings: [], warn: (text) => node.warnings.push(text) });
  const link = { id: 'u1', name: 'cloud', state: SECOND };
  const host = /** @type {any} */ ({
    id: 'e1',
    networkSeasonS: seasonS,
    keptIn,
    keptFiles: new Set(),
    engine: { flush: () => {} },
    members: [],
    plan: null,
    uplinks: { links: new Map([[link, {}]]) }
  });
  followNetwork(host, /** @type {any} */ (node));
  const stop = async () => {
    node.emit('close');
    for (const file of host.keptFiles) await file.stop();
  };
  const live = () => /** @type {any} */ (networkLive(host, () => 0)).read();
  return { host, node, stop, live };
}

test('learns each second of a short season, and goes on after a restart', async () => {
  const first = start();
  await until(() => first.live().network[0].series.length > 0, 'a value');
  expect(first.live().network).toMatchObject([
    { broker: 'u1', name: 'cloud', series: [{ topic: 'connected', observed: 1, doubt: 'seasons' }] }
  ]);
  await first.stop();
  expect([first.live(), networkForecasts.size]).toEqual([{}, 0]);
  const second = start();
  await Promise.all([...second.host.keptFiles].map(({ loaded }) => loaded));
  expect(second.live().network[0].series[0].topic).toBe('connected');
  await second.stop();
  expect([...first.node.warnings, ...second.node.warnings]).toEqual([]);
});

test('begins again with a damaged file, which it keeps and names', async () => {
  fs.writeFileSync(path.join(folder, 'network-forecast.gz'), 'x');
  const { node, live, stop } = start();
  await until(() => live().network[0].series.length > 0, 'a value');
  expect(node.warnings).toEqual([expect.stringMatching(/network forecasts was damaged.*begins to learn/)]);
  expect(fs.readdirSync(folder)).toEqual([expect.stringMatching(/^network-forecast\.gz\.damaged-/)]);
  await stop();
});

test('keeps no file in a Node-RED without a folder, and does nothing with a season of 0', async () => {
  const unkept = start({ keptIn: '' });
  await until(() => unkept.live().network[0].series.length > 0, 'a value');
  await unkept.stop();
  const off = start({ seasonS: 0 });
  expect([off.live(), off.host.keptFiles.size, networkForecasts.size]).toEqual([{}, 0, 0]);
  await off.stop();
  expect(fs.readdirSync(folder)).toEqual([]);
});

test('survives an uplink that fails, says so once, and goes on', async () => {
  const { host, node, live, stop } = start();
  const { links } = host.uplinks;
  host.uplinks.links = null;
  await until(() => node.warnings.length > 0, 'the warning');
  host.uplinks.links = links;
  await until(() => live().network[0].series.length > 0, 'a value');
  expect(node.warnings).toEqual([expect.stringMatching(/The network is not forecast now/)]);
  await stop();
});

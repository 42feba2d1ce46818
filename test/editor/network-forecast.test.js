'use strict';
// What the status page shows of the network's forecasts, in a real browser.

const { needs } = require('../../bench/harness/tools');
const { startLocalBroker } = require('../../bench/harness/local-broker');
const { freePort } = require('../../bench/harness/net');
const { startFlow } = require('../fixtures/gateway/deployed');
const { temporaryFolder, until } = require('../runtime/process');
const { browserPath, openStatusPage } = require('./support/editor');

const { test } = needs('chromium', 'mosquitto');
jest.setTimeout(300000);

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test('a line has what is forecast of each uplink, and why it is not trusted yet', async () => {
  const folder = temporaryFolder();
  const port = await freePort();
  const broker = await startLocalBroker(folder, port, {});
  cleanups.push(() => broker.stop());
  const place = { z: 'tab', x: 0, y: 0, engine: 'gw' };
  const gateway = await startFlow([
    { id: 'tab', type: 'tab', label: 'network' },
    { id: 'gw', type: 'seganet-engine', workers: '1', networkSeasonS: '10' },
    { id: 'broker', type: 'seganet-uplink-broker', name: 'cloud', url: `mqtt://127.0.0.1:${port}` },
    { ...place, id: 'in', type: 'seganet-ingest', wires: [['out']] },
    { ...place, id: 'out', type: 'seganet-uplink', broker: 'broker', wires: [] }
  ]);
  cleanups.push(() => gateway.end('SIGKILL'));
  const url = `http://127.0.0.1:${gateway.adminPort}/`;
  const { browser, page } = await openStatusPage(url, { executablePath: browserPath() });
  cleanups.push(() => browser.close());
  const line = page.locator('.seganet-live p', { hasText: 'now and forecast' });
  const textOf = async () => ((await line.count()) === 1 ? ((await line.textContent()) ?? '') : '');
  /** @type {Set<string>} */
  const seen = new Set();
  await until(async () => seen.add(await textOf()) && /\(100.%\)/.test([...seen].at(-1) ?? ''), {
    what: 'a trusted forecast',
    within: 240000
  });
  expect([...seen].at(-1)).toBe('cloud, now and forecast: connected 100\u00a0% (100\u00a0%).');
  expect([...seen].some((text) => /connected 100.% \(not trusted: \d of 3 seasons seen\)/.test(text))).toBe(
    true
  );
});

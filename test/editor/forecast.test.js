'use strict';
// What the status page shows of a forecast, in a real browser.

const { needs } = require('../../bench/harness/tools');
const { startFlow } = require('../fixtures/gateway/deployed');
const { until } = require('../runtime/process');
const { browserPath, openStatusPage } = require('./support/editor');

const { test } = needs('chromium');
jest.setTimeout(300000);

const MINUTE_MS = 60000;

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Makes the values of the last hour, one a minute, of a season of four; the last one is an anomaly. */
const HISTORY = `const now = Date.now();
for (let ago = 59; ago >= 0; ago--) {
  const slot = Math.floor(now / ${MINUTE_MS}) - ago;
  const t = 10 + (slot % 4) * 5 + ((slot * 7) % 5) / 10;
  node.send({ deviceId: 'known', topic: 'plant/t', ts: slot * ${MINUTE_MS} + 1, payload: { t } });
}
node.send({ deviceId: 'known', topic: 'plant/t', ts: now, payload: { t: 90 } });
node.send({ deviceId: 'young', topic: 'plant/t', ts: now, payload: { t: 1 } });
node.send({ deviceId: 'other', topic: 'plant/t', ts: now, payload: { a: 1, t: 1 } });
node.send({ deviceId: 'none', topic: 'plant/t', ts: now, payload: 'text' });`;

test('a card has the band of its forecast, its anomalies, and why it is not trusted', async () => {
  const place = { z: 'tab', x: 0, y: 0, engine: 'gw' };
  const gateway = await startFlow([
    { id: 'tab', type: 'tab', label: 'forecast' },
    { id: 'gw', type: 'seganet-engine', workers: '1' },
    { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
    { ...place, id: 'once', type: 'inject', once: true, onceDelay: 1, props: [], wires: [['make']] },
    { ...place, id: 'make', type: 'function', func: HISTORY, outputs: 1, wires: [['in']] },
    { ...place, id: 'in', type: 'seganet-ingest', wires: [['judge']] },
    {
      ...place,
      id: 'judge',
      type: 'seganet-forecast',
      path: '$.t',
      periodS: '240',
      slots: '4',
      wires: [['out']]
    },
    { ...place, id: 'out', type: 'seganet-uplink', broker: 'broker', wires: [] }
  ]);
  cleanups.push(() => gateway.end('SIGKILL'));
  const url = `http://127.0.0.1:${gateway.adminPort}/`;
  const { browser, page } = await openStatusPage(url, { executablePath: browserPath() });
  cleanups.push(() => browser.close());

  const card = (/** @type {string} */ device) =>
    page.locator('.seganet-live li.value', { has: page.locator('.device', { hasText: device }) });
  const text = async (/** @type {string} */ device) => (await card(device).textContent()) ?? '';
  await until(async () => (await card('known').count()) === 1 && /anomalies/.test(await text('known')), {
    what: 'the cards'
  });
  expect(await text('known')).toMatch(
    /forecast \d+(\.\d+)? \(\d.* to \d.*\) · trusted · anomalies in the last hour: 1/
  );
  const drawn = (/** @type {string} */ device, /** @type {string} */ name) =>
    card(device).locator(`svg .${name}`).getAttribute('d');
  // 75 minutes, there and back.
  expect((await drawn('known', 'band'))?.split('L')).toHaveLength(150);
  expect((await drawn('known', 'expected'))?.split('L')).toHaveLength(75);
  expect(await drawn('known', 'anomalies')).toMatch(/^M(58|59|60)\.\d 1\.5h0\.01$/);
  expect(await card('known').locator('svg').getAttribute('viewBox')).toMatch(/^\d+ 0 \d+ 20$/);
  expect(await text('young')).toContain('no forecast yet · not trusted: 0 of 3 seasons seen');
  expect(await drawn('young', 'band')).toBe('');
  expect(await text('other')).toContain('not trusted: 0 of 3 seasons seen');
  expect(await text('none')).not.toMatch(/forecast|trusted/);
});

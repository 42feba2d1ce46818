'use strict';
// Asking a device to send more often, on the card of its value, in a real browser with a real device.

const mqtt = require('mqtt');
const { needs } = require('../../bench/harness/tools');
const { freePort, waitForPort } = require('../../bench/harness/net');
const { startFlow } = require('../fixtures/gateway/deployed');
const { until } = require('../runtime/process');
const { browserPath, openStatusPage } = require('./support/editor');

const { test } = needs('chromium');
jest.setTimeout(300000);

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test('a card asks the device to send more often, shows it, and ends it', async () => {
  const port = await freePort();
  const place = { z: 'tab', x: 0, y: 0, engine: 'gw' };
  const gateway = await startFlow([
    { id: 'tab', type: 'tab', label: 'demand' },
    { id: 'gw', type: 'seganet-engine', workers: '1' },
    { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
    { ...place, id: 'devices', type: 'seganet-mqtt-devices', port: String(port), wires: [['out']] },
    { ...place, id: 'ask', type: 'seganet-demand', devices: 'pump*', minEveryMs: '200', wires: [[]] },
    { ...place, id: 'out', type: 'seganet-uplink', broker: 'broker', wires: [] }
  ]);
  cleanups.push(() => gateway.end('SIGKILL'));
  await waitForPort(port);
  /** @type {string[]} */
  const commands = [];
  for (const device of ['pump-1', 'other']) {
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { clientId: device });
    cleanups.push(() => client.endAsync(true));
    client.on('message', (_topic, payload) => commands.push(`${device} ${payload}`));
    await client.subscribeAsync(`cmd/${device}/rate`, { qos: 1 });
    await client.publishAsync('plant/t', '{"t":1}', { qos: 1 });
  }
  const url = `http://127.0.0.1:${gateway.adminPort}/`;
  const { browser, page } = await openStatusPage(url, { executablePath: browserPath() });
  cleanups.push(() => browser.close());

  const card = (/** @type {string} */ device) =>
    page.locator('.seganet-live li.value', { has: page.locator('.device', { hasText: device }) });
  const faster = card('pump-1').locator('.faster');
  await until(async () => (await card('other').count()) === 1 && (await faster.isVisible()), {
    what: 'the cards'
  });
  expect(await card('other').locator('.faster').isVisible()).toBe(false);
  const [every, length] = await faster.locator('select').all();
  await faster.locator('summary').click();
  // As the demand node allows.
  expect(await every.locator('option').first().textContent()).toMatch(/250\sms/);
  await every.selectOption('250');
  await length.selectOption('600');
  // The page reads the values again; a choice must stay.
  await page.waitForResponse((response) => response.url().includes('/seganet/values?'));
  expect([await every.inputValue(), await length.inputValue()]).toEqual(['250', '600']);
  await faster.getByRole('button', { name: 'Ask' }).click();
  await until(async () => /each 250\sms until .*asked by 1/.test((await faster.textContent()) ?? ''), {
    what: 'the rate'
  });
  expect(commands).toEqual(['pump-1 {"everyMs":250,"forS":600}']);
  await faster.getByRole('button', { name: 'End my question' }).click();
  await until(() => commands.length === 2, { what: 'the normal rate' });
  expect(commands[1]).toBe('pump-1 {"everyMs":0}');
  await until(async () => !/each 250/.test((await faster.textContent()) ?? ''), { what: 'no rate' });
  expect(await faster.getByRole('button', { name: 'End my question' }).isVisible()).toBe(false);
});

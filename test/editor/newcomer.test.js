'use strict';
// A newcomer's way, in a real browser: the packed palette in an empty Node-RED, a flow built with the mouse, records of
// mqtt.js clients at a real mosquitto, and the figures in the sidebar and on the status page under load.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { chromium } = require('playwright-core');
const { startCloud } = require('../../bench/harness/cloud');
const { eventually, freePort, waitForPort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { ARGUMENTS, browserPath, errorsOf, openStatusPage } = require('./support/editor');
const { buildFlow, openSidebar } = require('./newcomer');
const { connectDevice, receive } = require('../fixtures/devices/device');
const { NodeRed, installPalette } = require('../fixtures/gateway/palette');

const { test } = needs('chromium', 'mosquitto');

const DEVICES = 30;

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}, 60000);

/** The texts of a table's column. @param {import('playwright-core').Page} page @param {string} section @param {number} number */
const column = (page, section, number) =>
  page.$$eval(`[data-section="${section}"] tbody tr > :nth-child(${number})`, (cells) =>
    cells.map(({ textContent }) => textContent ?? '')
  );

/** How far the page is wider than its window. @param {import('playwright-core').Page} page */
const overflow = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

test('leads from an empty Node-RED to records in the cloud, and to figures of them', async () => {
  const place = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-newcomer-'));
  cleanups.push(() => fs.rmSync(place, { recursive: true, force: true }));
  const userDir = await installPalette(place);
  const cloud = await startCloud();
  cleanups.push(() => cloud.close());
  const nodeRed = await NodeRed.start(userDir, { patienceMs: 180_000 });
  cleanups.push(() => nodeRed.stop());
  const url = `http://${nodeRed.address}/`;

  const browser = await chromium.launch({ executablePath: browserPath(), args: ARGUMENTS });
  cleanups.push(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1440, height: 800 } });
  const errors = errorsOf(page);
  const devicePort = await freePort();
  const ids = await buildFlow(page, {
    url,
    devicePort,
    brokerUrl: `mqtt://127.0.0.1:${cloud.plainPort}`,
    picture: async () => {}
  });
  const invalid = await page.evaluate(() => {
    /** @type {string[]} */
    const found = [];
    /** @type {any} */ (window).RED.nodes.eachNode(
      (/** @type {any} */ { type, valid }) => valid || found.push(type)
    );
    return found;
  });
  expect(invalid).toEqual([]);

  // The first record.
  await waitForPort(devicePort, '127.0.0.1', 30000);
  const receiver = await receive(cloud, '#');
  cleanups.push(() => receiver.close());
  const listener = { url: `mqtt://127.0.0.1:${devicePort}` };
  const first = await connectDevice(listener, 'pump-1');
  cleanups.push(() => first.endAsync(true));
  await first.publishAsync('d/pump-1/t', '{"t":21.5}', { qos: 1 });
  const record = await receiver.record((/** @type {any} */ { d }) => d === 'pump-1', 30000);
  expect(record).toMatchObject({ t: 'd/pump-1/t', c: 3, p: { t: 21.5 } });

  // Under load.
  const devices = await Promise.all(
    Array.from({ length: DEVICES }, (_, index) => connectDevice(listener, `meter-${index}`))
  );
  cleanups.push(() => Promise.all(devices.map((device) => device.endAsync(true))));
  const timer = setInterval(() => {
    for (const device of devices) device.publish('d/meter/v', '{"v":1}', { qos: 1 });
  }, 100);
  cleanups.push(() => clearInterval(timer));

  await openSidebar(page);
  await eventually(async () => (await page.textContent('.seganet-live .tiles'))?.includes(`${DEVICES + 1}`), {
    timeoutMs: 30000,
    what: 'the connected devices in the sidebar'
  });
  await page.evaluate((id) => {
    const { RED } = /** @type {any} */ (window);
    RED.view.select({ nodes: [RED.nodes.node(id)] });
  }, ids['seganet-priority']);
  const selected = async () => (await page.textContent('.seganet-live .selected')) ?? '';
  await eventually(async () => /[1-9].* records\/s in.*native and messages/.test(await selected()), {
    timeoutMs: 30000,
    what: 'the rates and wires of the priority node'
  });
  expect(errors).toEqual([]);

  for (const dark of [false, true]) {
    for (const width of [1100, 360]) {
      const opened = await openStatusPage(url, { executablePath: browserPath(), dark, width });
      try {
        // A phone has them folded.
        await opened.page.evaluate(() => {
          for (const name of ['devices', 'uplinks', 'classes'])
            document.querySelector(`details[data-section="${name}"]`)?.setAttribute('open', '');
        });
        const sees = (/** @type {string} */ what, /** @type {() => Promise<unknown>} */ check) =>
          eventually(check, { timeoutMs: 30000, what: `${what}, ${width} px, ${dark ? 'dark' : 'light'}` });
        await sees('devices', async () => (await column(opened.page, 'devices', 1)).includes('meter-0'));
        await sees('a connected uplink', async () =>
          (await column(opened.page, 'uplinks', 2)).every((state) => state === 'connected')
        );
        await sees(
          'that everything works',
          async () =>
            (await opened.page.textContent('.health')) === 'Everything works: records reach the cloud.'
        );
        await sees('delivered records', async () =>
          (await column(opened.page, 'classes', 2)).some((rate) => Number(rate) > 50)
        );
        expect([dark, width, await overflow(opened.page)]).toEqual([dark, width, 0]);
        expect(opened.errors).toEqual([]);
      } finally {
        await opened.browser.close();
      }
    }
  }
}, 600000);

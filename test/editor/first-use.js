'use strict';
// Measures a newcomer's way: the packed palette in an empty Node-RED, a flow built with the mouse, a broker with TLS,
// and the first record there. It needs chromium, mosquitto and openssl:
//
//   node native/node/run.js test/editor/first-use.js
//
// It prints the dialogs that opened, the clicks, the seconds, the errors of the browser's console, and the height of
// each dialog as it first opens, at 1400 x 900.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { chromium } = require('playwright-core');
const { startCloud } = require('../../bench/harness/cloud');
const { freePort, waitForPort } = require('../../bench/harness/net');
const { NodeRed, installPalette } = require('../fixtures/gateway/palette');
const { connectDevice, receive } = require('../fixtures/devices/device');
const { ARGUMENTS, browserPath, closeDialog, errorsOf, openDialog } = require('./support/editor');
const { addConfig } = require('./build-flow');
const { buildFlow } = require('./newcomer');
const manifest = require('../../package.json');

const VIEW = { width: 1400, height: 900 };
const TYPES = Object.keys(manifest['node-red'].nodes);

/** @typedef {import('playwright-core').Page} Page */

/** Counts clicks and dialogs from the start of the page on. @param {Page} page */
function count(page) {
  return page.addInitScript(() => {
    const seen = { clicks: 0, /** @type {string[]} */ dialogs: [] };
    Object.assign(window, { firstUse: seen });
    addEventListener('pointerdown', () => seen.clicks++, true);
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes)
        for (const node of addedNodes)
          if (node instanceof Element && node.matches('.red-ui-tray'))
            seen.dialogs.push(node.querySelector('.red-ui-tray-titlebar')?.textContent?.trim() ?? '');
    }).observe(document, { childList: true, subtree: true });
  });
}

/** @param {Page} page @param {string} type @returns {Promise<number>} pixels */
async function heightOf(page, type) {
  const { id, config } = await page.evaluate((name) => {
    const { RED } = /** @type {any} */ (window);
    if (RED.nodes.getType(name).category === 'config') return { id: '_ADD_', config: true };
    return { id: RED.nodes.add(RED.view.createNode(name, 100, 300).node).id, config: false };
  }, type);
  await openDialog(page, { id, type, config }, { unfolds: false });
  const form = config ? '#node-config-dialog-edit-form' : '#dialog-form';
  const height = await page.$eval(form, ({ scrollHeight }) => scrollHeight);
  await closeDialog(page, { config }, 'cancel');
  return height;
}

/** @param {Page} page @param {string} url of the editor @param {Awaited<ReturnType<typeof startCloud>>} cloud */
async function firstRecord(page, url, cloud) {
  const devicePort = await freePort();
  await buildFlow(page, {
    url,
    devicePort,
    brokerUrl: cloud.url,
    inBroker: () =>
      addConfig(page, 'tls', async () => {
        await page.check('#node-config-input-uselocalfiles');
        await page.fill('#node-config-input-ca', cloud.files.ca);
      }),
    picture: async () => {}
  });
  await waitForPort(devicePort, '127.0.0.1', 30000);
  const receiver = await receive(cloud, '#');
  const device = await connectDevice({ url: `mqtt://127.0.0.1:${devicePort}` }, 'pump-1');
  try {
    await device.publishAsync('d/pump-1/t', '{"t":21.5}', { qos: 1 });
    await receiver.record((/** @type {any} */ { d }) => d === 'pump-1', 30000);
  } finally {
    await device.endAsync(true);
    await receiver.close();
  }
}

async function main() {
  const place = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-first-use-'));
  /** @type {(() => unknown)[]} */
  const cleanups = [() => fs.rmSync(place, { recursive: true, force: true })];
  try {
    const userDir = await installPalette(place);
    const cloud = await startCloud();
    cleanups.push(() => cloud.close());
    const nodeRed = await NodeRed.start(userDir, { patienceMs: 180_000 });
    cleanups.push(() => nodeRed.stop());
    const browser = await chromium.launch({ executablePath: browserPath(), args: ARGUMENTS });
    cleanups.push(() => browser.close());
    const page = await browser.newPage({ viewport: VIEW });
    const errors = errorsOf(page);
    await count(page);
    const beganAt = performance.now();
    await firstRecord(page, `http://${nodeRed.address}/`, cloud);
    const seconds = (performance.now() - beganAt) / 1000;
    const { clicks, dialogs } = await page.evaluate(() => /** @type {any} */ (window).firstUse);
    console.log(`dialogs  ${dialogs.length}`);
    for (const title of dialogs) console.log(`         ${title}`);
    console.log(`clicks   ${clicks}`);
    console.log(`seconds  ${seconds.toFixed(1)}`);
    console.log(`errors   ${errors.length}`);
    for (const error of errors) console.log(`         ${error}`);
    console.log(`\nheight of each dialog, of ${VIEW.height} pixels`);
    for (const type of TYPES)
      console.log(`${String(await heightOf(page, type)).padStart(6)}  ${type.replace('seganet-', '')}`);
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup();
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});

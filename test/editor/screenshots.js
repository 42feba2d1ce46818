'use strict';

// Makes the pictures of the documentation:
//
//   node native/node/run.js test/editor/screenshots.js [--only=editor|status|scenarios|newcomer] [BROWSER]
//
// It starts a gateway with its demo and takes into docs/images: the default flow with live statuses (light, dark) and
// some dialogs (editor); the status page (light, and dark on a phone) and the sidebar (status). Without a demo, in a
// Node-RED with the packed palette: a flow that is built with the mouse (newcomer). Then it imports each scenario
// (scenarios), whose ports must be free: 1883 to 1888, 5020, 5683 and 8080.

const fs = require('fs');
const os = require('os');
const path = require('path');
const { chromium } = require('playwright-core');
const { startCloud } = require('../../bench/harness/cloud');
const { freePort, waitForPort } = require('../../bench/harness/net');
const { connectDevice } = require('../fixtures/devices/device');
const { NodeRed, installPalette } = require('../fixtures/gateway/palette');
const { ROOT, cleanUp } = require('../runtime/process');
const {
  ARGUMENTS,
  openEditor,
  openStatusPage,
  nodesOf,
  openDialog,
  closeDialog
} = require('./support/editor');
const { startDemo } = require('./support/gateway');
const { buildFlow, openSidebar } = require('./newcomer');
const { scenarioPictures } = require('./scenarios/pictures');

const FOLDER = path.join(ROOT, 'docs', 'images');
const DIALOGS = ['seganet-priority', 'seganet-uplink', 'seganet-engine'];
/** Brings the whole flow into view. */
const SIZE = { width: 1720, height: 660 };

/** @typedef {import('playwright-core').Page} Page */

/** Waits for a status that only an active gateway has. @param {Page} page */
async function live(page) {
  await page.waitForFunction(() => {
    const text = document.querySelector('#red-ui-workspace-chart')?.textContent ?? '';
    return /64 devices/.test(text) && /connected/.test(text) && /[1-9]\d*\/s in \d+ batches/.test(text);
  });
}

/** @param {Page} page @param {string} name */
async function picture(page, name) {
  const file = path.join(FOLDER, `${name}.png`);
  await page.screenshot({ path: file });
  console.log(path.relative(ROOT, file));
}

/** The editor and some dialogs. @param {string} url @param {string} executablePath */
async function editorPictures(url, executablePath) {
  for (const dark of [false, true]) {
    const { browser, page } = await openEditor(url, { executablePath, dark, ...SIZE });
    await page.locator('.red-ui-palette-node[data-palette-type="seganet-uplink"]').scrollIntoViewIfNeeded();
    await live(page);
    await picture(page, dark ? 'editor-dark' : 'editor');
    if (!dark) {
      const nodes = await nodesOf(page);
      for (const type of DIALOGS) {
        const node = nodes.find((each) => each.type === type);
        if (!node) continue;
        await openDialog(page, node);
        await picture(page, type);
        await closeDialog(page, node, 'cancel');
      }
    }
    await browser.close();
  }
}

/** Time in which the charts get a line. */
const CHART_MS = 90000;

/** The status page and the sidebar. @param {string} url @param {string} executablePath */
async function statusPictures(url, executablePath) {
  const sizes = [
    { name: 'status-page', width: 1280, height: 1250, dark: false },
    { name: 'status-page-phone', width: 390, height: 844, dark: true }
  ];
  const pages = [];
  for (const { name, ...size } of sizes) {
    const { browser, page } = await openStatusPage(url, { executablePath, ...size });
    await page.waitForSelector('[data-section=values] .value');
    pages.push({ name, browser, page });
  }
  const { browser, page } = await openEditor(url, { executablePath, width: 1440, height: 900 });
  await page.evaluate(() => {
    const { RED } = /** @type {any} */ (window);
    RED.sidebar.show('seganet-sidebar');
    const [node] = RED.nodes.filterNodes({ type: 'seganet-priority' });
    RED.view.select({ nodes: [node] });
  });
  await live(page);
  // Without the debug section the tab has the whole height.
  await page.click('button[data-tab-id="debug"]');
  // No tooltip in the picture.
  await page.mouse.move(600, 600);
  await page.waitForFunction(() =>
    /native/.test(document.querySelector('.seganet-live .selected')?.textContent ?? '')
  );
  await picture(page, 'sidebar');
  await browser.close();
  await new Promise((resolve) => setTimeout(resolve, CHART_MS));
  for (const each of pages) {
    await picture(each.page, each.name);
    if (each.name === 'status-page') {
      const charts = each.page.locator('[data-section=charts]');
      await charts.scrollIntoViewIfNeeded();
      const file = path.join(FOLDER, 'status-page-charts.png');
      await charts.screenshot({ path: file });
      console.log(path.relative(ROOT, file));
    }
    await each.browser.close();
  }
}

/** A newcomer's flow: wired, in a dialog, and with live statuses and the sidebar. @param {string} executablePath */
async function newcomerPictures(executablePath) {
  const place = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-newcomer-'));
  const cloud = await startCloud();
  const nodeRed = await NodeRed.start(await installPalette(place), { patienceMs: 180_000 });
  const browser = await chromium.launch({ executablePath, args: ARGUMENTS });
  try {
    const page = await browser.newPage({ viewport: { width: 1480, height: 560 } });
    const devicePort = await freePort();
    const ids = await buildFlow(page, {
      url: `http://${nodeRed.address}/`,
      devicePort,
      brokerUrl: `mqtt://127.0.0.1:${cloud.plainPort}`,
      picture
    });
    await waitForPort(devicePort, '127.0.0.1', 60000);
    const listener = { url: `mqtt://127.0.0.1:${devicePort}` };
    const names = Array.from({ length: 20 }, (_, index) => `meter-${index}`);
    const devices = await Promise.all(names.map((name) => connectDevice(listener, name)));
    const timer = setInterval(() => {
      for (const device of devices) device.publish('d/meter/v', '{"v":1}', { qos: 1 });
    }, 100);
    await openSidebar(page);
    await page.evaluate((id) => {
      const { RED } = /** @type {any} */ (window);
      RED.view.select({ nodes: [RED.nodes.node(id)] });
    }, ids['seganet-batch']);
    await page.waitForFunction(
      () =>
        /native/.test(document.querySelector('.seganet-live .selected')?.textContent ?? '') &&
        /\/s in \d+ batches.*[^s]connected/.test(
          document.querySelector('#red-ui-workspace-chart')?.textContent ?? ''
        )
    );
    await picture(page, 'newcomer-running');
    clearInterval(timer);
    await Promise.all(devices.map((device) => device.endAsync(true)));
  } finally {
    await browser.close();
    await nodeRed.stop();
    await cloud.close();
    fs.rmSync(place, { recursive: true, force: true });
  }
}

/** @param {string[]} args */
async function main(args) {
  const only = args.find((each) => each.startsWith('--only='))?.slice('--only='.length);
  const executablePath = args.find((each) => !each.startsWith('--')) ?? '/usr/bin/chromium';
  fs.mkdirSync(FOLDER, { recursive: true });
  const wants = (/** @type {string} */ name) => only === undefined || only === name;
  if (wants('newcomer')) await newcomerPictures(executablePath);
  if (wants('editor') || wants('status')) {
    const { url } = await startDemo();
    if (wants('editor')) await editorPictures(url, executablePath);
    if (wants('status')) await statusPictures(url, executablePath);
  }
  if (wants('scenarios')) await scenarioPictures(path.join(FOLDER, 'scenarios'));
}

main(process.argv.slice(2))
  .catch((error) => {
    console.error(error);
    process.exitCode = 1;
  })
  .finally(cleanUp);

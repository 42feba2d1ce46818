'use strict';

// Makes the pictures of the documentation:
//
//   node native/node/run.js test/editor/screenshots.js [--only=PART] [BROWSER]
//
// PART   what is taken into docs/images
// editor     of a gateway with its demo: the default flow with live statuses, in light, dark and German
// dialogs    the dialog of each node
// status     of the demo: the status page in light, dark, German and on a phone, its charts, and the sidebar
// directory  the directory with an answer
// tenants    of the demo of tenants: the operator's section
// newcomer   in a Node-RED with the packed palette: a flow that is built with the mouse
// scenarios  each scenario after its import; ports that must be free: 1883 to 1888, 5020, 5683 and 8080

const fs = require('fs');
const os = require('os');
const path = require('path');
const { chromium } = require('playwright-core');
const { startCloud } = require('../../bench/harness/cloud');
const { freePort, waitForPort } = require('../../bench/harness/net');
const { connectDevice } = require('../fixtures/devices/device');
const { NodeRed, installPalette } = require('../fixtures/gateway/palette');
const { cleanUp } = require('../runtime/process');
const { dialogPictures, editorPictures, germanPictures } = require('./pictures/editor-pictures');
const { directoryPicture, statusPictures, tenantsPicture } = require('./pictures/page-pictures');
const { picture } = require('./pictures/picture');
const { ARGUMENTS } = require('./support/editor');
const { startDemo } = require('./support/gateway');
const { buildFlow, openSidebar } = require('./newcomer');
const { scenarioPictures } = require('./scenarios/pictures');

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

/** Of these, the first three use one demo. */
const PARTS = ['editor', 'dialogs', 'status', 'directory', 'tenants', 'newcomer', 'scenarios'];

/** @param {string[]} args */
async function main(args) {
  const only = args.find((each) => each.startsWith('--only='))?.slice('--only='.length);
  const executablePath = args.find((each) => !each.startsWith('--')) ?? '/usr/bin/chromium';
  if (only !== undefined && !PARTS.includes(only)) throw new Error(`--only is one of ${PARTS.join(', ')}.`);
  const wants = (/** @type {string} */ name) => only === undefined || only === name;
  if (PARTS.slice(0, 3).some(wants)) {
    const { url } = await startDemo();
    if (wants('editor')) await editorPictures(url, executablePath);
    if (wants('dialogs')) await dialogPictures(url, executablePath);
    if (wants('status')) await statusPictures(url, executablePath);
  }
  if (wants('editor')) await germanPictures(executablePath);
  if (wants('directory')) await directoryPicture(executablePath);
  if (wants('tenants')) await tenantsPicture(executablePath);
  if (wants('newcomer')) await newcomerPictures(executablePath);
  if (wants('scenarios')) await scenarioPictures();
}

main(process.argv.slice(2))
  .catch((error) => {
    console.error(error);
    process.exitCode = 1;
  })
  .finally(async () => {
    await cleanUp();
    // Browsers of a part that failed end with this process.
    process.exit();
  });

'use strict';

// Pictures of the pages: the status page with its charts, the sidebar, the directory, and the tenants of an operator.

const { freePort } = require('../../../bench/harness/net');
const { startFlow } = require('../../fixtures/gateway/deployed');
const { ROOT, cleanEnvironment, run, temporaryFolder } = require('../../runtime/process');
const { openEditor, openStatusPage } = require('../support/editor');
const { live } = require('./editor-pictures');
const { picture, pictureOf } = require('./picture');

/** Time in which the charts get a line. */
const CHART_MS = 90000;

/** The status page and the sidebar. @param {string} url @param {string} executablePath */
async function statusPictures(url, executablePath) {
  const sizes = [
    { name: 'status-page', width: 1280, height: 1250 },
    { name: 'status-page-dark', width: 1280, height: 1250, dark: true },
    { name: 'status-page-german', width: 1280, height: 1250, locale: 'de-DE' },
    { name: 'status-page-phone', width: 390, height: 844, dark: true }
  ];
  const pages = [];
  for (const { name, ...size } of sizes) {
    const { browser, page } = await openStatusPage(url, { executablePath, ...size });
    await page.waitForSelector('[data-section=values] .value');
    pages.push({ name, browser, page });
  }
  await sidebarPicture(url, executablePath);
  await new Promise((resolve) => setTimeout(resolve, CHART_MS));
  for (const { name, browser, page } of pages) {
    await picture(page, name);
    if (name === 'status-page') await pictureOf(page, 'status-page-charts', '[data-section=charts]');
    await browser.close();
  }
}

/** @param {string} url @param {string} executablePath */
async function sidebarPicture(url, executablePath) {
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
}

/** The directory of a house, with an answer. @param {string} executablePath */
async function directoryPicture(executablePath) {
  const rooms = [101, 102, 103, 104, 105];
  const readings = rooms.flatMap((room) => [
    { device: `th-${room}`, payload: { temperature: room / 5, humidity: room - 60 } },
    { device: `co2-${room}`, payload: { co2: 400 + room } }
  ]);
  const rule = { room: '{1}' };
  const rules = [
    { ...rule, device: 'th-*', type: 'saref:TemperatureSensor', unit: '°C' },
    { ...rule, device: 'co2-*', unit: 'ppm' }
  ];
  const gateway = await startFlow(
    [
      { id: 'tab', type: 'tab', label: 'house' },
      { id: 'engine', type: 'seganet-engine', workers: '1' },
      { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
      { id: 'out', z: 'tab', type: 'seganet-uplink', engine: 'engine', broker: 'broker', wires: [] },
      {
        id: 'find',
        z: 'tab',
        type: 'seganet-find',
        name: 'house',
        engine: 'engine',
        rules: JSON.stringify(rules),
        wires: [[]]
      },
      ...readings.map(({ device, payload }, index) => ({
        id: `device-${index}`,
        z: 'tab',
        type: 'inject',
        once: true,
        onceDelay: 0.1,
        props: [
          { p: 'payload', v: JSON.stringify(payload), vt: 'json' },
          { p: 'deviceId', v: device, vt: 'str' }
        ],
        wires: [['find']]
      }))
    ],
    temporaryFolder()
  );
  try {
    const { browser, page } = await openStatusPage(`http://127.0.0.1:${gateway.adminPort}/`, {
      executablePath,
      query: 'directory.html',
      width: 1000,
      height: 820
    });
    await page.waitForSelector('[data-section=things] th >> text=th-105');
    await page.fill('#seganet-question-property', 'temperature');
    await page.fill('#seganet-question-room', '105');
    await page.click('.question [type=submit]');
    await page.waitForSelector('.tiles:not([hidden])');
    await picture(page, 'directory');
    await browser.close();
  } finally {
    await gateway.stop();
  }
}

/** The tenants of the demo, as their operator sees them. @param {string} executablePath */
async function tenantsPicture(executablePath) {
  const [port, editorPort, pagesPort] = [await freePort(), await freePort(), await freePort()];
  const demo = run(
    process.execPath,
    [
      ...[`${ROOT}/flows/demo/tenants/main.js`, '--port', `${port}`, '--editor-port', `${editorPort}`],
      ...['--pages-port', `${pagesPort}`, '--sleep', '600']
    ],
    { env: cleanEnvironment() }
  );
  await demo.says(/the devices are silent now/);
  const { browser, page } = await openStatusPage(`http://127.0.0.1:${editorPort}/`, {
    executablePath,
    width: 1100,
    height: 900
  });
  const section = '[data-section=tenants]';
  await page.click(`${section} th button >> text=acme`);
  await page.waitForSelector(`${section} .tenant:not([hidden])`);
  await pictureOf(page, 'tenants', section);
  await browser.close();
  demo.child.kill('SIGTERM');
  await demo.ended;
}

module.exports = { directoryPicture, statusPictures, tenantsPicture };

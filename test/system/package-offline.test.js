'use strict';
// The packed package in a plain Node-RED: installed by npm with --offline and without scripts, with the dependencies in
// npm's cache, or by the upload in the editor, with a registry on loopback, it carries a record from an MQTT device to
// mosquitto.
//
// The Nodes of other platforms need what the header of prebuilds.test.js lists; the others need mosquitto.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { chromium } = require('playwright-core');
const { startCloud } = require('../../bench/harness/cloud');
const { freePort, waitForPort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { connectDevice, receive } = require('../fixtures/devices/device');
const { NodeRed, install, installFromRegistry } = require('../fixtures/gateway/palette');
const { startRegistry } = require('../fixtures/gateway/registry');
const { nodeOf, prebuilt } = require('./prebuilds/platforms');

const { describe } = needs('mosquitto');

/** An emulated Node-RED starts in half a minute on a free machine. */
const PATIENCE_MS = 300_000;
const TYPES = Object.keys(require('../../package.json')['node-red'].nodes);

/** @param {number} port of the devices @param {number} brokerPort */
function flow(port, brokerPort) {
  const place = { z: 'tab', x: 0, y: 0, engine: 'gateway' };
  return [
    { id: 'tab', type: 'tab', label: 'palette' },
    { id: 'gateway', type: 'seganet-engine', workers: '1' },
    {
      id: 'broker',
      type: 'seganet-uplink-broker',
      url: `mqtt://127.0.0.1:${brokerPort}`,
      protocolVersion: '5'
    },
    {
      ...place,
      id: 'devices',
      type: 'seganet-mqtt-devices',
      host: '127.0.0.1',
      port: String(port),
      version: 2,
      wires: [['batch']]
    },
    { ...place, id: 'batch', type: 'seganet-batch', minDevices: '0', wires: [['uplink']] },
    { ...place, id: 'uplink', type: 'seganet-uplink', broker: 'broker', wires: [] }
  ];
}

/** @returns {string} the browser in the PATH */
function browserPath() {
  const files = (process.env.PATH ?? '').split(path.delimiter).map((folder) => path.join(folder, 'chromium'));
  return files.find((file) => fs.existsSync(file)) ?? 'chromium';
}

/** Installs the tarball as a user does in a browser. @param {string} url of the editor @param {string} tarball */
async function uploadInEditor(url, tarball) {
  const browser = await chromium.launch({ executablePath: browserPath(), args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 800 } });
    page.setDefaultTimeout(120_000);
    await page.goto(url);
    await page.waitForSelector('.red-ui-palette-node[data-palette-type="inject"]');
    expect(await page.$('.red-ui-palette-node[data-palette-type^="seganet-"]')).toBe(null);
    await page.evaluate(() => /** @type {any} */ (globalThis).RED.actions.invoke('core:manage-palette'));
    await page.click('#red-ui-settings-tab-palette .red-ui-tab:has-text("Install")');
    await page.setInputFiles('#red-ui-palette-editor-upload-form input', tarball);
    const [response] = await Promise.all([
      page.waitForResponse((each) => each.request().method() === 'POST' && each.url().endsWith('/nodes'), {
        timeout: PATIENCE_MS
      }),
      page.click('.red-ui-palette-editor-upload-buttons .primary')
    ]);
    if (!response.ok())
      throw new Error(`The upload was answered ${response.status()}: ${await response.text()}`);
    await page.waitForSelector('.red-ui-palette-node[data-palette-type="seganet-uplink"]', {
      state: 'attached'
    });
  } finally {
    await browser.close();
  }
}

describe('the package, installed offline and without scripts', () => {
  const place = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-offline-'));
  /** @type {import('../../bench/harness/cloud').Cloud} */
  let cloud;
  /** @type {string} */
  let userDir;

  /** @type {Awaited<ReturnType<typeof installFromRegistry>>} */
  let packed;

  beforeAll(async () => {
    packed = await installFromRegistry(place);
    userDir = path.join(place, 'offline');
    await install(userDir, packed.tarball, [...packed.options, '--offline']);
    cloud = await startCloud();
  }, PATIENCE_MS);
  afterAll(async () => {
    await cloud?.close();
    fs.rmSync(place, { recursive: true, force: true });
  });

  /** All nodes are registered, and a deployed flow carries a record. @param {NodeRed} nodeRed */
  async function carriesRecord(nodeRed) {
    const headers = { Accept: 'application/json' };
    const response = await fetch(`http://${nodeRed.address}/nodes`, { headers });
    const sets = /** @type {any[]} */ (await response.json()).filter(
      ({ module }) => module === '@seganet/node-red-gateway'
    );
    expect(sets.filter(({ enabled, err }) => !enabled || err)).toEqual([]);
    expect(sets.flatMap(({ types }) => types).sort()).toEqual([...TYPES].sort());

    const port = await freePort();
    await nodeRed.deploy(flow(port, cloud.plainPort));
    const receiver = await receive(cloud);
    await waitForPort(port, '127.0.0.1', PATIENCE_MS).catch((error) => {
      throw new Error(`${error.message}\n${JSON.stringify([...nodeRed.statuses])}\n${nodeRed.child.output}`);
    });
    const device = await connectDevice({ url: `mqtt://127.0.0.1:${port}` }, 'pump-1');
    await device.publishAsync('d/pump-1/t', '{"t":21.5}', { qos: 1 });
    const record = await receiver.record(({ d }) => d === 'pump-1', 60_000);
    expect(record).toMatchObject({ t: 'd/pump-1/t', s: 0, c: 3, p: { t: 21.5 } });
    await device.endAsync(true);
    await receiver.close();
  }

  /** @param {string[]} node command that starts Node */
  async function carriesRecordIn(node) {
    fs.rmSync(path.join(userDir, 'flows.json'), { force: true }); // of the test before
    const nodeRed = await NodeRed.start(userDir, { node, patienceMs: PATIENCE_MS });
    try {
      await carriesRecord(nodeRed);
    } finally {
      expect(await nodeRed.stop()).toMatchObject({ code: 0 });
    }
  }

  test('carries a record in this Node', () => carriesRecordIn([process.execPath]), PATIENCE_MS);

  describe.each(['linuxmusl-x64', 'linux-arm64'])('%s', (target) => {
    const { command, tools } = nodeOf(target);
    const { test: testRun } = needs(prebuilt(target), ...tools);
    testRun('carries a record in a Node of this platform', () => carriesRecordIn(command), PATIENCE_MS);
  });

  const { test: testUpload } = needs('chromium');
  testUpload(
    'carries a record after the upload in the palette manager',
    async () => {
      const uploaded = path.join(place, 'uploaded');
      fs.mkdirSync(uploaded);
      // Not offline: the palette manager runs npm with --engine-strict, which asks for the same packages twice at the
      // same time, and then npm may lose them from its cache.
      const registry = await startRegistry();
      const npmrc = [
        `registry=${registry.url}`,
        `cache=${path.join(uploaded, 'cache')}`,
        'ignore-scripts=true'
      ];
      fs.writeFileSync(path.join(uploaded, '.npmrc'), `${npmrc.join('\n')}\n`);
      const nodeRed = await NodeRed.start(uploaded);
      try {
        await uploadInEditor(`http://${nodeRed.address}`, packed.tarball).catch((error) => {
          throw new Error(`${error.message}\n${nodeRed.child.output}`);
        });
        await carriesRecord(nodeRed);
      } finally {
        expect(await nodeRed.stop()).toMatchObject({ code: 0 });
        registry.close();
      }
    },
    2 * PATIENCE_MS
  );
});

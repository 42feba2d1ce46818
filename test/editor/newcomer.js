'use strict';
// What a newcomer does in a Node-RED that has the palette and nothing else: from the empty canvas to devices whose
// records arrive in the cloud. The test takes these steps, and so do some pictures of the documentation.

const { deploy, dragNode, inDialog, addConfig, openEmptyEditor, wire } = require('./build-flow');

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {(page: Page, name: string) => Promise<unknown>} Picture takes a picture */

/** Five nodes and their places on the canvas. */
const NODES = [
  ['seganet-mqtt-devices', { x: 140, y: 140 }],
  ['seganet-priority', { x: 340, y: 140 }],
  ['seganet-batch', { x: 520, y: 140 }],
  ['seganet-uplink', { x: 700, y: 140 }],
  ['debug', { x: 540, y: 240 }]
];
const WIRES = [
  ['seganet-mqtt-devices', 'seganet-priority'],
  ['seganet-priority', 'seganet-batch'],
  ['seganet-batch', 'seganet-uplink'],
  ['seganet-priority', 'debug']
];

/**
 * Makes and deploys the flow.
 * @param {Page} page
 * @param {{ url: string, devicePort: number, brokerUrl: string, inBroker?: () => Promise<void>, picture: Picture }}
 *   options url: of the editor; inBroker: fills in more of the broker's dialog
 * @returns {Promise<Record<string, string>>} ids of the nodes by type
 */
async function buildFlow(page, { url, devicePort, brokerUrl, inBroker = async () => {}, picture }) {
  await openEmptyEditor(page, url);
  /** @type {Record<string, string>} */
  const ids = {};
  for (const [type, place] of /** @type {[string, { x: number, y: number }][]} */ (NODES))
    ids[type] = await dragNode(page, type, place);
  for (const [from, to] of WIRES) await wire(page, ids[from], ids[to]);
  await page.locator('.red-ui-palette-node[data-palette-type="seganet-uplink"]').scrollIntoViewIfNeeded();
  await picture(page, 'newcomer-wired');

  await inDialog(page, ids['seganet-uplink'], async () => {
    await addConfig(page, 'engine');
    await addConfig(page, 'broker', async () => {
      await page.fill('#node-config-input-url', brokerUrl);
      await inBroker();
    });
    await picture(page, 'newcomer-uplink');
  });
  // The other nodes have the engine by now. Port 1883 may be in use on this machine.
  await inDialog(page, ids['seganet-mqtt-devices'], () => page.fill('#node-input-port', String(devicePort)));
  await deploy(page);
  return ids;
}

/** Shows the sidebar with the status of the gateway. @param {Page} page */
async function openSidebar(page) {
  await page.evaluate(() => /** @type {any} */ (window).RED.sidebar.show('seganet-sidebar'));
  await page.waitForFunction(() => document.querySelector('.seganet-live .state')?.textContent === 'live');
}

module.exports = { buildFlow, openSidebar };

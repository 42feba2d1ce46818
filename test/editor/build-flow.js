'use strict';
// Builds a flow in the editor with the mouse, as a newcomer does: nodes from the palette, wires between ports, dialogs,
// Deploy.

const { settled } = require('./support/editor');

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {{ x: number, y: number }} Point */

/** Opens an editor that may have an empty flow, without its tips. @param {Page} page @param {string} url */
async function openEmptyEditor(page, url) {
  await page.goto(url);
  await page.waitForSelector('.red-ui-palette-node[data-palette-type="seganet-uplink"]', {
    state: 'attached'
  });
  await page.waitForFunction(() => /** @type {any} */ (window).RED?.workspaces?.active());
}

/** @param {Page} page @param {string} selector @returns {Promise<Point>} its middle, in the window */
async function middleOf(page, selector) {
  const element = page.locator(selector).first();
  await element.scrollIntoViewIfNeeded();
  const box = await element.boundingBox();
  if (!box) throw new Error(`${selector} is not visible`);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** Moves the mouse with the button pressed. @param {Page} page @param {Point} from @param {Point} to */
async function drag(page, from, to) {
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move((from.x + to.x) / 2, (from.y + to.y) / 2, { steps: 8 });
  await page.mouse.move(to.x, to.y, { steps: 8 });
  await page.mouse.up();
}

/**
 * Drags a node from the palette onto the canvas.
 * @param {Page} page @param {string} type @param {Point} to from the upper left corner of the canvas
 * @returns {Promise<string>} its id
 */
async function dragNode(page, type, to) {
  const ids = () =>
    page.evaluate(() => {
      /** @type {string[]} */
      const all = [];
      /** @type {any} */ (window).RED.nodes.eachNode((/** @type {any} */ { id }) => all.push(id));
      return all;
    });
  const before = await ids();
  const canvas = await page.locator('#red-ui-workspace-chart').boundingBox();
  if (!canvas) throw new Error('there is no canvas');
  const from = await middleOf(page, `.red-ui-palette-node[data-palette-type="${type}"]`);
  await drag(page, from, { x: canvas.x + to.x, y: canvas.y + to.y });
  const added = (await ids()).filter((id) => !before.includes(id));
  if (added.length !== 1) throw new Error(`dragging ${type} added ${added.length} nodes`);
  return added[0];
}

/**
 * Drags a wire from the output of a node to the input of another.
 * @param {Page} page @param {string} from @param {string} to
 */
async function wire(page, from, to) {
  const port = (/** @type {string} */ id, /** @type {string} */ kind) =>
    middleOf(page, `[id="${id}"] .red-ui-flow-port-${kind} .red-ui-flow-port`);
  await drag(page, await port(from, 'output'), await port(to, 'input'));
  const isWired = await page.evaluate(
    ([source, target]) =>
      /** @type {any} */ (window).RED.nodes.filterLinks({ source: { id: source }, target: { id: target } })
        .length === 1,
    [from, to]
  );
  if (!isWired) throw new Error(`the wire from ${from} to ${to} was not drawn`);
}

/**
 * Opens the dialog of a node with a double click, fills it, and closes it with Done.
 * @param {Page} page @param {string} id @param {() => Promise<void>} fill
 */
async function inDialog(page, id, fill) {
  const { x, y } = await middleOf(page, `[id="${id}"] .red-ui-flow-node`);
  await page.mouse.dblclick(x, y);
  await page.waitForSelector('#dialog-form', { state: 'visible' });
  await settled(page, '.red-ui-tray');
  await fill();
  await page.click('#node-dialog-ok');
  await page.waitForSelector('.red-ui-tray', { state: 'detached' });
}

/**
 * In the dialog of a node: adds a configuration node, fills its dialog, and closes it with Add.
 * @param {Page} page @param {string} property @param {() => Promise<void>} [fill]
 */
async function addConfig(page, property, fill = async () => {}) {
  // A dialog above another one takes its place, and gives it back.
  const below = `.red-ui-tray[data-below="${property}"]`;
  const above = `.red-ui-tray:not([data-below="${property}"])`;
  await page.$eval('.red-ui-tray', (tray, name) => tray.setAttribute('data-below', name), property);
  const ids = ['input', 'config-input'].flatMap((prefix) => [
    `#node-${prefix}-btn-${property}-add`,
    `#node-${prefix}-lookup-${property}`
  ]);
  await page.click(ids.join(', '));
  await page.waitForSelector(`${above} #node-config-dialog-edit-form`, { state: 'visible' });
  await settled(page, above);
  await fill();
  await page.click(`${above} #node-config-dialog-ok`);
  await page.waitForSelector(above, { state: 'detached' });
  await settled(page, below);
}

/** Clicks Deploy and waits for the notification of success. @param {Page} page */
async function deploy(page) {
  await page.click('#red-ui-header-button-deploy');
  await page.waitForSelector('.red-ui-notification-success', { timeout: 60000 });
}

module.exports = { openEmptyEditor, dragNode, wire, inDialog, addConfig, deploy };

'use strict';

// Pictures of the editor: the shipped flow with live statuses, and the dialog of each node.

const { openEditor, openDialog, closeDialog, settled } = require('../support/editor');
const { startDemo } = require('../support/gateway');
const { picture } = require('./picture');
const manifest = require('../../../package.json');

/** Brings the whole flow into view. */
const SIZE = { width: 1720, height: 660 };
/** No tooltip, and no list of rules that grows with the window. */
const STYLE = `.red-ui-popover { display: none !important; }
.red-ui-editableList-container { max-height: 200px !important; min-height: 0 !important; }`;
const DIALOG_SIZE = { width: 1100, height: 900 };
/** Below the form of a dialog. */
const FOOT = 110;
const MARGIN = 12;
const PALETTE = '.red-ui-palette-node[data-palette-type="seganet-uplink"]';

/** @typedef {import('playwright-core').Page} Page */

/** Waits for statuses that only an active gateway has. @param {Page} page @param {RegExp[]} [shown] */
async function live(page, shown = [/64 devices/, /connected/, /[1-9]\d*\/s in \d+ batches/]) {
  for (const { source } of shown)
    await page.waitForFunction(
      (pattern) =>
        new RegExp(pattern).test(document.querySelector('#red-ui-workspace-chart')?.textContent ?? ''),
      source
    );
}

/** The shipped flow. @param {string} url @param {string} executablePath */
async function editorPictures(url, executablePath) {
  for (const dark of [false, true]) {
    const { browser, page } = await openEditor(url, { executablePath, dark, ...SIZE });
    await page.locator(PALETTE).scrollIntoViewIfNeeded();
    await live(page);
    await picture(page, dark ? 'editor-dark' : 'editor');
    await browser.close();
  }
}

/** The shipped flow of a gateway in German. @param {string} executablePath */
async function germanPictures(executablePath) {
  const { url, gateway } = await startDemo({ SEGANET_LANGUAGE: 'de' });
  const { browser, page } = await openEditor(url, { executablePath, locale: 'de-DE', ...SIZE });
  await page.locator(PALETTE).scrollIntoViewIfNeeded();
  await live(page, [/64 Geräte/, /verbunden/, /[1-9]\d*\/s in \d+ Batches/]);
  await picture(page, 'editor-german');
  await browser.close();
  gateway.child.kill('SIGTERM');
  await gateway.ended;
}

/** Runs in the page: the place of a form to its last row. @param {Element} form @param {number} margin */
function boxOf(form, margin) {
  const rows = [...form.querySelectorAll('.form-row, summary')];
  const bottom = Math.max(...rows.map((row) => row.getBoundingClientRect().bottom));
  const { x, y, width } = form.getBoundingClientRect();
  return { x: x - margin, y: y - margin, width: width + 2 * margin, height: bottom - y + 2 * margin };
}

/**
 * The dialog of each node as it is when the node is new, with all of its folds open.
 * @param {string} url
 * @param {string} executablePath
 */
async function dialogPictures(url, executablePath) {
  const { browser, page } = await openEditor(url, { executablePath, ...DIALOG_SIZE });
  await page.addStyleTag({ content: STYLE });
  for (const type of Object.keys(manifest['node-red'].nodes)) {
    const config = await page.evaluate(
      (name) => /** @type {any} */ (window).RED.nodes.getType(name).category === 'config',
      type
    );
    const id = await page.evaluate(([name, isConfig]) => {
      const { RED } = /** @type {any} */ (window);
      if (isConfig) return '_ADD_';
      return RED.nodes.add(RED.view.createNode(name, 400, 100).node, { source: 'palette' }).id;
    }, /** @type {const} */ ([type, config]));
    const node = { id, type, config };
    await openDialog(page, node);
    const form = page.locator(config ? '#node-config-dialog-edit-form' : '#dialog-form');
    const { y, height } = await form.evaluate(boxOf, MARGIN);
    if (y + height + FOOT > DIALOG_SIZE.height)
      await page.setViewportSize({ ...DIALOG_SIZE, height: Math.ceil(y + height + FOOT) });
    await settled(page, '.red-ui-tray');
    const clip = await form.evaluate(boxOf, MARGIN);
    await picture(page, `dialogs/${type}`, clip);
    await closeDialog(page, node, 'cancel');
    await page.setViewportSize(DIALOG_SIZE);
  }
  await browser.close();
}

module.exports = { dialogPictures, editorPictures, germanPictures, live };

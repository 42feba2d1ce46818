'use strict';

// Makes the pictures of the documentation:  node flows/launcher/run.js test/editor/screenshots.js [BROWSER]
//
// It starts a gateway with its demo and takes the default flow with live statuses (light and dark) and some dialogs
// into docs/images.

const fs = require('fs');
const path = require('path');
const { ROOT, cleanUp } = require('../runtime/process');
const { openEditor, nodesOf, openDialog, closeDialog } = require('./editor');
const { startDemo } = require('./gateway');

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

/** @param {string} executablePath */
async function main(executablePath) {
  fs.mkdirSync(FOLDER, { recursive: true });
  const { url } = await startDemo();
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

main(process.argv[2] ?? '/usr/bin/chromium')
  .catch((error) => {
    console.error(error);
    process.exitCode = 1;
  })
  .finally(cleanUp);

'use strict';

// Imports examples as a user does: the dialog "Import nodes", its tab "Examples", Deploy.

/** @typedef {import('playwright-core').Page} Page */

const PACKAGE = '@seganet/node-red-gateway';
const DIALOG = '#red-ui-clipboard-dialog-import-tab-examples';

/**
 * Imports one example with the dialog.
 * @param {Page} page
 * @param {string[]} where the folders below the package, and the example
 */
async function importExample(page, where) {
  await page.click('#red-ui-header-button-sidemenu');
  await page.click('#red-ui-header-button-sidemenu-submenu >> text=Import');
  await page.click('#red-ui-clipboard-dialog-import-tabs >> text=Examples');
  for (const name of [PACKAGE, ...where]) {
    await page.locator(`${DIALOG} .red-ui-treeList-label-text`).getByText(name, { exact: true }).click();
  }
  await page.waitForFunction(
    () =>
      !(
        /** @type {HTMLButtonElement | null} */ (document.querySelector('#red-ui-clipboard-dialog-ok'))
          ?.disabled
      )
  );
  await page.click('#red-ui-clipboard-dialog-ok');
  await page.waitForSelector('#red-ui-clipboard-dialog', { state: 'hidden' });
}

/** Presses Deploy, and waits until the runtime has the flow. @param {Page} page */
async function deploy(page) {
  const answer = page.waitForResponse(
    (response) => response.request().method() === 'POST' && /\/flows$/.test(response.url())
  );
  await page.click('#red-ui-header-button-deploy');
  const response = await answer;
  if (!response.ok()) throw new Error(`Deploy got ${response.status()}: ${await response.text()}`);
}

/** Deletes a tab by its label. @param {Page} page @param {string} label */
async function deleteTab(page, label) {
  await page.evaluate((name) => {
    const { RED } = /** @type {any} */ (window);
    RED.nodes.eachWorkspace((/** @type {any} */ tab) => {
      if (tab.label === name) RED.workspaces.delete(tab);
    });
  }, label);
}

module.exports = { importExample, deploy, deleteTab };

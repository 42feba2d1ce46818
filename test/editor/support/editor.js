'use strict';

// Drives Node-RED's editor in a real browser.

const fs = require('fs');
const path = require('path');
const { chromium } = require('playwright-core');
const { PATIENCE } = require('../../../bench/harness/patience');

/**
 * @typedef {object} Options
 * @property {string} executablePath
 * @property {boolean} [dark]
 * @property {number} [width]
 * @property {number} [height]
 * @property {string} [locale] of the browser
 */

const ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];

/** What a page may take to show what a test waits for. */
const PAGE_MS = 30000 * PATIENCE;

/** @returns {string} the browser in the PATH */
function browserPath() {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const files = folders.map((folder) => path.join(folder, 'chromium'));
  return files.find((file) => fs.existsSync(file)) ?? 'chromium';
}

/**
 * Opens the status page.
 * @param {string} url of the editor
 * @param {Options & { query?: string }} options
 */
async function openStatusPage(url, options) {
  const { executablePath, dark = false, width = 1100, height = 900, locale = 'en-US', query = '' } = options;
  const browser = await chromium.launch({ executablePath, args: ARGUMENTS });
  const page = await browser.newPage({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    locale
  });
  page.setDefaultTimeout(PAGE_MS);
  const errors = errorsOf(page);
  await page.goto(`${url}seganet/${query}`);
  await page.waitForSelector('.seganet-live');
  return { browser, page, errors };
}

/** Returns the errors in a page, including what its Content-Security-Policy refused. @param {Page} page */
function errorsOf(page) {
  /** @type {string[]} */
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.stack ?? error.message));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  return errors;
}

/**
 * Opens the editor and waits until its flow is drawn.
 * @param {string} url
 * @param {Options} options
 */
async function openEditor(
  url,
  { executablePath, dark = false, width = 1440, height = 800, locale = 'en-US' }
) {
  const browser = await chromium.launch({ executablePath, args: ARGUMENTS });
  const page = await browser.newPage({ viewport: { width, height }, locale });
  page.setDefaultTimeout(PAGE_MS);
  const errors = errorsOf(page);
  // Node-RED shows its first tip a second after its start. On a slow machine its sidebar does not exist by then, and it
  // throws.
  await page.route('**/settings/user*', async (route) => {
    if (route.request().method() !== 'GET') return route.continue();
    const response = await route.fetch();
    const { editor = {}, ...rest } = await response.json();
    const json = { ...rest, editor: { ...editor, view: { ...editor.view, 'view-show-tips': false } } };
    return route.fulfill({ response, json });
  });
  await page.goto(url);
  await page.waitForSelector('.red-ui-palette-node[data-palette-type="seganet-uplink"]');
  await page.waitForSelector('.red-ui-flow-node-group');
  // The effect of the user's setting "dark".
  if (dark) await page.evaluate(() => document.documentElement.classList.add('nr-theme-dark'));
  return { browser, page, errors };
}

/** @typedef {import('playwright-core').Page} Page */

/** The nodes of the flow and the configuration nodes, as the editor knows them. @param {Page} page */
function nodesOf(page) {
  return page.evaluate(() => {
    const { RED } = /** @type {any} */ (window);
    /** @type {{ id: string, type: string, valid: boolean, changed: boolean, config: boolean }[]} */
    const nodes = [];
    const add = (/** @type {boolean} */ config) => (/** @type {any} */ node) => {
      const { id, type, valid, changed } = node;
      nodes.push({ id, type, valid, changed: Boolean(changed), config });
    };
    RED.nodes.eachNode(add(false));
    RED.nodes.eachConfig(add(true));
    return nodes;
  });
}

/**
 * Opens a node's dialog, and its folds, and waits until its slide has ended.
 * @param {Page} page
 * @param {{ id: string, type: string, config: boolean }} node
 * @param {{ unfolds?: boolean }} [options]
 */
async function openDialog(page, { id, type, config }, { unfolds = true } = {}) {
  await page.evaluate(([nodeId, nodeType, isConfig]) => {
    const { RED } = /** @type {any} */ (window);
    if (isConfig) RED.editor.editConfig('', nodeType, nodeId);
    else RED.editor.edit(RED.nodes.node(nodeId));
  }, /** @type {const} */ ([id, type, config]));
  await page.waitForSelector(config ? '#node-config-dialog-edit-form' : '#dialog-form', { state: 'visible' });
  await settled(page, '.red-ui-tray');
  if (unfolds) await unfold(page);
}

/** Opens all folds of the dialogs. @param {Page} page */
function unfold(page) {
  return page.$$eval('.seganet-fold', (all) => {
    for (const each of all) /** @type {HTMLDetailsElement} */ (each).open = true;
  });
}

/**
 * Closes it with Done (Update), or with Cancel.
 * @param {Page} page
 * @param {{ config: boolean }} node
 * @param {'ok' | 'cancel'} how
 */
async function closeDialog(page, { config }, how) {
  await page.click(`#node-${config ? 'config-' : ''}dialog-${how}`);
  await page.waitForSelector('.red-ui-tray', { state: 'detached' });
}

/** Waits until an element keeps its position for ten frames. @param {Page} page @param {string} selector */
async function settled(page, selector) {
  await page.evaluate(
    (css) =>
      new Promise((resolve) => {
        let last = '';
        let still = 0;
        const look = () => {
          const box = JSON.stringify(document.querySelector(css)?.getBoundingClientRect());
          still = box === last ? still + 1 : 0;
          last = box;
          if (still >= 10) resolve(undefined);
          else requestAnimationFrame(look);
        };
        look();
      }),
    selector
  );
}

module.exports = {
  ARGUMENTS,
  errorsOf,
  browserPath,
  openStatusPage,
  openEditor,
  nodesOf,
  openDialog,
  closeDialog,
  settled
};

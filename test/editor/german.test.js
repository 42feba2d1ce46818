'use strict';

// The editor and the status page in a browser whose language is German.

const { startFlow } = require('../fixtures/gateway/deployed');
const { needs } = require('../../bench/harness/tools');
const { browserPath, openEditor, openDialog, closeDialog, openStatusPage } = require('./support/editor');
const manifest = require('../../package.json');

const { describe, test } = needs('chromium');
jest.setTimeout(120000);

/** Configuration nodes of the flow below, by type. @type {Record<string, string>} */
const CONFIGS = {
  'seganet-engine': 'gw',
  'seganet-uplink-broker': 'broker',
  'seganet-kafka': 'cluster',
  'seganet-overlay': 'overlay'
};
const TYPES = Object.keys(manifest['node-red'].nodes);
/** @param {string} type @returns {any} */
const catalogOf = (type) => require(`../../nodes/locales/de/${type}.json`);
/** @param {any} catalog @param {string} key */
const lookUp = (catalog, key) => key.split('.').reduce((at, part) => at?.[part], catalog);

/** @param {any} catalog @returns {string[]} */
const leavesOf = (catalog) =>
  typeof catalog === 'string' ? [catalog] : Object.values(catalog).flatMap(leavesOf);
/** @param {string} language the texts of the page */
const textsIn = (language) => {
  const { status, reason, sentence } = require(`../../nodes/locales/${language}/seganet-editor.json`);
  const page = require(`../../nodes/locales/${language}/seganet-sidebar.json`);
  return leavesOf({ page, status, reason, sentence });
};
const VALUE = /__\w+__|\{\w\}/;
/** The English texts that are no German ones, too. */
const ENGLISH = textsIn('en-US')
  .filter((text) => text.split(VALUE).join('').length > 4)
  .map((text) => new RegExp(`^${text.split(VALUE).map(escaped).join('.+')}$`))
  .filter((pattern) => !textsIn('de').some((text) => pattern.test(text)));

/** @param {string} text */
function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** Runs in the page: all that a person reads or hears. */
function textsShown() {
  const all = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('body *')]);
  const seen = all.filter((each) => each.checkVisibility());
  const own = seen.flatMap((each) =>
    [...each.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE)
  );
  const named = seen.flatMap((each) =>
    ['aria-label', 'title', 'placeholder', 'data-label'].map((name) => each.getAttribute(name))
  );
  return [...own.map(({ textContent }) => textContent), ...named]
    .map((text) => text?.trim() ?? '')
    .filter(Boolean);
}

describe('in German', () => {
  /** @type {import('../fixtures/gateway/deployed').Deployed} */
  let gateway;
  /** @type {string} */
  let url;
  /** @type {{ close(): Promise<void> }[]} */
  const browsers = [];

  beforeAll(async () => {
    const place = { z: 'tab', x: 200 };
    gateway = await startFlow([
      { id: 'tab', type: 'tab', label: 'deutsch' },
      { id: 'gw', type: 'seganet-engine', workers: '1', acknowledge: 'received' },
      { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
      { id: 'cluster', type: 'seganet-kafka', brokers: '127.0.0.1:1' },
      { id: 'overlay', type: 'seganet-overlay' },
      { ...place, id: 'out', y: 80, type: 'seganet-uplink', engine: 'gw', broker: 'broker', wires: [] },
      { ...place, id: 'lost', y: 160, type: 'seganet-priority', engine: '', wires: [[]] }
    ]);
    url = `http://127.0.0.1:${gateway.adminPort}/`;
  }, 90000);
  afterEach(async () => {
    for (const browser of browsers.splice(0)) await browser.close();
  });
  afterAll(async () => {
    await gateway?.stop();
  }, 60000);

  /** @param {string} locale */
  async function openIn(locale) {
    const opened = await openEditor(url, { executablePath: browserPath(), locale });
    browsers.push(opened.browser);
    return opened;
  }

  /** @param {string} locale @param {string} [query] */
  async function openPage(locale, query) {
    const opened = await openStatusPage(url, { executablePath: browserPath(), locale, query });
    browsers.push(opened.browser);
    return opened;
  }

  test('shows every dialog and every help in German', async () => {
    const { page, errors } = await openIn('de-DE');
    for (const type of TYPES) {
      const config = Object.hasOwn(CONFIGS, type);
      const node = CONFIGS[type];
      const id = await page.evaluate(([name, known]) => {
        const { RED } = /** @type {any} */ (window);
        if (known) return known;
        return RED.nodes.add(RED.view.createNode(name, 400, 100).node, { source: 'palette' }).id;
      }, /** @type {const} */ ([type, node]));
      await openDialog(page, { id, type, config });
      const shown = await page.$$eval('.red-ui-tray form [data-i18n]', (all) =>
        all.map((each) => [
          each.getAttribute('data-i18n') ?? '',
          each.getAttribute('placeholder') ?? each.textContent ?? ''
        ])
      );
      const own = shown.filter(([key]) => key.includes(`/${type}:`));
      expect([type, own.length > 0]).toEqual([type, true]);
      for (const [key, text] of own)
        expect([type, key, text]).toEqual([type, key, lookUp(catalogOf(type), key.replace(/^.*:/, ''))]);
      await closeDialog(page, { config }, 'cancel');
      const help = await page.evaluate(
        (name) => /** @type {any} */ (window).RED.nodes.getNodeHelp(name),
        type
      );
      expect([type, help]).toEqual([type, expect.stringMatching(/\b(der|die|das|und|eine?)\b/)]);
    }
    expect(errors).toEqual([]);
  }, 120000);

  test('explains a wrong value and shows statuses in German', async () => {
    const { page } = await openIn('de-AT');
    const reasons = await page.evaluate(() => {
      const { RED } = /** @type {any} */ (window);
      const { node } = RED.view.createNode('seganet-batch', 100, 100);
      const added = RED.nodes.add({ ...node, maxBytes: '1', engine: 'gw' }, { source: 'palette' });
      RED.editor.validateNode(added);
      return added.validationErrors;
    });
    expect(reasons.join()).toContain('Bytes (m) muss eine ganze Zahl von 64 bis 1048576 sein');
    await page.waitForFunction(
      () => /** @type {any} */ (window).RED.nodes.node('lost')?.status?.text === 'keine Engine'
    );
    await page.waitForFunction(
      () => /** @type {any} */ (window).RED.nodes.node('out')?.status?.text === 'nichts lauscht dort'
    );
  });

  test('tests the connection of a Kafka cluster', async () => {
    const { page } = await openIn('de-DE');
    const cluster = { id: 'cluster', type: 'seganet-kafka', config: true };
    await openDialog(page, cluster);
    await page.click('.seganet-test >> text=Verbindung testen');
    const [step] = await Promise.all([
      page.waitForSelector('.seganet-steps .fa-times + span'),
      page.waitForSelector('.seganet-test:not([disabled])')
    ]);
    expect(await step.textContent()).toMatch(/^Verbindung: Nothing listens at 127\.0\.0\.1:1\./);
    await closeDialog(page, cluster, 'cancel');
  });

  test('has the sidebar in German', async () => {
    const { page } = await openIn('de-DE');
    await page.waitForFunction(() => document.querySelector('.seganet-sidebar'));
    expect(await page.textContent('.seganet-sidebar [data-section=devices] summary')).toBe('Geräte');
  });

  test('has a status page in German, with links to the other languages', async () => {
    const { page, errors } = await openPage('de-CH');
    expect(await page.getAttribute('html', 'lang')).toBe('de');
    expect(await page.textContent('[data-section=nodes] summary')).toBe('Nodes und Verbindungen');
    await page.click('.languages a');
    await page.waitForSelector('[data-section=nodes] summary >> text=Nodes and wires');
    expect(await page.getAttribute('html', 'lang')).toBe('en-US');
    await page.click('.languages a');
    await page.waitForSelector('[data-section=nodes] summary >> text=Nodes und Verbindungen');
    expect(errors).toEqual([]);
  });

  test('shows statuses and reasons in German on the page', async () => {
    const { page } = await openPage('de-DE');
    const row = page.locator('[data-section=nodes] tr', { hasText: 'uplink' });
    await row.locator('td >> text=nichts lauscht dort').waitFor();
    await page.waitForFunction(() =>
      /: nichts lauscht dort \(.+\)/.test(document.querySelector('.health')?.textContent ?? '')
    );
    const session = page.locator('[data-section=uplinks] td[data-label=Grund]').first();
    expect(await session.textContent()).toMatch(/^nichts lauscht dort \(Nothing listens at/);
  });

  test('has no English text on the page and on that of the directories', async () => {
    for (const path of ['', 'directory.html']) {
      const { page } = await openPage('de-DE', path);
      await page.waitForSelector(path ? 'footer' : '[data-section=nodes] tbody tr');
      await page.$$eval('details', (all) => all.forEach((each) => (each.open = true)));
      // What was closed is read now.
      await page.waitForSelector(path ? '.note:not(:empty)' : '[data-section=devices] .none:not([hidden])');
      const shown = await page.evaluate(textsShown);
      expect(shown.length).toBeGreaterThan(path ? 3 : 100);
      const english = shown.filter((text) => ENGLISH.some((pattern) => pattern.test(text)));
      expect([path, english]).toEqual([path, []]);
    }
  });

  test('prefers the language of the address to that of the browser, if there is such a language', async () => {
    expect(await (await openPage('en-US', '?lang=de')).page.getAttribute('html', 'lang')).toBe('de');
    expect(await (await openPage('de-DE', '?lang=xx')).page.getAttribute('html', 'lang')).toBe('de');
    expect(await (await openPage('fr-FR')).page.getAttribute('html', 'lang')).toBe('en-US');
  });
});

'use strict';

// The status page and the sidebar in a real browser, with devices that call themselves what they like.

const net = require('net');
const { connectDevice } = require('../fixtures/devices/device');
const { startFlow } = require('../fixtures/gateway/deployed');
const { freePort, waitForPort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { until, cleanUp } = require('../runtime/process');
const { lowestContrast, overflow } = require('./support/appearance');
const { browserPath, openEditor, openStatusPage } = require('./support/editor');
const { startDemo } = require('./support/gateway');

const { describe, test } = needs('chromium');
jest.setTimeout(60000);

/** @typedef {import('playwright-core').Page} Page */

const SEARCH = '[data-section=devices] input[type=search]';
const IMAGE = '<img src=x onerror="window.hacked=1">';
const SCRIPT = '"><script>window.hacked=2</script>';
const REVERSED = 'pump\u202Egpj.exe';
const JOINED = 'pump\u200B-1';
const LONG = `${'é'.repeat(127)}x`;
const HOSTILE = [IMAGE, SCRIPT, REVERSED, JOINED, LONG];

/** The texts of a table's column. @param {Page} page @param {string} section @param {number} [number] */
const column = (page, section, number = 1) =>
  page.$$eval(`[data-section="${section}"] tbody tr > :nth-child(${number})`, (cells) =>
    cells.map(({ textContent }) => textContent)
  );

/** Waits until the page shows live figures. @param {Page} page */
const live = (page) =>
  page.waitForFunction(() => document.querySelector('.seganet-live .state')?.textContent === 'live');

/** @param {Element[]} all */
const sectionsOf = (all) => all.map((each) => /** @type {HTMLElement} */ (each).dataset.section);

/**
 * Waits until the ids in the table are as wanted.
 * @param {Page} page
 * @param {(ids: (string | null)[]) => boolean} isWanted
 */
const devices = (page, isWanted) =>
  until(async () => isWanted(await column(page, 'devices')), { what: 'other devices' });

describe('with hostile device ids', () => {
  /** @type {import('../fixtures/gateway/deployed').Deployed} */
  let gateway;
  /** @type {string} */
  let url;
  /** @type {{ url: string }} */
  let listener;
  /** @type {import('mqtt').MqttClient[]} */
  let clients = [];
  /** @type {{ close(): Promise<void> }[]} */
  const browsers = [];

  beforeAll(async () => {
    const port = await freePort();
    const place = { z: 'tab', x: 200, y: 100 };
    gateway = await startFlow([
      { id: 'tab', type: 'tab', label: 'live' },
      { id: 'gw', type: 'seganet-engine', name: IMAGE, workers: '1', acknowledge: 'safe' },
      { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
      {
        ...place,
        id: 'in',
        type: 'seganet-mqtt-devices',
        name: IMAGE,
        engine: 'gw',
        port: String(port),
        wires: [['rank']]
      },
      {
        ...place,
        id: 'rank',
        x: 400,
        type: 'seganet-priority',
        engine: 'gw',
        rules: [],
        wires: [['out', 'debug']]
      },
      { ...place, id: 'out', x: 600, type: 'seganet-uplink', engine: 'gw', broker: 'broker', wires: [] },
      { ...place, id: 'debug', x: 600, y: 200, type: 'debug', active: false, wires: [] }
    ]);
    url = `http://127.0.0.1:${gateway.adminPort}/`;
    listener = { url: `mqtt://127.0.0.1:${port}` };
    await waitForPort(port, '127.0.0.1', 20000);
    const plain = Array.from({ length: 40 }, (_, index) => `dev-${String(index).padStart(2, '0')}`);
    clients = await Promise.all([...HOSTILE, ...plain].map((id) => connectDevice(listener, id)));
    await Promise.all(clients.map((client) => client.publishAsync('t', '1', { qos: 1 })));
  }, 90000);
  afterEach(async () => {
    for (const browser of browsers.splice(0)) await browser.close();
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.endAsync(true)));
    await gateway?.stop();
  }, 60000);

  /** @param {Omit<Parameters<typeof openStatusPage>[1], 'executablePath'>} [options] */
  async function openPage(options) {
    const opened = await openStatusPage(url, { executablePath: browserPath(), ...options });
    browsers.push(opened.browser);
    await live(opened.page);
    return opened;
  }
  /** Opens it with its first page of devices. @param {Parameters<typeof openPage>[0]} [options] */
  async function openDevices(options) {
    const opened = await openPage(options);
    await devices(opened.page, (ids) => ids.length === 25);
    return opened;
  }

  test('names at the top why records do not reach the cloud, and how many wait', async () => {
    const { page } = await openDevices();
    const line = page.locator('.seganet-live .health');
    const records = HOSTILE.length + 40;
    await page.waitForFunction(
      (count) =>
        document.querySelector('.seganet-live .health')?.textContent?.includes(`, ${count} of them safe`),
      records
    );
    expect(await line.getAttribute('data-state')).toBe('bad');
    expect(await line.textContent()).toMatch(
      new RegExp(
        `^127.0.0.1:1: Nothing listens at .*${records} records wait, ${records} of them safe on disk\\.$`
      )
    );
    // The tile, the picture and the classes count a record once, although it is in memory and on disk.
    const facts = await page.$$eval('.tiles dd', (all) => all.map(({ textContent }) => textContent));
    expect(facts).toContain(`${records} (${records} on disk)`);
    expect(await page.textContent('[data-section=flow] .unseen')).toContain(
      `${records} records wait, ${records} of them safe on disk`
    );
    expect(await column(page, 'classes', 3)).toEqual(['0', '0', `${records}`, '0']);
    expect(await page.$$eval('.seganet-live details', sectionsOf)).toEqual(
      expect.arrayContaining(['flow', 'charts', 'values', 'uplinks'])
    );
  });

  test('shows ids and names as text, with the invisible characters in them as codes', async () => {
    const { page, errors } = await openDevices();
    for (const [id, shown] of [
      [IMAGE, IMAGE],
      [SCRIPT, SCRIPT],
      ['gpj', 'pump\\u{202e}gpj.exe'],
      ['pump\u200B', 'pump\\u{200b}-1'],
      ['ééé', LONG]
    ]) {
      await page.fill(SEARCH, id);
      // The node has such a name, too, so that the first search finds all devices.
      await devices(page, (ids) => ids.includes(shown) && (ids.length === 1 || id === IMAGE));
      // The long one, too, leaves the page its width.
      expect(await overflow(page)).toBe(0);
    }
    expect(await column(page, 'nodes')).toContain(IMAGE);
    expect(await page.$eval('select', (select) => select.textContent)).toBe(IMAGE);
    expect(await page.$$eval('.seganet-live :is(img, script, iframe)', (all) => all.length)).toBe(0);
    expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
    expect(errors).toEqual([]);
  });

  test('refuses a device whose id contains NUL, so that it never reaches a page', async () => {
    const id = Buffer.from('a\0b');
    const head = Buffer.from([0x10, 12 + id.length, 0, 4, ...Buffer.from('MQTT'), 4, 2, 0, 60, 0, id.length]);
    const socket = net.connect(Number(new URL(listener.url).port), '127.0.0.1');
    /** @type {Buffer[]} */
    const answer = [];
    socket.on('data', (bytes) => answer.push(bytes)).on('error', () => {});
    socket.write(Buffer.concat([head, id]));
    await new Promise((resolve) => socket.once('close', resolve));
    // Not a CONNACK with code 0.
    expect(Buffer.concat(answer).toString('hex')).not.toBe('20020000');
    const { page } = await openDevices();
    expect(await page.textContent('[data-section=devices] .pages')).toMatch(/: 45 of 45 devices/);
    expect(await page.textContent('.seganet-live')).not.toContain('\0');
  });

  test('searches, sorts and turns pages on the gateway, one page at a time', async () => {
    const { page } = await openDevices();
    await page.fill(SEARCH, 'DEV-');
    await devices(page, (ids) => ids[0] === 'dev-00' && ids.length === 25);
    expect(await page.textContent('[data-section=devices] .pages')).toBe('Page 1 of 2: 40 of 45 devices.');
    await page.locator('[data-section=devices]').getByRole('button', { name: 'Next' }).click();
    await devices(page, (ids) => ids[0] === 'dev-25' && ids.length === 15);
    await page.getByRole('button', { name: 'Device', exact: true }).click();
    await devices(page, (ids) => ids[0] === 'dev-39');
    await page.fill(SEARCH, 'no such device');
    await devices(page, (ids) => ids.length === 0);
    expect(await page.isVisible('text=No device matches.')).toBe(true);
  });

  test('can be used with the keyboard alone', async () => {
    const { page } = await openDevices();
    const focused = () =>
      page.evaluate(() => {
        const at = /** @type {HTMLElement} */ (document.activeElement);
        return `${at.tagName} ${at.closest('[data-section]')?.getAttribute('data-section') ?? ''}`.trim();
      });
    /** @type {string[]} */
    const way = [];
    for (let steps = 0; steps < 100 && way.at(-1) !== 'BUTTON devices'; steps++) {
      await page.keyboard.press('Tab');
      way.push(await focused());
    }
    // Each section can be opened, each table scrolled, and the search is on the way.
    for (const each of [
      'SELECT',
      'SUMMARY charts',
      'DIV charts',
      'SUMMARY values',
      'INPUT values',
      'SUMMARY uplinks',
      'DIV uplinks',
      'SUMMARY devices',
      'INPUT devices',
      'BUTTON devices'
    ])
      expect(way).toContain(each);
    const outline = await page.evaluate(
      () => getComputedStyle(/** @type {Element} */ (document.activeElement)).outlineStyle
    );
    expect(outline).toBe('solid');

    await page.focus(SEARCH);
    await page.keyboard.type('dev-1');
    await devices(page, (ids) => ids.length === 10);
    await page.getByRole('button', { name: 'Device', exact: true }).focus();
    await page.keyboard.press('Enter');
    await devices(page, (ids) => ids[0] === 'dev-19');
    expect(await page.getAttribute('th:has(button:focus)', 'aria-sort')).toBe('descending');
  });

  test('reads no devices while their section is closed, and nothing while the page is hidden', async () => {
    const { page } = await openDevices();
    const asked = page.waitForRequest(/seganet\/live\?.*devices=off/);
    await page.click('[data-section=devices] summary');
    const request = await asked;
    const over = page.waitForEvent('requestfailed', (each) => each === request);
    await page.evaluate(() => {
      Object.defineProperty(document, 'visibilityState', { value: 'hidden' });
      document.dispatchEvent(new Event('visibilitychange'));
    });
    await over;
  });

  test.each([
    ['light', false],
    ['dark', true]
  ])('has enough contrast, names for all controls and header cells in the %s theme', async (_name, dark) => {
    const { page } = await openDevices({ dark });
    const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(back).toBe(dark ? 'rgb(15, 19, 24)' : 'rgb(243, 245, 248)');
    const { ratio, text } = await lowestContrast(page, 'main');
    expect([ratio >= 4.5, ratio, text]).toEqual([true, ratio, text]);
    const unnamed = await page.$$eval('main :is(select, input, button)', (controls) =>
      controls
        .filter((each) => !(/** @type {any} */ (each).labels?.length) && !each.textContent?.trim())
        .map(({ outerHTML }) => outerHTML)
    );
    expect(unnamed).toEqual([]);
    expect(
      await page.$$eval('main table', (all) =>
        all.every((table) => table.querySelector('thead th[scope=col]'))
      )
    ).toBe(true);
    const plots = await page.$$eval('main .plot', (all) =>
      all.map((each) => each.getAttribute('aria-label'))
    );
    expect([plots.length, plots.every(Boolean)]).toEqual([8, true]);
  });

  test('announces to a screen reader that the gateway is gone, and shows it', async () => {
    const { page } = await openDevices();
    expect(await page.getAttribute('[role=status]', 'aria-live')).toBe('polite');
    await page.route('**/seganet/live*', (route) => route.abort());
    // A new query ends the present stream.
    await page.fill(SEARCH, 'x');
    await page.waitForFunction(() =>
      document.querySelector('[role=status]')?.textContent?.startsWith('no connection')
    );
    await page.unroute('**/seganet/live*');
    await live(page);
    expect(await page.textContent('[role=status]')).toBe('live');
  });

  test.each([
    ['light', false],
    ['dark', true]
  ])(
    'has a sidebar with the same figures in the %s theme, and says what a node and a wire carry',
    async (_name, dark) => {
      const opened = await openEditor(url, { executablePath: browserPath(), dark });
      browsers.push(opened.browser);
      const { page, errors } = opened;
      const show = (/** @type {string} */ tab) =>
        page.evaluate((id) => /** @type {any} */ (window).RED.sidebar.show(id), tab);
      await page.waitForFunction(() => document.querySelector('.seganet-sidebar'));
      // The editor remembers the tab of the test before.
      await show('info');
      await page.waitForSelector('.seganet-sidebar', { state: 'hidden' });
      // An IntersectionObserver compares frames: it must have seen one without the sidebar.
      await page.evaluate(
        () =>
          new Promise((resolve) =>
            requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve)))
          )
      );
      const asked = page.waitForRequest(/seganet\/live\?/);
      await show('seganet-sidebar');
      const stream = await asked;
      await live(page);
      expect(await column(page, 'uplinks')).toEqual(['127.0.0.1:1', '127.0.0.1:1']);
      const { ratio, text } = await lowestContrast(page, '.seganet-sidebar');
      expect([ratio >= 4.5, ratio, text]).toEqual([true, ratio, text]);

      const [client] = clients.slice(-1);
      const timer = setInterval(() => client.publish('t', 'x', { qos: 1 }), 20);
      const selected = (/** @type {RegExp} */ wanted) =>
        until(async () => wanted.test((await page.textContent('.seganet-live .selected')) ?? ''), {
          what: () => `${wanted}`
        });
      try {
        const select = (/** @type {any} */ what) =>
          page.evaluate((choice) => {
            const { RED } = /** @type {any} */ (window);
            if (choice.node) return RED.view.select({ nodes: [RED.nodes.node(choice.node)] });
            const [link] = RED.nodes.filterLinks({ source: { id: 'rank' }, target: { id: choice.to } });
            RED.view.select({ links: [link] });
          }, what);
        await select({ node: 'rank' });
        await selected(
          /^priority: [234]\d records\/s in, [234]\d records\/s out, wires: native and messages$/
        );
        await select({ to: 'out' });
        await selected(/^This wire: native, [234]\d records\/s$/);
        await select({ to: 'debug' });
        await selected(/^This wire: messages, [234]\d records\/s \(not native: .+\)$/);
      } finally {
        clearInterval(timer);
      }
      // Behind another tab it reads nothing.
      const over = page.waitForEvent('requestfailed', (request) => request === stream);
      await show('info');
      await over;
      expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
      expect(errors).toEqual([]);
    }
  );
});

describe('with a login', () => {
  /** Of the password "scrape me". */
  const HASH = '$2b$08$XbjmKnzQk0mhehPYcDAtnOtJRWQUSwMP39siyK6UuquQghWdowd4C';
  afterAll(cleanUp);

  test('asks for it, refuses a wrong one, and keeps a token for reading until the tab closes', async () => {
    const { url } = await startDemo({ SEGANET_ADMIN_USER: 'admin', SEGANET_ADMIN_PASSWORD_HASH: HASH });
    const { browser, page } = await openStatusPage(url, { executablePath: browserPath() });
    try {
      await page.getByLabel('User name').fill('admin');
      await page.getByLabel('Password').fill('wrong');
      await page.keyboard.press('Enter');
      await page.waitForSelector('[role=alert]:has-text("did not accept")');
      await page.getByLabel('Password').fill('scrape me');
      await page.keyboard.press('Enter');
      await live(page);
      await page.waitForFunction(() => /\d+\/s/.test(document.querySelector('.tiles')?.textContent ?? ''));
      expect(await page.$('form')).toBe(null);
      const [token, kept] = await page.evaluate(() => [
        sessionStorage.getItem('seganet-token'),
        localStorage.length
      ]);
      expect(kept).toBe(0);
      const { status } = await fetch(`${url}flows`, { headers: { authorization: `Bearer ${token}` } });
      expect(status).toBe(401);
    } finally {
      await browser.close();
    }
  }, 90000);
});

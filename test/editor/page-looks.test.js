'use strict';

// How the pages look and how they can be used, in a real browser: the picture, the charts, the values, a phone, and the
// rules of axe-core.

const { connectDevice } = require('../fixtures/devices/device');
const { startFlow } = require('../fixtures/gateway/deployed');
const { freePort, waitForPort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { keepValue, pageOf } = require('../../flows/demo/tenants/page');
const { until } = require('../runtime/process');
const { findings, misfits, overflow } = require('./support/appearance');
const { browserPath, openStatusPage } = require('./support/editor');

const { describe, test } = needs('chromium');
jest.setTimeout(60000);

/** @typedef {import('playwright-core').Page} Page */

const HOSTILE = '<img src=x onerror="window.hacked=1">\u202e';
const DEVICES = 25;

describe('the pages', () => {
  /** @type {import('../fixtures/gateway/deployed').Deployed} */
  let gateway;
  /** @type {string} */
  let url;
  /** @type {import('mqtt').MqttClient[]} */
  let clients = [];
  /** @type {{ close(): Promise<void> }[]} */
  const browsers = [];

  beforeAll(async () => {
    const port = await freePort();
    const box = { z: 'tab', x: 200, y: 100, engine: 'gw' };
    gateway = await startFlow([
      { id: 'tab', type: 'tab', label: 'looks' },
      { id: 'gw', type: 'seganet-engine', workers: '1', acknowledge: 'safe' },
      { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
      { ...box, id: 'in', type: 'seganet-mqtt-devices', port: String(port), wires: [['out', 'find']] },
      { ...box, id: 'out', x: 400, type: 'seganet-uplink', broker: 'broker', wires: [] },
      { ...box, id: 'find', x: 400, y: 200, type: 'seganet-find', name: 'house', wires: [[]] }
    ]);
    url = `http://127.0.0.1:${gateway.adminPort}/`;
    await waitForPort(port, '127.0.0.1', 20000);
    const names = Array.from({ length: DEVICES }, (_, index) => `dev-${String(index).padStart(2, '0')}`);
    clients = await Promise.all(names.map((id) => connectDevice({ url: `mqtt://127.0.0.1:${port}` }, id)));
    await Promise.all(
      clients.map((client, index) =>
        client.publishAsync(`hall/${index % 2}/temperature`, `${20 + index}`, { qos: 1 })
      )
    );
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
    if (!options?.query) await opened.page.waitForSelector('.seganet-live .health:not([hidden])');
    return opened;
  }

  test('draws the way of the records, which a screen reader gets as a sentence, without motion if that is wanted', async () => {
    const { page } = await openPage();
    const [client] = clients.slice(-1);
    const timer = setInterval(() => client.publish('t', 'x', { qos: 1 }), 20);
    try {
      const pipe = page.locator('[data-section=flow] .pipe').first();
      await page.waitForSelector('[data-section=flow] .pipe[data-pace="2"]');
      expect(await pipe.textContent()).toMatch(/^[1-9]\d\/s$/);
      const motion = () => pipe.locator('.dots').evaluate((dots) => getComputedStyle(dots).animationName);
      expect(await motion()).toBe('seganet-flow');
      await page.emulateMedia({ reducedMotion: 'reduce' });
      expect(await motion()).toBe('none');
      expect(await page.getAttribute('[data-section=flow] .flow', 'aria-hidden')).toBe('true');
      expect(await page.textContent('[data-section=flow] .unseen')).toMatch(
        /^25 devices are connected; [2-5]\d\/s records enter\..*1 critical: 0, .*3 normal: \d+.*(disconnected|connecting)/
      );
    } finally {
      clearInterval(timer);
    }
  });

  test('draws the figures with their axes, and reads them at the pointer and by keys', async () => {
    const { page } = await openPage();
    const chart = '[data-chart=devices]';
    await page.waitForFunction(
      (css) => /L.*L/.test(document.querySelector(`${css} .line`)?.getAttribute('d') ?? ''),
      chart
    );
    expect(await page.inputValue('#seganet-live-range')).toBe('minutes');
    expect(await page.$$eval(`${chart} .scale span`, (all) => all.map((each) => each.textContent))).toEqual([
      '40',
      '20',
      '0'
    ]);
    const times = await page.$$eval(`${chart} .times span`, (all) =>
      all.map((each) => each.textContent ?? '')
    );
    expect([times.length >= 1, times.every((time) => /^\d\d:\d\d$/.test(time))]).toEqual([true, true]);
    const plot = page.locator(`${chart} .plot`);
    expect(await plot.getAttribute('aria-label')).toBe(
      'Devices, the last five minutes: now 25, lowest 25, highest 25'
    );

    await plot.focus();
    await page.keyboard.press('ArrowLeft');
    expect(await plot.getAttribute('aria-valuetext')).toMatch(/^\d\d:\d\d:\d\d: 25$/);
    // All charts show the same time.
    const at = () => page.$$eval('.chart .at', (all) => [...new Set(all.map((each) => each.textContent))]);
    const read = await at();
    expect(read).toEqual([expect.stringMatching(/^\d\d:\d\d:\d\d$/)]);
    await page.keyboard.press('Home');
    const first = await at();
    expect(String(first[0]) < String(read[0])).toBe(true);
    await page.keyboard.press('Escape');
    expect(await at()).toEqual(['']);

    const box = /** @type {{ x: number, y: number, width: number, height: number }} */ (
      await plot.boundingBox()
    );
    await page.mouse.move(box.x + box.width - 2, box.y + box.height / 2);
    expect(await at()).toEqual([expect.stringMatching(/^\d\d:\d\d:\d\d$/)]);
    expect(await page.isVisible(`${chart} .cursor`)).toBe(true);
    await page.selectOption('#seganet-live-range', 'hour');
    expect(await plot.getAttribute('aria-label')).toMatch(/^Devices, the last hour: now 25/);
  });

  test.each([
    ['en-US', 320],
    ['en-US', 390],
    ['de', 390]
  ])('fits a phone, in %s with %i pixels: short, with cards in place of tables', async (locale, width) => {
    const { page, errors } = await openPage({ width, height: 844, locale });
    await page.waitForSelector('[data-section=values] .value');
    expect(await overflow(page)).toBe(0);
    expect(await misfits(page)).toEqual([]);
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    if (width === 390) expect(height).toBeLessThanOrEqual(2000);
    for (const section of ['classes', 'devices', 'uplinks', 'nodes', 'log'])
      await page.click(`[data-section=${section}] summary`);
    await page.waitForSelector('[data-section=devices] tbody tr:nth-child(8)');
    expect(await overflow(page)).toBe(0);
    expect(await misfits(page)).toEqual([]);
    // Each row is a card with the names of its figures, and still a row for a screen reader.
    const [label] = await page.$$eval('[data-section=devices] tbody tr:first-child td', (cells) =>
      cells.map((cell) => getComputedStyle(cell, '::before').content)
    );
    expect(label).toMatch(locale === 'de' ? /Datensätze\/s/ : /Records\/s/);
    expect(await page.locator('[data-section=devices]').getByRole('rowheader').count()).toBe(8);
    const cut = await page.$$eval(
      '.scroll',
      (all) => all.filter((each) => each.scrollWidth > each.clientWidth + 1).length
    );
    expect(cut).toBe(0);
    expect(errors).toEqual([]);
  });

  test('finds values by their text, shows hostile ones as text, and follows those below a topic', async () => {
    const { page, errors } = await openPage();
    await page.waitForSelector('[data-section=values] .value:nth-child(12)');
    const search = page.getByRole('searchbox', { name: 'Search (device, topic, value)' });
    await search.fill('dev-07');
    await page.waitForFunction(() => document.querySelectorAll('.value').length === 1);
    expect(await page.textContent('.value .reading')).toBe('27');
    await clients[7].publishAsync('hall/1/temperature', HOSTILE, { qos: 1 });
    await page.waitForFunction(() =>
      document.querySelector('.value .reading')?.textContent?.startsWith('<img')
    );
    expect(await page.textContent('.value .reading')).toBe(HOSTILE.replace('\u202e', '\\u{202e}'));
    await clients[7].publishAsync('hall/1/temperature', '{"temperature":21.5,"ok":true}', { qos: 1 });
    await page.waitForFunction(() => document.querySelectorAll('.value .member').length === 2);
    expect(await page.textContent('.value .reading')).toBe('temperature 21.5ok true');
    await search.fill('no such value');
    await page.waitForSelector('text=No value matches.');

    // The stream is open while the tree is shown.
    const stream = page.waitForRequest(/values\/stream\?/);
    await page.getByRole('button', { name: 'Topics' }).click();
    await stream;
    await page.locator('.tree').getByRole('button', { name: /^hall/ }).click();
    const below = page.waitForRequest(/values\/stream\?.*topic=hall%2F1%2F%23/);
    await page.locator('.tree').getByRole('button', { name: /^1/ }).click();
    const last = await below;
    await page.waitForSelector('.tree >> text=temperature');
    await until(
      async () => {
        await clients[6].publishAsync('hall/0/temperature', 'elsewhere', { qos: 1 });
        await clients[7].publishAsync('hall/1/temperature', HOSTILE, { qos: 1 });
        return (await page.locator('.tail li').count()) > 0;
      },
      { what: 'a row of the tail' }
    );
    expect(await page.textContent('.tail')).toContain('dev-07');
    expect(await page.textContent('.tail')).not.toContain('elsewhere');
    const over = page.waitForEvent('requestfailed', (each) => each === last);
    await page.click('[data-section=values] summary');
    await over;
    expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
    expect(errors).toEqual([]);
  });

  test.each([
    ['the light theme', false, 'en-US', 1100],
    ['the dark theme', true, 'en-US', 1100],
    ['German on a phone', false, 'de', 390]
  ])('axe-core finds nothing serious on the status page in %s', async (_name, dark, locale, width) => {
    const { page } = await openPage({ dark, locale, width });
    await page.waitForSelector('[data-section=values] .value');
    await page.$$eval('details', (all) => all.forEach((each) => (each.open = true)));
    await page.waitForSelector('[data-section=devices] tbody tr');
    expect(await findings(page)).toEqual([]);
    await page.locator('[data-section=values] .switch button').nth(1).click();
    await page.waitForSelector('.tree button');
    expect(await findings(page)).toEqual([]);
  });

  test.each([false, true])(
    'axe-core finds nothing serious on the page of the directory (dark: %s)',
    async (dark) => {
      const { page } = await openPage({ dark, query: 'directory.html' });
      await page.waitForSelector('[data-section=things] tbody tr');
      await page.getByLabel('What is measured', { exact: true }).fill('temperature');
      await page.getByRole('button', { name: 'Ask', exact: true }).click();
      await page.waitForSelector('[data-section=question] dl:not([hidden])');
      expect(await findings(page)).toEqual([]);
    }
  );

  test.each([false, true])(
    "axe-core finds nothing serious on a tenant's page, which has cards (dark: %s)",
    async (dark) => {
      const { page } = await openPage({ dark });
      const values = {};
      for (const payload of ['20', '22', HOSTILE])
        keepValue(values, { deviceId: HOSTILE, topic: 't', payload });
      const html = pageOf({ tenant: 'acme', user: 'alice', values, now: Date.now() });
      await page.route('**/tenant', (route) =>
        route.fulfill({ contentType: 'text/html; charset=utf-8', body: html })
      );
      await page.goto(`${url}tenant`);
      expect(await page.textContent('.value .device')).toBe(HOSTILE);
      expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
      // It has the style of the status page.
      expect(await page.$eval('.value', (card) => getComputedStyle(card).borderRadius)).toBe('8px');
      expect(await findings(page)).toEqual([]);
    }
  );
});

'use strict';
// OCF clouds and Kafka on the status page and in the sidebar, in a real browser.

const { randomUUID } = require('node:crypto');
const { makeCertificates } = require('../../bench/harness/certificates');
const { freePort, waitForPort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { Client } = require('../../flows/demo/ocf/client');
const { newHome, startFlow } = require('../fixtures/gateway/deployed');
const { cloud } = require('../fixtures/gateway/source-figures');
const { cloudFlow } = require('../fixtures/ocf/gateway-cloud');
const { newCode } = require('../../nodes/lib/ocf/cloud');
const { SqliteStore } = require('../../nodes/lib/ocf/store');
const { until } = require('../runtime/process');
const { lowestContrast, misfits, overflow } = require('./support/appearance');
const { browserPath, closeDialog, openDialog, openEditor, openStatusPage } = require('./support/editor');

const { describe, test } = needs('chromium', 'openssl');
jest.setTimeout(90000);

const NAME = '<img src=x onerror="window.hacked=1">';
const OCF = '[data-section="ocf"]';
const KAFKA = '[data-section="kafka"]';
const REGION = 'coaps+tcp://127.0.0.1:1';

describe('OCF clouds and Kafka', () => {
  /** @type {import('../fixtures/gateway/deployed').Deployed} */
  let gateway;
  let url = '';
  /** Where devices reach the cloud. */
  let place = { host: '127.0.0.1', port: 0 };
  /** @type {Client[]} */
  const clients = [];
  /** @type {Awaited<ReturnType<typeof openStatusPage>>} */
  let opened;

  beforeAll(async () => {
    const [port, httpPort] = [await freePort(), await freePort()];
    const home = newHome();
    place = { ...place, port };
    const box = { z: 'tab', x: 100, y: 300, engine: 'engine' };
    const { ca, cert, key } = makeCertificates(home);
    const more = [
      { id: 'tls', type: 'tls-config', cert, key, ca, verifyservercert: true },
      { id: 'cluster', type: 'seganet-kafka', name: 'plant', brokers: '127.0.0.1:1' },
      {
        ...box,
        id: 'in',
        type: 'seganet-kafka-source',
        cluster: 'cluster',
        topics: 'orders',
        wires: [['to']]
      },
      { ...box, id: 'to', type: 'seganet-kafka-uplink', cluster: 'cluster', wires: [] }
    ];
    const region = {
      regionAddress: REGION,
      regionHost: '127.0.0.1',
      regionPort: String(await freePort()),
      regionTls: 'tls',
      regionKafka: 'cluster'
    };
    const node = { httpPort: String(httpPort), ...region };
    gateway = await startFlow(cloudFlow(home, port, { node, more }), home);
    url = `http://127.0.0.1:${gateway.adminPort}/`;
    for (const each of [port, httpPort]) await waitForPort(each, '127.0.0.1', 30000);
    const store = new SqliteStore(`${home}/ocf.db`);
    for (const [user, count] of /** @type {const} */ ([
      ['alice', 2],
      ['bob', 28]
    ])) {
      for (let n = 0; n < count; n++) {
        const client = await Client.open(place);
        clients.push(client);
        expect((await client.signUp((await newCode(store, user)).code)).code).toBe('2.04');
        if (user === 'bob') continue;
        expect((await client.signIn()).code).toBe('2.04');
        const links = [{ href: '/a', rt: ['x.a'], if: ['oic.if.r'], p: { bm: 3 } }];
        const body = { di: client.di, ttl: 0, n: NAME, links };
        expect((await client.request('POST', '/oic/rd', { body })).code).toBe('2.04');
      }
    }
    await store.close();
    const wrong = { di: randomUUID(), accesstoken: 'secret-code' };
    await clients[2].request('POST', '/oic/sec/account', { body: wrong });
    opened = await openStatusPage(url, { executablePath: browserPath() });
  }, 90000);
  afterAll(async () => {
    await opened?.browser.close();
    for (const client of clients) client.destroy();
    await gateway?.stop();
  }, 60000);

  /** @param {import('playwright-core').Page} page @param {string} label */
  const rows = (page, label) => page.locator(`${OCF} table[aria-label="${label}"] tbody tr`);
  /** @param {import('playwright-core').Page} page @param {RegExp} wanted */
  const pages = (page, wanted) =>
    until(async () => wanted.test((await page.textContent(`${OCF} .pages`)) ?? ''), {
      what: () => `${wanted}`
    });

  test('shows a cloud, searches its devices and users on the gateway, and keeps secrets', async () => {
    const { page, errors } = opened;
    await pages(page, /^Page 1 of 2: 30 of 30 devices\.$/);
    expect(await rows(page, 'Devices').count()).toBe(25);
    const facts = (await page.textContent(`${OCF} dl`)) ?? '';
    expect(facts).toMatch(/Stateopen.*Devices30 \/ 10.*Signed in2/s);
    await page.selectOption(`${OCF} #seganet-live-ocf-show`, 'on');
    await pages(page, /: 2 of 30 devices/);
    const [first] = await rows(page, 'Devices').all();
    const cells = await first.locator('th, td').allTextContents();
    expect(cells.slice(1, 4)).toEqual(['alice', NAME, 'on']);
    expect(cells[5]).toBe('1');
    await page.fill(`${OCF} input[type=search]`, clients[1].di.toUpperCase());
    await pages(page, /: 1 of 30 devices/);
    await page.fill(`${OCF} input[type=search]`, 'BOB');
    await pages(page, /: 0 of 30 devices/);
    await page.selectOption(`${OCF} #seganet-live-ocf-show`, 'users');
    await pages(page, /: 1 of 2 users/);
    expect(await rows(page, 'Users').first().locator('th, td').allTextContents()).toEqual([
      'bob',
      '28',
      expect.stringMatching(/\d/)
    ]);
    const refused = await rows(page, 'Latest refused requests').first().locator('th, td').allTextContents();
    expect(refused.slice(1, 4)).toEqual(['POST /oic/sec/account', '4.01', 'The access code is not valid.']);
    expect(await page.content()).not.toContain('secret-code');
    expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
    expect(errors).toEqual([]);
  });

  test('makes an access code and deletes a device after a confirmation, by keyboard', async () => {
    const { page, errors } = opened;
    await page.selectOption(`${OCF} #seganet-live-ocf-show`, 'devices');
    const told = (/** @type {RegExp} */ wanted) =>
      until(async () => wanted.test((await page.textContent(`${OCF} [role=status]`)) ?? ''), {
        what: () => `${wanted}`
      });
    await page.getByLabel('Access code for').focus();
    await page.keyboard.type('carol');
    await page.keyboard.press('Enter');
    await page.waitForSelector(`${OCF} [role=alertdialog]:has-text("as the user carol")`);
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Cancel');
    await page.keyboard.press('Escape');
    await page.waitForSelector(`${OCF} [role=alertdialog]`, { state: 'hidden' });
    expect(
      await page.getByLabel('Access code for').evaluate((input) => input === document.activeElement)
    ).toBe(true);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await told(/^One device can sign up as carol until /);
    const code = (await page.textContent(`${OCF} code`)) ?? '';
    expect(await page.textContent(`${OCF} [role=status]`)).not.toContain(code);
    const fresh = await Client.open(place);
    clients.push(fresh);
    expect((await fresh.signUp(code)).code).toBe('2.04');

    await page.fill(`${OCF} input[type=search]`, 'carol');
    await pages(page, /: 1 of 31 devices/);
    await rows(page, 'Devices')
      .getByRole('button', { name: `Delete ${fresh.di}` })
      .click();
    await page.locator(`${OCF} [role=alertdialog] button`, { hasText: 'Delete' }).click();
    await told(/was deleted/);
    await pages(page, /: 0 of 30 devices/);
    await page.getByLabel('Access code for').fill('two words');
    await page.getByRole('button', { name: 'Make an access code' }).click();
    await page.locator(`${OCF} [role=alertdialog] button`, { hasText: 'Make' }).click();
    await told(/must have 1 to 128 characters/);
    expect(errors.splice(0)).toEqual([expect.stringContaining('status of 400')]);
  });

  test('shows the regions of a cloud: why presence is not read, and each link with its state and reason', async () => {
    const { page, errors } = opened;
    let text = '';
    await until(
      async () => {
        text = (await page.textContent(OCF)) ?? '';
        return /Presence \(Kafka\)disconnected: .*127\.0\.0\.1:1/.test(text);
      },
      { what: () => `the state of presence in: ${text}` }
    );
    expect(text).toContain(`This region${REGION}`);
    expect(text).toContain('No other region has devices.');
    // There is no other gateway here, so the part of the page gets figures as a snapshot has them.
    const { region } = cloud;
    const cells = await page.evaluate(async (figures) => {
      const { regions } = await import(new URL('regions.mjs', document.baseURI).href);
      const { loadTexts } = await import(new URL('texts.mjs', document.baseURI).href);
      const part = regions(await loadTexts('', 'en-US'));
      part.update(figures, 1764000065000);
      return [...part.element.querySelectorAll('tbody tr')].map((row) =>
        [...row.cells].map((cell) => cell.textContent?.replaceAll('\u00a0', ' '))
      );
    }, region);
    expect(cells).toEqual([
      ['coaps+tcp://b.example:5685', 'up', '65 s', '3', '6', '7', '–'],
      ['coaps+tcp://c.example:5685', 'down', '65 s', '2', '0', '0', 'no answer to a Ping'],
      ['coaps+tcp://d.example:5685', 'down', '65 s', '1 (unknown)', '0', '0', 'ECONNREFUSED']
    ]);
    expect(errors).toEqual([]);
  });

  test('shows Kafka with its reason, fits a phone, and has enough contrast in both themes', async () => {
    const { page, errors } = opened;
    const uplink = page.locator(`${KAFKA} table[aria-label="Uplinks"] tbody tr`).first();
    await until(
      async () => (await uplink.locator('td').last().textContent())?.includes('127.0.0.1:1') ?? false,
      { what: 'the reason' }
    );
    expect(await uplink.locator('th').textContent()).toBe('plant');
    const source = await page.locator(`${KAFKA} table[aria-label="Sources"] tbody tr`).first().textContent();
    expect(source).toMatch(/orders: –/);
    await page.setViewportSize({ width: 320, height: 640 });
    expect(await overflow(page)).toBe(0);
    expect(await misfits(page)).toEqual([]);
    for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
      await page.emulateMedia({ colorScheme });
      const { ratio, text } = await lowestContrast(page, 'main');
      expect([colorScheme, ratio >= 4.5, ratio, text]).toEqual([colorScheme, true, ratio, text]);
    }
    expect(errors).toEqual([]);
  });

  test('is in the sidebar in German, and asks for no list while the section is closed', async () => {
    await opened.browser.close();
    opened = await openEditor(url, { executablePath: browserPath(), locale: 'de-DE' });
    const { page, errors } = opened;
    await page.waitForFunction(() => document.querySelector('.seganet-sidebar'));
    const asked = page.waitForRequest(/seganet\/live\?/);
    await page.evaluate(() => /** @type {any} */ (window).RED.sidebar.show('seganet-sidebar'));
    expect((await asked).url()).not.toContain('ocf=');
    await page.waitForSelector(`${OCF} summary:has-text("OCF-Clouds")`);
    const wanted = page.waitForRequest(/seganet\/live\?.*ocf=on/);
    await page.click(`${OCF} summary`);
    await wanted;
    await pages(page, /^Seite 1 von 2: 30 von 30 Geräten\.$/);
    expect(errors).toEqual([]);
  });

  test('the dialog of an ocf cloud keeps every field, shows TLS only with TLS, and its HTTP port opens', async () => {
    const { page, errors } = opened;
    const node = { id: 'cloud', type: 'seganet-ocf-cloud', config: false };
    const isShown = (/** @type {string} */ name) => page.isVisible(`#node-input-${name}`);
    await openDialog(page, node);
    await page.fill('#node-input-port', '5683');
    expect([await isShown('minTls'), await isShown('clientCert'), await isShown('httpPort')]).toEqual([
      ...[false, false, true]
    ]);
    await page.selectOption('#node-input-transport', 'tls');
    expect([await isShown('minTls'), await isShown('clientCert')]).toEqual([true, true]);
    expect(await page.inputValue('#node-input-port')).toBe('5684');
    await page.selectOption('#node-input-transport', 'tcp');
    expect(await page.inputValue('#node-input-port')).toBe('5683');
    const httpPort = String(await freePort());
    /** @type {Record<string, string>} */
    const fields = {
      name: 'plant',
      host: '127.0.0.1',
      port: String(place.port),
      sid: randomUUID(),
      endpoint: 'coap+tcp://cloud.example:5683',
      accessSeconds: '-1',
      refreshDays: '30',
      keepAliveS: '0',
      requestTimeoutMs: '5000',
      mostDevices: '50',
      recordTypes: 'x.a, x.b',
      presenceTopic: 'p/{device}',
      httpPort,
      httpHost: 'localhost'
    };
    for (const [name, value] of Object.entries(fields)) await page.fill(`#node-input-${name}`, value);
    await closeDialog(page, node, 'ok');
    const kept = () =>
      page.evaluate(() => {
        const { RED } = /** @type {any} */ (window);
        const { validationErrors, ...found } = RED.nodes.node('cloud');
        // The engine of this flow has settings of a test only.
        const why = [...(validationErrors ?? [])].filter((reason) => !reason.startsWith('Engine: '));
        return { ...found, why, _def: null, users: null };
      });
    expect(await kept()).toMatchObject({ ...fields, transport: 'tcp', why: [] });

    const wrong = {
      httpPort: '70000',
      httpHost: 'a b',
      sid: 'x',
      endpoint: 'http://x',
      accessSeconds: '0',
      mostDevices: '0',
      presenceTopic: 'a/#',
      recordTypes: 'x'.repeat(65)
    };
    await openDialog(page, node);
    for (const [name, value] of Object.entries(wrong)) await page.fill(`#node-input-${name}`, value);
    // The last one is checked when it loses the focus.
    await page.focus('#node-input-name');
    const marked = await page.$$eval('.red-ui-tray .input-error', (all) =>
      all.map(({ id }) => id.replace('node-input-', ''))
    );
    expect(marked.filter((name) => name !== 'engine').sort()).toEqual(Object.keys(wrong).sort());
    await closeDialog(page, node, 'cancel');

    // The cloud keeps the id of its devices.
    await openDialog(page, node);
    await page.fill('#node-input-sid', '');
    await page.fill('#node-input-httpHost', '127.0.0.1');
    await closeDialog(page, node, 'ok');
    const flow = await page.evaluate(() => /** @type {any} */ (window).RED.nodes.createCompleteNodeSet());
    await gateway.deploy(flow);
    await waitForPort(Number(httpPort), '127.0.0.1', 30000);
    const answer = await fetch(`http://127.0.0.1:${httpPort}/hc/`);
    expect(answer.status).toBe(401);
    expect(errors).toEqual([]);
  });
});

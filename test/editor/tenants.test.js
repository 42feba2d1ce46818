'use strict';
// The operator's page of the tenants, in a real browser: a real keeper with tenants that are processes, and a gateway
// with a login.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../bench/harness/child');
const { needs } = require('../../bench/harness/tools');
const { newHome, startFlow } = require('../fixtures/gateway/deployed');
const { until } = require('../runtime/process');
const { lowestContrast, misfits, overflow } = require('./support/appearance');
const { browserPath, openStatusPage } = require('./support/editor');

const { describe, test } = needs('chromium');
jest.setTimeout(120000);

const KEEPER = path.join(__dirname, '../../docker/tenants/main.js');
const TENANT = path.join(__dirname, '../fixtures/tenants/tenant.js');
/** Of the password "scrape me". */
const HASH = '$2b$08$XbjmKnzQk0mhehPYcDAtnOtJRWQUSwMP39siyK6UuquQghWdowd4C';
const SECTION = '[data-section="tenants"]';
const ONE = `${SECTION} .tenant`;

describe("the operator's page", () => {
  /** Of the keeper. */
  let home = '';
  /** @type {Child} */
  let keeper;
  /** @type {import('../fixtures/gateway/deployed').Deployed} */
  let gateway;
  let url = '';
  /** @type {Awaited<ReturnType<typeof openStatusPage>>} */
  let opened;

  async function startKeeper() {
    keeper = new Child(process.execPath, [KEEPER, 'run'], {
      env: { ...process.env, SEGANET_HOME: home },
      name: 'keeper'
    });
    await keeper.until((output) => output.includes('listens on'), 30000);
  }

  beforeAll(async () => {
    home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-k-'));
    const entry = (/** @type {string} */ name, /** @type {string[]} */ ...args) => ({
      name,
      driver: 'process',
      limits: { memoryMiB: 4096 },
      warm: false,
      command: [process.execPath, TENANT, ...args]
    });
    const many = Array.from({ length: 997 }, (_, i) => entry(`t${String(i).padStart(3, '0')}`));
    const tenants = [
      entry('acme'),
      entry('broken', '--exit', '3'),
      entry('slow', '--delay', '600000'),
      ...many
    ];
    fs.mkdirSync(path.join(home, 'tenants'), { mode: 0o700 });
    const file = path.join(home, 'tenants', 'tenants.json');
    fs.writeFileSync(file, JSON.stringify({ version: 1, tenants }));
    await startKeeper();
    const socket = path.join(home, 'tenants', 'keeper.sock');
    const box = { z: 'tab', x: 100, y: 100, engine: 'engine' };
    gateway = await startFlow(
      [
        { id: 'tab', type: 'tab', label: 'front' },
        { id: 'engine', type: 'seganet-engine', workers: '1', acknowledge: 'safe' },
        { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
        { ...box, id: 'tenants', type: 'seganet-tenants', file, socket, wires: [] },
        {
          ...box,
          id: 'inject',
          type: 'inject',
          y: 300,
          topic: 't',
          payload: '1',
          payloadType: 'str',
          props: [{ p: 'payload' }, { p: 'topic', vt: 'str' }, { p: 'deviceId', v: 'broken:d', vt: 'str' }],
          wires: [['tenants']]
        },
        { ...box, id: 'out', y: 200, type: 'seganet-uplink', broker: 'broker', wires: [] }
      ],
      newHome(),
      { SEGANET_ADMIN_USER: 'admin', SEGANET_ADMIN_PASSWORD_HASH: HASH }
    );
    url = `http://127.0.0.1:${gateway.adminPort}/`;
    opened = await openStatusPage(url, { executablePath: browserPath(), width: 360 });
    await logIn();
    // The stream before the login was refused.
    opened.errors.length = 0;
  }, 120000);
  afterAll(async () => {
    await opened?.browser.close();
    await gateway?.stop();
    await keeper?.stop('SIGKILL');
    // Tenants outlive a keeper that is killed.
    const env = { ...process.env, SEGANET_HOME: home };
    for (const name of ['acme', 'slow'])
      await new Child(process.execPath, [KEEPER, 'remove', name, '--delete-data'], { env }).exited;
    fs.rmSync(home, { recursive: true, force: true });
  }, 60000);

  async function logIn() {
    const { page } = opened;
    await page.getByLabel('User name').fill('admin');
    await page.getByLabel('Password').fill('scrape me');
    await page.keyboard.press('Enter');
    await page.waitForSelector('form', { state: 'detached' });
  }
  /** @param {string} scope */
  async function tokenFor(scope) {
    const body = new URLSearchParams({
      client_id: 'node-red-admin',
      grant_type: 'password',
      username: 'admin',
      password: 'scrape me',
      scope
    });
    const answer = await fetch(`${url}auth/token`, { method: 'POST', body });
    return (await answer.json()).access_token;
  }
  /** @param {string} action @param {{ token?: string, body?: object, type?: string, node?: string }} [options] */
  const post = (action, { token = '', body = {}, type = 'application/json', node = 'tenants' } = {}) =>
    fetch(`${url}seganet/tenants/${node}/${action}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': type, ...(token && { authorization: `Bearer ${token}` }) }
    });
  /** @param {string} selector @param {RegExp} wanted */
  const shows = async (selector, wanted) => {
    let text = '';
    await until(
      async () => {
        text = ((await opened.page.textContent(selector)) ?? '').replaceAll('\u00a0', ' ');
        return wanted.test(text);
      },
      { what: () => `${wanted} in: ${text}`, timeoutMs: 30000 }
    );
  };
  const search = (/** @type {string} */ text) => opened.page.fill(`${SECTION} input[type=search]`, text);
  const press = (/** @type {string} */ name) =>
    opened.page.locator(ONE).getByRole('button', { name, exact: true }).click();
  async function choose(/** @type {string} */ name) {
    await search(name);
    await shows(`${SECTION} .pages`, /: 1 of 1000 tenants/);
    await opened.page.getByRole('button', { name: `Show tenant ${name}` }).click();
    await shows(`${ONE} h3`, new RegExp(`^${name}$`));
  }

  test('lists 1,000 tenants in pages, which a phone can use', async () => {
    const { page, errors } = opened;
    await shows(`${SECTION} .pages`, /^Page 1 of 40: 1000 of 1000 tenants\.$/);
    expect(await page.locator(`${SECTION} tbody tr`).count()).toBe(25);
    await shows(SECTION, /0 awake · 0 paused · 1000 asleep/);
    await page.locator(`${SECTION} .controls button`, { hasText: 'Next' }).click();
    await shows(`${SECTION} .pages`, /^Page 2 of 40/);
    expect(await overflow(page)).toBe(0);
    expect(await misfits(page)).toEqual([]);
    expect(errors).toEqual([]);
  });

  test('has no buttons for a login that may only read, and the gateway refuses its requests', async () => {
    const { page } = opened;
    await choose('acme');
    await shows(ONE, /This login may only read/);
    for (const name of ['Wake', 'Let it sleep', 'Back up now', 'Show its output'])
      expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0);
    const token = await tokenFor('seganet.read');
    for (const action of ['wake', 'sleep', 'backup', 'logs']) {
      const body = { tenant: 'acme' };
      expect([action, (await post(action, { token, body })).status]).toEqual([action, 403]);
      expect([action, (await post(action, { body })).status]).toEqual([action, 401]);
    }
    expect(keeper.output).not.toContain('acme');
  });

  test('refuses forms of other sites, and bodies that are not valid', async () => {
    const token = await tokenFor('seganet.read seganet.write');
    const tried = async (/** @type {string} */ action, /** @type {object} */ options) => {
      const answer = await post(action, { token, ...options });
      return [answer.status, /** @type {any} */ (await answer.json()).error];
    };
    const body = { tenant: 'acme' };
    expect(await tried('wake', { body, type: 'text/plain' })).toEqual([
      400,
      expect.stringMatching(/JSON|json/)
    ]);
    expect(await tried('wake', { body: { tenant: '../reload' } })).toEqual([
      400,
      expect.stringContaining('tenant')
    ]);
    expect(await tried('wake', { body, node: 'engine' })).toEqual([404, expect.any(String)]);
    expect(await tried('wake', { body: { tenant: 'unknown' } })).toEqual([404, expect.any(String)]);
    expect(await tried('sleep', { body: { ...body, force: 1 } })).toEqual([400, expect.any(String)]);
    expect(await tried('logs', { body: { ...body, lines: 1001 } })).toEqual([400, expect.any(String)]);
    expect((await post('remove', { token, body })).status).toBeGreaterThanOrEqual(400);
    expect(keeper.output).not.toContain('acme');
  });

  test('wakes a tenant, shows its output, makes a backup, and lets it sleep, after a login', async () => {
    const { page, errors } = opened;
    await press('Log in to change something');
    await page.waitForSelector('form:has-text("may change things")');
    await logIn();
    await shows(ONE, /Wake/);
    errors.length = 0;
    await page.locator(ONE).getByRole('button', { name: 'Wake', exact: true }).focus();
    await page.keyboard.press('Enter');
    await shows(`${ONE} [role=status]`, /It is awake: start, ready after/);
    await shows(
      `${ONE} dl`,
      /Stateawake \(for .*by an operator: start, ready after .*Driverprocess, not isolated/s
    );
    await shows(`${ONE} dl`, /Memory\d+(\.\d)? MiB \/ 4\.0 GiB/);
    await press('Show its output');
    await shows(`${ONE} pre`, /tenant acme starts/);
    await press('Back up now');
    await shows(`${ONE} [role=status]`, /The backup was made/);
    await shows(`${ONE} dl`, /Last backup\d+(\.\d)? m?s ago, not checked/);
    const env = { ...process.env, SEGANET_HOME: home };
    const args = [KEEPER, 'restore', 'acme', '--from', 'latest', '--check', '--no-start'];
    await new Child(process.execPath, args, { env }).exited;
    await shows(`${ONE} dl`, /Last backup\d+(\.\d)? m?s ago, checked/);
    await press('Let it sleep');
    await page.waitForSelector(`${ONE} [role=alertdialog]:has-text("Stop the tenant acme?")`);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await shows(`${ONE} [role=status]`, /It is asleep/);
    await shows(`${ONE} dl`, /Stateasleep/);
    expect(keeper.output).toMatch(/acme: stopped/);
    expect(errors).toEqual([]);
  });

  test('asks again before it stops a tenant that is in use', async () => {
    const { page } = opened;
    const { KeeperClient } = require('../../nodes/lib/tenants/keeper/keeper-client');
    const client = new KeeperClient({ socket: path.join(home, 'tenants', 'keeper.sock') });
    await client.lease('acme', { reason: 'operator', class: 1, holder: 'test' }, { timeoutMs: 30000 });
    await shows(`${ONE} dl`, /Stateawake.*Leases1/s);
    await press('Let it sleep');
    await page.locator(`${ONE} [role=alertdialog] button`, { hasText: 'Let it sleep' }).click();
    await page.waitForSelector(`${ONE} [role=alertdialog]:has-text("acme is in use (1 leases).")`);
    await page.keyboard.press('Escape');
    await shows(`${ONE} dl`, /Stateawake/);
    await press('Let it sleep');
    await page.locator(`${ONE} [role=alertdialog] button`, { hasText: 'Let it sleep' }).click();
    await page.locator(`${ONE} [role=alertdialog] button`, { hasText: 'Stop it anyway' }).click();
    await shows(`${ONE} dl`, /Stateasleep.*Leases0/s);
    opened.errors.length = 0;
  });

  test('shows why a tenant failed, and cancels a start', async () => {
    const { page, errors } = opened;
    await choose('broken');
    await press('Wake');
    await shows(`${ONE} [role=status]`, /broken does not start: .*code 3.*cannot run/);
    await shows(`${ONE} dl`, /Statefailed, is tried again.*code 3/s);
    // A record that waits for it.
    const token = await tokenFor('*');
    const injected = await fetch(`${url}inject/inject`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` }
    });
    expect(injected.status).toBe(200);
    await shows(`${ONE} dl`, /Waiting\d+ B.*Records in the lognormal 1/s);
    const metrics = await fetch(`${url}seganet/metrics`, { headers: { authorization: `Bearer ${token}` } });
    const text = await metrics.text();
    expect(text).toMatch(
      /^seganet_tenant_state\{engine="engine",tenant="broken",state="(retrying|failed)"\} 1$/m
    );
    expect(text).toMatch(/^seganet_tenant_waiting_bytes\{engine="engine",tenant="broken"\} [1-9]/m);
    expect(text).toMatch(/^seganet_tenants_left_out\{engine="engine"\} 900$/m);
    await choose('slow');
    await press('Wake');
    await shows(`${ONE} dl`, /Stateis being woken/);
    await page.selectOption(`${SECTION} select`, 'trouble');
    await search('');
    await shows(`${SECTION} .pages`, /: 1 of 1000 tenants/);
    await press('Let it sleep');
    await page.waitForSelector(`${ONE} [role=alertdialog]:has-text("Cancel the start of the tenant slow?")`);
    await page.locator(`${ONE} [role=alertdialog] button`, { hasText: 'Let it sleep' }).click();
    await shows(`${ONE} [role=status]`, /It is asleep/);
    errors.length = 0;
  });

  test('is short in the sidebar: the counts, tenants that need attention, and a link', async () => {
    const { page, errors } = opened;
    await page.evaluate(async () => {
      const load = (/** @type {string} */ name) => import(new URL(name, document.baseURI).href);
      const [{ Panel }, { loadTexts }] = [await load('panel.mjs'), await load('texts.mjs')];
      const token = () => sessionStorage.getItem('seganet-token');
      const panel = new Panel({ t: await loadTexts('', 'en-US'), root: '', token, isSidebar: true });
      const place = document.createElement('div');
      place.className = 'seganet-sidebar';
      place.append(panel.element);
      document.body.append(place);
      panel.setVisible(true);
    });
    const own = `.seganet-sidebar ${SECTION}`;
    await shows(own, /999 asleep · 1 failed, (is tried again|stays down).*brokenfailed, .*code 3/s);
    await shows(`${own} a`, /^All tenants$/);
    expect(await page.locator(`${own} tbody tr`).count()).toBe(1);
    expect(await page.locator(`${own} button`).count()).toBe(0);
    await page.evaluate(() => document.querySelector('.seganet-sidebar')?.remove());
    expect(errors).toEqual([]);
  });

  test('says that the keeper is away, also in German', async () => {
    const { page } = opened;
    await keeper.stop('SIGKILL');
    await shows(SECTION, /The keeper of the tenants does not answer.*ECONNREFUSED/);
    await shows(SECTION, /1000 unknown/);
    for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
      await page.emulateMedia({ colorScheme });
      const { ratio, text } = await lowestContrast(page, 'main');
      expect([colorScheme, ratio >= 4.5, ratio, text]).toEqual([colorScheme, true, ratio, text]);
    }
    await page.goto(`${url}seganet/?lang=de`);
    await shows(SECTION, /Der Keeper der Mandanten antwortet nicht/);
    await startKeeper();
    await shows(SECTION, /0 wach · 0 angehalten · (1000|999) schläft/);
  });
});

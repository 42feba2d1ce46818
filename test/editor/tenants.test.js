'use strict';
// The operator's page of the tenants, in a real browser: a real keeper with tenants that are processes, and a gateway
// with a login.

const path = require('node:path');
const { needs } = require('../../bench/harness/tools');
const { lowestContrast, misfits, overflow } = require('./support/appearance');
const { ONE, OperatorPage, SECTION } = require('./support/operator-page');

const { describe, test } = needs('chromium');
jest.setTimeout(120000);

const TENANT = path.join(__dirname, '../fixtures/tenants/tenant.js');

describe("the operator's page", () => {
  /** @type {OperatorPage} */
  let site;
  /** @type {OperatorPage['opened']} */
  let opened;

  beforeAll(async () => {
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
    const inject = {
      id: 'inject',
      type: 'inject',
      y: 300,
      topic: 't',
      payload: '1',
      payloadType: 'str',
      props: [{ p: 'payload' }, { p: 'topic', vt: 'str' }, { p: 'deviceId', v: 'broken:d', vt: 'str' }],
      wires: [['tenants']]
    };
    site = new OperatorPage();
    await site.open({ tenants }, { nodes: [inject], width: 360 });
    ({ opened } = site);
  }, 120000);
  afterAll(() => site?.close('acme', 'slow'), 60000);

  async function choose(/** @type {string} */ name) {
    await site.search(name);
    await site.shows(`${SECTION} .pages`, /: 1 of 1000 tenants/);
    await opened.page.getByRole('button', { name: `Show tenant ${name}` }).click();
    await site.shows(`${ONE} h3`, new RegExp(`^${name}$`));
  }

  test('lists 1,000 tenants in pages, which a phone can use', async () => {
    const { page, errors } = opened;
    await site.shows(`${SECTION} .pages`, /^Page 1 of 40: 1000 of 1000 tenants\.$/);
    expect(await page.locator(`${SECTION} tbody tr`).count()).toBe(25);
    await site.shows(SECTION, /0 awake · 0 paused · 1000 asleep/);
    await page.locator(`${SECTION} .controls button`, { hasText: 'Next' }).click();
    await site.shows(`${SECTION} .pages`, /^Page 2 of 40/);
    expect(await overflow(page)).toBe(0);
    expect(await misfits(page)).toEqual([]);
    expect(errors).toEqual([]);
  });

  test('has no buttons for a login that may only read, and the gateway refuses its requests', async () => {
    const { page } = opened;
    await choose('acme');
    await site.shows(ONE, /This login may only read/);
    for (const name of ['Wake', 'Let it sleep', 'Back up now', 'Show its output'])
      expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0);
    const token = await site.tokenFor('seganet.read');
    for (const action of ['wake', 'sleep', 'backup', 'logs']) {
      const body = { tenant: 'acme' };
      expect([action, (await site.post(action, { token, body })).status]).toEqual([action, 403]);
      expect([action, (await site.post(action, { body })).status]).toEqual([action, 401]);
    }
    expect(site.keeper.output).not.toContain('acme');
  });

  test('refuses forms of other sites, and bodies that are not valid', async () => {
    const token = await site.tokenFor('seganet.read seganet.write');
    const tried = async (/** @type {string} */ action, /** @type {object} */ options) => {
      const answer = await site.post(action, { token, ...options });
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
    expect((await site.post('remove', { token, body })).status).toBeGreaterThanOrEqual(400);
    expect(site.keeper.output).not.toContain('acme');
  });

  test('wakes a tenant, shows its output, makes a backup, and lets it sleep, after a login', async () => {
    const { page, errors } = opened;
    await site.press('Log in to change something');
    await page.waitForSelector('form:has-text("may change things")');
    await site.logIn();
    await site.shows(ONE, /Wake/);
    errors.length = 0;
    await page.locator(ONE).getByRole('button', { name: 'Wake', exact: true }).focus();
    await page.keyboard.press('Enter');
    await site.shows(`${ONE} [role=status]`, /It is awake: start, ready after/);
    await site.shows(
      `${ONE} dl`,
      /Stateawake \(for .*by an operator: start, ready after .*Driverprocess, not isolated/s
    );
    await site.shows(`${ONE} dl`, /Memory\d+(\.\d)? MiB \/ 4\.0 GiB/);
    await site.press('Show its output');
    await site.shows(`${ONE} pre`, /tenant acme starts/);
    await site.press('Back up now');
    await site.shows(`${ONE} [role=status]`, /The backup was made/);
    await site.shows(`${ONE} dl`, /Last backup\d+(\.\d)? m?s ago, not checked/);
    await site.run('restore', 'acme', '--from', 'latest', '--check', '--no-start');
    await site.shows(`${ONE} dl`, /Last backup\d+(\.\d)? m?s ago, checked/);
    await site.press('Let it sleep');
    await page.waitForSelector(`${ONE} [role=alertdialog]:has-text("Stop the tenant acme?")`);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await site.shows(`${ONE} [role=status]`, /It is asleep/);
    await site.shows(`${ONE} dl`, /Stateasleep/);
    expect(site.keeper.output).toMatch(/acme: stopped/);
    expect(errors).toEqual([]);
  });

  test('asks again before it stops a tenant that is in use', async () => {
    const { page } = opened;
    const { KeeperClient } = require('../../nodes/lib/tenants/keeper/keeper-client');
    const client = new KeeperClient({ socket: site.socket });
    await client.lease('acme', { reason: 'operator', class: 1, holder: 'test' }, { timeoutMs: 30000 });
    await site.shows(`${ONE} dl`, /Stateawake.*Leases1/s);
    await site.press('Let it sleep');
    await page.locator(`${ONE} [role=alertdialog] button`, { hasText: 'Let it sleep' }).click();
    await page.waitForSelector(`${ONE} [role=alertdialog]:has-text("acme is in use (1 leases).")`);
    await page.keyboard.press('Escape');
    await site.shows(`${ONE} dl`, /Stateawake/);
    await site.press('Let it sleep');
    await page.locator(`${ONE} [role=alertdialog] button`, { hasText: 'Let it sleep' }).click();
    await page.locator(`${ONE} [role=alertdialog] button`, { hasText: 'Stop it anyway' }).click();
    await site.shows(`${ONE} dl`, /Stateasleep.*Leases0/s);
    opened.errors.length = 0;
  });

  test('shows why a tenant failed, and cancels a start', async () => {
    const { page, errors } = opened;
    await choose('broken');
    await site.press('Wake');
    await site.shows(`${ONE} [role=status]`, /broken does not start: .*code 3.*cannot run/);
    await site.shows(`${ONE} dl`, /Statefailed, is tried again.*code 3/s);
    // A record that waits for it.
    const token = await site.tokenFor('*');
    const injected = await fetch(`${site.url}inject/inject`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` }
    });
    expect(injected.status).toBe(200);
    await site.shows(`${ONE} dl`, /Waiting\d+ B.*Records in the lognormal 1/s);
    const metrics = await fetch(`${site.url}seganet/metrics`, {
      headers: { authorization: `Bearer ${token}` }
    });
    const text = await metrics.text();
    expect(text).toMatch(
      /^seganet_tenant_state\{engine="engine",tenant="broken",state="(retrying|failed)"\} 1$/m
    );
    expect(text).toMatch(/^seganet_tenant_waiting_bytes\{engine="engine",tenant="broken"\} [1-9]/m);
    expect(text).toMatch(/^seganet_tenants_left_out\{engine="engine"\} 900$/m);
    await choose('slow');
    await site.press('Wake');
    await site.shows(`${ONE} dl`, /Stateis being woken/);
    await page.selectOption(`${SECTION} select`, 'trouble');
    await site.search('');
    await site.shows(`${SECTION} .pages`, /: 1 of 1000 tenants/);
    await site.press('Let it sleep');
    await page.waitForSelector(`${ONE} [role=alertdialog]:has-text("Cancel the start of the tenant slow?")`);
    await page.locator(`${ONE} [role=alertdialog] button`, { hasText: 'Let it sleep' }).click();
    await site.shows(`${ONE} [role=status]`, /It is asleep/);
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
    await site.shows(own, /999 asleep · 1 failed, (is tried again|stays down).*brokenfailed, .*code 3/s);
    await site.shows(`${own} a`, /^All tenants$/);
    expect(await page.locator(`${own} tbody tr`).count()).toBe(1);
    expect(await page.locator(`${own} button`).count()).toBe(0);
    await page.evaluate(() => document.querySelector('.seganet-sidebar')?.remove());
    expect(errors).toEqual([]);
  });

  test('says that the keeper is away, also in German', async () => {
    const { page } = opened;
    await site.keeper.stop('SIGKILL');
    await site.shows(SECTION, /The keeper of the tenants does not answer.*ECONNREFUSED/);
    await site.shows(SECTION, /1000 unknown/);
    for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
      await page.emulateMedia({ colorScheme });
      const { ratio, text } = await lowestContrast(page, 'main');
      expect([colorScheme, ratio >= 4.5, ratio, text]).toEqual([colorScheme, true, ratio, text]);
    }
    await page.goto(`${site.url}seganet/?lang=de`);
    await site.shows(SECTION, /Der Keeper der Mandanten antwortet nicht/);
    await site.startKeeper();
    await site.shows(SECTION, /0 wach · 0 angehalten · (1000|999) schläft/);
  });
});

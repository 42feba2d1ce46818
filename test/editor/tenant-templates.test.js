'use strict';
// Templates, and logins of tenants, on the operator's page in a real browser.

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { freePort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { until } = require('../runtime/process');
const { findings, misfits, overflow } = require('./support/appearance');
const { ONE, OperatorPage, SECTION } = require('./support/operator-page');

const { test } = needs('chromium');
jest.setTimeout(120000);

const TENANT = path.join(__dirname, '../fixtures/tenants/tenant.js');
const TEMPLATES = `${SECTION} .templates`;

/** @type {OperatorPage} */
let site;
/** The password file of the tenants' pages. */
let users = '';
let pagesPort = 0;

beforeAll(async () => {
  site = new OperatorPage();
  users = path.join(site.own, 'users');
  fs.writeFileSync(users, '', { mode: 0o600 });
  const flow = path.join(site.home, 'flow.json');
  fs.writeFileSync(flow, '[]');
  const command = [process.execPath, TENANT];
  const templates = {
    pump: { driver: 'process', command, flow, most: 1, limits: { memoryMiB: 4096, volumeMiB: 1 } },
    plain: { driver: 'process', command }
  };
  pagesPort = await freePort();
  const settings = { pagesPort: String(pagesPort), pagesPasswordFile: users };
  const content = { tenants: [{ name: 'acme', driver: 'process', command }], templates };
  await site.open(content, { settings, width: 400 });
}, 120000);
afterAll(() => site?.close('pump-1'), 60000);

/** @param {string} user @param {string} password @returns {Promise<number>} status of a page of pump-1 */
const visit = async (user, password) => {
  const headers = {
    host: 'pump-1.localhost',
    authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  };
  const answered = { port: pagesPort, host: '127.0.0.1', path: '/', headers, agent: false };
  return new Promise((resolve, reject) => {
    http.get(answered, (response) => resolve(response.resume().statusCode ?? 0)).once('error', reject);
  });
};

test('only a login that may write makes tenants, removes them and rolls out', async () => {
  const token = await site.tokenFor('seganet.read');
  const bodies = {
    add: { tenant: 'pump-1', template: 'pump' },
    remove: { tenant: 'acme' },
    rollout: { template: 'pump' }
  };
  for (const [action, body] of Object.entries(bodies)) {
    expect([action, (await site.post(action, { token, body })).status]).toEqual([action, 403]);
    expect([action, (await site.post(action, { body })).status]).toEqual([action, 401]);
  }
  const read = await fetch(`${site.url}seganet/tenants/tenants/templates`, {
    headers: { authorization: `Bearer ${token}` }
  });
  expect([read.status, (await read.json()).templates.length]).toEqual([200, 2]);
  const writing = await site.tokenFor('seganet.read seganet.write');
  const tried = async (/** @type {string} */ action, /** @type {object} */ body) =>
    (await site.post(action, { token: writing, body })).status;
  expect(await tried('add', { tenant: 'pump-1', template: 'plain' })).toBe(409);
  expect(await tried('add', { tenant: 'pump-1', template: '../x' })).toBe(400);
  expect(await tried('add', { tenant: 'pump-1' })).toBe(400);
  expect(await tried('add', { tenant: 'Pump', template: 'pump' })).toBe(400);
  expect(await tried('remove', { tenant: 'acme' })).toBe(409);
  expect(await tried('rollout', { template: 'plain' })).toBe(400);
  expect(JSON.parse(fs.readFileSync(site.file, 'utf8')).tenants).toHaveLength(1);
});

test('makes a tenant, adds and revokes its logins, rolls a flow out, and removes the tenant', async () => {
  const { page, errors } = site.opened;
  await page.getByRole('button', { name: 'Show tenant acme' }).click();
  expect(await page.getByLabel('Name of the new tenant').isVisible()).toBe(false);
  await site.press('Log in to change something');
  await page.waitForSelector('form:has-text("may change things")');
  await site.logIn();
  errors.length = 0;
  await site.shows(TEMPLATES, /pump.*0, of these made here: 0 of 1.*plain.*0 \(made by the command only\)/s);
  await page.locator(TEMPLATES).getByLabel('Name of the new tenant').fill('pump-1');
  await page.keyboard.press('Enter');
  await site.shows(`${TEMPLATES} > [role=status]`, /The tenant pump-1 was made/);
  await site.shows(TEMPLATES, /1, of these made here: 1 of 1/);
  await site.search('pump-1');
  await page.getByRole('button', { name: 'Show tenant pump-1' }).click();
  await site.shows(`${ONE} dl`, /Stateasleep.*Templatepump/s);
  await page.locator(ONE).getByLabel('User: pump-1/').fill('alice');
  await page.keyboard.press('Enter');
  await site.shows(`${ONE} code`, /^[\w-]{24}$/);
  const password = (await page.textContent(`${ONE} code`)) ?? '';
  expect(fs.readFileSync(users, 'utf8')).toMatch(/^pump-1\/alice:\$scrypt/);
  await site.shows(`${ONE} tbody`, /pump-1\/alice/);
  expect([await visit('pump-1/alice', password), await visit('pump-1/alice', 'wrong')]).toEqual([404, 401]);
  expect(await overflow(page)).toBe(0);
  expect(await misfits(page)).toEqual([]);
  expect(await findings(page)).toEqual([]);
  await page.locator(ONE).getByRole('button', { name: 'Revoke: pump-1/alice' }).click();
  await page.locator(`${ONE} [role=alertdialog] button`, { hasText: 'Revoke' }).click();
  await until(() => fs.readFileSync(users, 'utf8') === '', { what: 'the end of the login' });
  // The gateway writes the file first, and then uses it.
  await until(async () => (await visit('pump-1/alice', password)) === 401, {
    what: 'the refusal of the login'
  });
  await page.locator(TEMPLATES).getByRole('button', { name: 'Roll its flow out: pump' }).click();
  await page.locator(`${TEMPLATES} [role=alertdialog] button`, { hasText: 'Roll its flow out' }).click();
  await site.shows(TEMPLATES, /0 of 1 done, now pump-1/);
  await site.shows(`${ONE} dl`, /Stateawake/);
  await site.press('Remove');
  await page.locator(`${ONE} [role=alertdialog] button`, { hasText: 'Remove' }).click();
  await site.shows(TEMPLATES, /0, of these made here: 0 of 1/);
  await page.waitForSelector(ONE, { state: 'hidden' });
  const kept = fs.readdirSync(path.join(site.home, 'tenants', 'volumes'));
  expect(kept).toContainEqual(expect.stringMatching(/^pump-1\.removed-/));
  expect(site.keeper.output).toMatch(/pump-1: added from the template pump for admin/);
  const audit = await fetch(`${site.url}seganet/audit?limit=50`, {
    headers: { authorization: `Bearer ${await site.tokenFor('*')}` }
  });
  const lines = (await audit.json()).lines.filter((/** @type {any} */ { what }) =>
    what.startsWith('seganet.')
  );
  for (const [what, detail] of [
    ['seganet.tenants.add', /tenant: pump-1, template: pump/],
    ['seganet.logins.add', /name: pump-1\/alice/],
    ['seganet.logins.revoke', /name: pump-1\/alice/],
    ['seganet.tenants.rollout', /template: pump/],
    ['seganet.tenants.remove', /tenant: pump-1/]
  ])
    expect(lines).toContainEqual(
      expect.objectContaining({ what, user: 'admin', detail: expect.stringMatching(detail) })
    );
  // What was refused before is no change.
  expect(lines.filter((/** @type {any} */ { what }) => what === 'seganet.tenants.add')).toHaveLength(1);
  expect(errors).toEqual([]);
  await page.goto(`${site.url}seganet/?lang=de`);
  await site.shows(TEMPLATES, /Vorlagen.*0, davon hier angelegt: 0 von 1/s);
  expect(await findings(page)).toEqual([]);
});

'use strict';
// The services of an overlay network on the status page, in a real browser: real services, a real node, and a gateway
// with a login.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Services } = require('../../flows/demo/overlay/services');
const { Child } = require('../../bench/harness/child');
const { freePort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { newHome, startFlow } = require('../fixtures/gateway/deployed');
const { NEEDED } = require('../fixtures/overlay/two-gateways');
const { until } = require('../runtime/process');
const { findings, misfits, overflow } = require('./support/appearance');
const { browserPath, openStatusPage } = require('./support/editor');

const { test } = needs('chromium', NEEDED);
jest.setTimeout(120000);

/** Of the password "scrape me". */
const HASH = '$2b$08$XbjmKnzQk0mhehPYcDAtnOtJRWQUSwMP39siyK6UuquQghWdowd4C';
const SECTION = '[data-section="overlayServices"]';
/** Within it: what the page says about the policy. */
const POLICY = 'textarea + [role=status]';

/** @type {(() => unknown)[]} */
const endings = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function start() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-o-'));
  endings.push(() => fs.rmSync(folder, { recursive: true, force: true }));
  const services = new Services({
    program: NEEDED,
    folder: path.join(folder, 's'),
    address: '127.0.0.1',
    port: await freePort(),
    relayPort: await freePort()
  });
  await services.start();
  endings.push(() => services.stop());
  const box = { z: 'tab', x: 100, y: 100, engine: 'gw' };
  const flow = [
    { id: 'tab', type: 'tab', label: 'services' },
    { id: 'gw', type: 'seganet-engine', workers: '1' },
    { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
    { ...box, id: 'out', type: 'seganet-uplink', broker: 'broker', wires: [] }
  ];
  const gateway = await startFlow(flow, newHome(), {
    SEGANET_ADMIN_USER: 'admin',
    SEGANET_ADMIN_PASSWORD_HASH: HASH,
    SEGANET_OVERLAY_ADMIN: path.join(folder, 's', 'admin.sock')
  });
  endings.push(() => gateway.stop());
  const url = `http://127.0.0.1:${gateway.adminPort}/`;
  const opened = await openStatusPage(url, { executablePath: browserPath(), width: 400 });
  endings.push(() => opened.browser.close());
  return { folder, services, url, ...opened };
}

/** @param {string} url of the editor @param {string} scope */
async function tokenFor(url, scope) {
  const login = {
    client_id: 'node-red-admin',
    grant_type: 'password',
    username: 'admin',
    password: 'scrape me'
  };
  const answer = await fetch(`${url}auth/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...login, scope })
  });
  return (await answer.json()).access_token;
}

/** @param {import('playwright-core').Page} page */
async function logIn(page) {
  await page.getByLabel('User name').fill('admin');
  await page.getByLabel('Password').fill('scrape me');
  await page.keyboard.press('Enter');
  await page.waitForSelector('form', { state: 'detached' });
}

test('a node is invited in the browser, joins, is seen online, and is refused after it was revoked there', async () => {
  const { folder, services, url, page, errors } = await start();
  const section = (/** @type {string} */ more) => page.locator(`${SECTION} ${more}`);
  const button = (/** @type {string} */ name) =>
    page.locator(SECTION).getByRole('button', { name, exact: true });
  /** @param {string} selector @param {RegExp} wanted */
  const shows = async (selector, wanted) => {
    let text = '';
    await until(async () => wanted.test((text = (await section(selector).first().textContent()) ?? '')), {
      what: () => `${wanted} in: ${text}`,
      within: 40000
    });
  };
  await logIn(page);

  // A login that may only read.
  await section('summary').click();
  await shows('> div > p:not(.controls)', /^Network plant: 0 online, 0 offline, 0 suspended, 0 revoked\./);
  await until(async () => /"allow"/.test(await section('textarea').inputValue()), { what: 'the policy' });
  expect(await section('textarea').isEditable()).toBe(false);
  for (const name of ['Invite', 'Save', 'Discard changes'])
    expect(await button(name).isVisible()).toBe(false);
  const token = await tokenFor(url, 'seganet.read');
  for (const action of ['invite', 'withdraw', 'revoke', 'resume', 'policy', 'policy/review']) {
    const headers = { 'content-type': 'application/json' };
    const post = (/** @type {object} */ more) =>
      fetch(`${url}seganet/overlay-services/${action}`, {
        method: 'POST',
        body: '{"name":"x"}',
        headers: { ...headers, ...more }
      });
    expect([action, (await post({ authorization: `Bearer ${token}` })).status]).toEqual([action, 403]);
    expect([action, (await post({})).status]).toEqual([action, 401]);
  }
  expect(await services.command('invitations')).toMatch(/no open invitation/);

  // Invited by keyboard; the line is shown once.
  await button('Log in').click();
  await page.waitForSelector('form:has-text("may change things")');
  await logIn(page);
  errors.length = 0;
  const form = page.locator(SECTION).getByRole('group', { name: 'Invite' });
  await form.getByLabel('Groups').fill('gateways, halls');
  await form.getByLabel('Node').fill('hall-3');
  await page.keyboard.press('Enter');
  await shows('code', /^seganet-overlay join --url https:/);
  await shows('tbody tr:has-text("invited")', /invitedhall-3–admin 127\.0\.0\.1gateways halls$/);
  const [, ...join] = (await section('code').textContent())?.split(' ') ?? [];
  await button('Copy').click();
  await shows('[role=status]', /^The line (was copied|is selected)/);
  await button('Withdraw: hall-3').waitFor();
  expect(await findings(page)).toEqual([]);
  expect(await overflow(page)).toBe(0);
  expect(await misfits(page)).toEqual([]);

  const state = path.join(folder, 'n');
  const joined = new Child(NEEDED, [...join, '--state', state], { name: 'join' });
  expect((await joined.exited).code).toBe(0);
  const node = new Child(NEEDED, ['node', '--state', state, '--port-mapping', 'off'], { name: 'node' });
  endings.push(() => node.stop('SIGKILL'));
  await shows('tbody tr', /^hall-3online127\.0\.0\.1\d+\.\d+\.\d+\S*gateways, halls0/);
  await page.locator(SECTION).getByText('There is no open invitation.').waitFor();

  // A policy is checked by line, and replaced after a question.
  const rule = '{ "from": "group:halls", "to": "node:hub", "ports": ["tcp/8883"] }';
  await section('textarea').fill(`{ "allow": [\n${rule},\n{ "from": "halls" }\n] }`);
  await shows('li', /^Line 3: rule 2: the selector "halls" is none of/);
  expect(await button('Save').isDisabled()).toBe(true);
  await section('textarea').fill(`{ "allow": [\n${rule}\n] }`);
  await page.locator(SECTION).getByText('group:halls (hall-3)').waitFor();
  await page.locator(SECTION).getByText('node:hub (no node)').waitFor();
  await button('Save').click();
  await section('.confirm:not([hidden]) button').filter({ hasText: 'Save' }).click();
  await shows(POLICY, /^Version \d+ is in force/);
  expect(JSON.parse(await services.command('policy')).allow).toEqual([JSON.parse(rule)]);
  await services.allow([]);
  await section('textarea').fill(`{ "allow": [\n\n${rule}\n] }`);
  await until(() => button('Save').isEnabled(), { what: 'the review' });
  await button('Save').click();
  await section('.confirm:not([hidden]) button').filter({ hasText: 'Save' }).click();
  await shows(POLICY, /^The policy was changed meanwhile/);
  await button('Discard changes').click();
  await until(async () => (await section('textarea').inputValue()) === '{ "allow": [] }', {
    what: 'the other policy'
  });

  // A copy of its keys runs: both programs are stopped, until the copy is gone and the node is resumed.
  const copied = path.join(folder, 'copy');
  fs.mkdirSync(copied, { mode: 0o700 });
  for (const name of ['identity.key', 'wireguard.key', 'membership.json'])
    fs.copyFileSync(path.join(state, name), path.join(copied, name));
  const copy = new Child(NEEDED, ['node', '--state', copied, '--port-mapping', 'off'], { name: 'copy' });
  endings.push(() => copy.stop('SIGKILL'));
  await shows('tbody tr', /^hall-3suspended: two programs used its identity: 127\.0\.0\.1, 127\.0\.0\.1/);
  await Promise.all([node, copy].map((each) => each.until((output) => /is used twice/.test(output), 20000)));
  await copy.stop('SIGKILL');
  expect(await misfits(page)).toEqual([]);
  await button('Resume: hall-3').click();
  await section('.confirm:not([hidden]) button').filter({ hasText: 'Resume' }).click();
  await shows('[role=status]', /hall-3 is resumed/);
  await shows('tbody tr', /^hall-3online/);

  await button('Revoke: hall-3').focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  expect(await services.command('nodes')).not.toMatch(/revoked/);
  await button('Revoke: hall-3').click();
  await section('.confirm:not([hidden]) button').filter({ hasText: 'Revoke' }).click();
  await shows('tbody tr', /^hall-3revoked/);
  await node.until((output) => /revoked|refused/.test(output), 20000);
  const again = new Child(NEEDED, [...join, '--state', state, '--again'], { name: 'join' });
  expect((await again.exited).code).not.toBe(0);
  expect(again.output).toMatch(/was used/);
  await button('Invite again: hall-3').click();
  await shows('[role=status]', /hall-3 returns with new keys/);
  expect(await form.getByLabel('Groups').inputValue()).toBe('gateways halls');

  expect(await services.command('audit')).toMatch(/revoked\s+hall-3\s+\(by admin 127\.0\.0\.1\)/);
  const lines = await fetch(`${url}seganet/audit`, {
    headers: { authorization: `Bearer ${await tokenFor(url, '*')}` }
  });
  expect((await lines.json()).lines.map((/** @type {any} */ { what }) => what)).toEqual(
    expect.arrayContaining(
      ['invite', 'policy', 'resume', 'revoke'].map((action) => `seganet.overlay.${action}`)
    )
  );

  // Without the services, and in German.
  await services.stop();
  await section('input[type=search]').fill('hall');
  await shows('> div > p:not(.controls)', /No services of an overlay network answer on .*ENOENT/);
  expect(errors.filter((text) => !/409|503/.test(text))).toEqual([]);
  await page.goto(`${url}seganet/?lang=de`);
  await section('summary').click();
  await shows('summary', /^Dienste des Overlays$/);
});

'use strict';
// Events and logins of devices on the status page, in a real browser.

const fs = require('node:fs');
const path = require('node:path');
const { needs } = require('../../bench/harness/tools');
const { newHome, startFlow } = require('../fixtures/gateway/deployed');
const { until } = require('../runtime/process');
const { browserPath, openStatusPage } = require('./support/editor');

const { test } = needs('chromium');
jest.setTimeout(300000);

const HOSTILE = '<img src=x onerror="window.hacked=1">';

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test('events are listed as text and acknowledged, and a login is added and revoked', async () => {
  const home = newHome();
  cleanups.push(() => fs.rmSync(home, { recursive: true, force: true }));
  const file = path.join(home, 'devices');
  fs.writeFileSync(file, '', { mode: 0o600 });
  const place = { z: 'tab', x: 0, y: 0, engine: 'gw' };
  const gateway = await startFlow(
    [
      { id: 'tab', type: 'tab', label: 'events' },
      { id: 'gw', type: 'seganet-engine', workers: '1' },
      { id: 'broker', type: 'seganet-uplink-broker', name: HOSTILE, url: 'mqtt://127.0.0.1:1' },
      {
        ...place,
        id: 'in',
        type: 'seganet-mqtt-devices',
        port: '0',
        login: 'passwords',
        passwordFile: file,
        wires: [['out']]
      },
      { ...place, id: 'out', type: 'seganet-uplink', broker: 'broker', wires: [] }
    ],
    home
  );
  cleanups.push(() => gateway.end('SIGKILL'));
  const url = `http://127.0.0.1:${gateway.adminPort}/`;
  const { browser, page } = await openStatusPage(url, { executablePath: browserPath(), width: 390 });
  cleanups.push(() => browser.close());

  const events = (/** @type {string} */ more) => page.locator(`[data-section="events"] ${more}`);
  // On a phone, the section is folded at first.
  await events('summary').click();
  const lost = () => events('tbody tr').filter({ hasText: 'is not connected' });
  await until(async () => (await lost().count()) === 1, { what: 'the event' });
  expect(await lost().textContent()).toContain(HOSTILE);
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
  await lost().locator('button').focus();
  await page.keyboard.press('Enter');
  await until(async () => lost().locator('button').isDisabled(), { what: 'the acknowledgement' });
  await events('input[type=checkbox]').check();
  await until(async () => (await events('tbody tr').count()) === 1, { what: 'only what lasts' });

  const logins = (/** @type {string} */ more) => page.locator(`[data-section="logins"] ${more}`);
  await logins('summary').click();
  await logins('input:not([type])').fill('pump');
  await page.keyboard.press('Enter');
  await until(async () => (await logins('code').textContent())?.length === 24, { what: 'the password' });
  await until(async () => (await logins('tbody tr').count()) === 1, { what: 'the login' });
  expect(fs.readFileSync(file, 'utf8')).toMatch(/^pump:\$scrypt\$/);
  await logins('tbody button').click();
  await logins('.confirm button').filter({ hasText: 'Revoke' }).click();
  await until(() => fs.readFileSync(file, 'utf8') === '', { what: 'the end of the login' });

  const audit = (/** @type {string} */ more) => page.locator(`[data-section="audit"] ${more}`);
  await audit('summary').click();
  await until(async () => (await audit('tbody tr').count()) >= 3, { what: 'the audit log' });
  expect(await audit('tbody').textContent()).toMatch(/seganet\.logins\.revoke/);
  const overflow = () =>
    page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(await overflow()).toBe(0);
});

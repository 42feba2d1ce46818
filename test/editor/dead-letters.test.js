'use strict';
// Dead letters on the status page, in a real browser: hostile names, a login that may only read, and the keyboard.

const { needs } = require('../../bench/harness/tools');
const { RefusingSite } = require('../fixtures/gateway/refusing-site');
const { until } = require('../runtime/process');
const { browserPath, openStatusPage } = require('./support/editor');

const { test } = needs('chromium');
jest.setTimeout(300000);

/** Of the password "scrape me". */
const HASH = '$2b$08$XbjmKnzQk0mhehPYcDAtnOtJRWQUSwMP39siyK6UuquQghWdowd4C';
const HOSTILE = '<img src=x onerror="window.hacked=1">\u202E';
const SECTION = '[data-section="deadLetters"]';

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test('are listed as text in pages, and sent again after a login that may do that', async () => {
  const site = await RefusingSite.start({ SEGANET_ADMIN_USER: 'admin', SEGANET_ADMIN_PASSWORD_HASH: HASH });
  cleanups.push(() => site.stop());
  // One after the other, so that each is a dead letter of its own.
  for (let n = 0; n < 30; n++) await site.publish(1, n === 0 ? HOSTILE : `pump-${n}`);

  const { browser, page } = await openStatusPage(site.url, { executablePath: browserPath(), width: 360 });
  cleanups.push(() => browser.close());
  const logIn = async () => {
    await page.getByLabel('User name').fill('admin');
    await page.getByLabel('Password').fill('scrape me');
    await page.keyboard.press('Enter');
  };
  await logIn();
  // A phone has it folded.
  await page.click(`${SECTION} summary`);
  const rows = () => page.locator(`${SECTION} tbody tr`);
  const waitFor = (/** @type {number} */ count) =>
    until(async () => (await rows().count()) === count, { what: `${count} dead letters` });
  await waitFor(25);
  const cells = await rows().first().locator('th, td').allTextContents();
  expect(cells[1]).toBe('<img src=x onerror="window.hacked=1">\\u{202e}');
  expect(cells.slice(2, 5)).toEqual(['d/pump/large', '3', '1']);
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
  const overflow = () =>
    page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(await overflow()).toBe(0);

  await page.locator(`${SECTION} .controls button`, { hasText: 'Next' }).click();
  await waitFor(5);
  await page.locator(`${SECTION} .controls button`, { hasText: 'Back' }).click();
  await waitFor(25);

  // The login of the page may only read.
  await site.accept();
  const told = () => page.textContent(`${SECTION} [role=status]`);
  await rows().first().locator('button').focus();
  await page.keyboard.press('Enter');
  await until(async () => /may only read/.test((await told()) ?? ''), { what: 'the reason' });
  expect(site.arrived).toEqual([]);
  await page.waitForSelector('form:has-text("may change things")');
  await logIn();
  await page.waitForSelector('form', { state: 'detached' });
  await rows().first().locator('button').focus();
  await page.keyboard.press('Enter');
  await until(async () => /sent again: 1, with 1/.test((await told()) ?? ''), { what: 'the result' });
  await until(() => site.broker.received.some(({ topic }) => topic === 'd/pump/large'), {
    what: 'the record'
  });
  await page.locator(`${SECTION} .controls button`, { hasText: 'Send all again' }).click();
  await until(async () => /sent again: 29, with 29/.test((await told()) ?? ''), {
    what: 'the result for all'
  });
  await waitFor(0);
  await page.waitForSelector(`${SECTION} .none:has-text("No dead letters.")`);
  await until(() => site.broker.received.filter(({ topic }) => topic === 'd/pump/large').length >= 30);
});

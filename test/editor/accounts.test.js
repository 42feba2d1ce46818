'use strict';
// The pages of the built-in accounts in a real browser, which adds headers of its own to their forms.

const { chromium } = require('playwright-core');
const { needs } = require('../../bench/harness/tools');
const { passwordOf, startProvider } = require('../fixtures/ocf/provider');
const { browserPath } = require('./support/editor');

const { test } = needs('chromium');
jest.setTimeout(60000);

test('a user logs in, agrees, and gets an access code', async () => {
  const provider = await startProvider();
  const browser = await chromium.launch({
    executablePath: browserPath(),
    args: ['--no-sandbox', '--disable-gpu']
  });
  try {
    const page = await browser.newPage();
    const open = async () => void (await page.goto(`${provider.issuer}/login`));
    await open();
    await page.fill('#user', 'alice');
    await page.fill('#password', passwordOf('alice'));
    await page.click('form button');
    const first = await page.inputValue('#code');
    expect(first).toMatch(/^[\w-]{20,}$/);
    // The browser has a session now: the next code needs the user's consent only.
    await open();
    await page.click('form button');
    expect(await page.inputValue('#code')).toMatch(/^[\w-]{20,}$/);
  } finally {
    await browser.close();
    await provider.stop();
  }
});

'use strict';

// A picture of the documentation: WebP, because that needs a quarter of the bytes of PNG. Only Chromium's own protocol
// makes it.

const fs = require('node:fs');
const path = require('node:path');
const { ROOT } = require('../../runtime/process');

const FOLDER = path.join(ROOT, 'docs', 'images');
const QUALITY = 80;

/** @typedef {import('playwright-core').Page} Page */

/**
 * @param {Page} page
 * @param {string} name in docs/images, without its extension
 * @param {{ x: number, y: number, width: number, height: number } | null} [clip] of the window; default: all of it
 */
async function picture(page, name, clip = null) {
  const file = path.join(FOLDER, `${name}.webp`);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const client = await page.context().newCDPSession(page);
  const options = { format: /** @type {const} */ ('webp'), quality: QUALITY };
  const { data } = await client.send('Page.captureScreenshot', {
    ...options,
    ...(clip && { clip: { ...clip, scale: 1 }, captureBeyondViewport: true })
  });
  await client.detach();
  fs.writeFileSync(file, Buffer.from(data, 'base64'));
  console.log(path.relative(ROOT, file));
}

/**
 * A picture of one element, in or out of sight.
 * @param {Page} page
 * @param {string} name
 * @param {string} selector
 */
async function pictureOf(page, name, selector) {
  const clip = await page.locator(selector).evaluate((element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    return { x: left + scrollX, y: top + scrollY, width, height };
  });
  await picture(page, name, clip);
}

module.exports = { FOLDER, picture, pictureOf };

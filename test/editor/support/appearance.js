'use strict';

// What a browser shows: its width, its colors, and the rules of axe-core.

const fs = require('node:fs');

const AXE = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** @typedef {import('playwright-core').Page} Page */

/** How far the page is wider than its window. @param {Page} page */
const overflow = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/** The lowest contrast of a text with its background. @param {Page} page @param {string} root */
function lowestContrast(page, root) {
  return page.evaluate((selector) => {
    const context = /** @type {CanvasRenderingContext2D} */ (
      document.createElement('canvas').getContext('2d')
    );
    const rgba = (/** @type {string} */ color) => {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = color;
      context.fillRect(0, 0, 1, 1);
      return [...context.getImageData(0, 0, 1, 1).data];
    };
    const light = (/** @type {number[]} */ color) => {
      const [r, g, b] = color.map((each) => {
        const part = each / 255;
        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (/** @type {Element | null} */ element) => {
      for (let at = element; at; at = at.parentElement) {
        const color = rgba(getComputedStyle(at).backgroundColor);
        if (color[3] === 255) return color;
      }
      return [255, 255, 255, 255];
    };
    let worst = { ratio: 21, text: '' };
    for (const element of document.querySelectorAll(`${selector} *`)) {
      const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim());
      const isShown = element.getClientRects().length > 0 && !element.matches(':disabled, .unseen');
      if (!own || !isShown) continue;
      const pair = [light(rgba(getComputedStyle(element).color)), light(behind(element))].sort(
        (a, b) => b - a
      );
      const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
      if (ratio < worst.ratio) worst = { ratio, text: `${element.tagName} ${element.textContent}` };
    }
    return worst;
  }, root);
}

/** Visible controls that are too small for a finger, or beyond the window. @param {Page} page */
function misfits(page) {
  return page.$$eval('.controls :is(select, input, button)', (all) =>
    all
      .filter((each) => each.getClientRects().length > 0)
      .map((each) => each.getBoundingClientRect())
      .filter((box) => box.height < 24 || box.right > innerWidth)
  );
}

/** Returns what axe-core finds serious or critical. @param {Page} page @returns {Promise<string[]>} */
async function findings(page) {
  // The page's own policy allows no script from elsewhere; this one comes from the browser's control channel.
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { violations } = await /** @type {any} */ (window).axe.run(document, {
      resultTypes: ['violations']
    });
    return violations
      .filter((/** @type {any} */ { impact }) => ['serious', 'critical'].includes(impact))
      .flatMap((/** @type {any} */ { id, nodes }) =>
        nodes.map((/** @type {any} */ { html }) => `${id}: ${html}`)
      );
  });
}

module.exports = { findings, lowestContrast, misfits, overflow };

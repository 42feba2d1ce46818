'use strict';

const { setTimeout: sleep } = require('node:timers/promises');

const LIMIT_MS = 20_000;
const EVERY_MS = 50;

/**
 * Waits until the test holds.
 * @param {string} what for the error @param {() => boolean} test @param {number} [limitMs]
 */
async function eventually(what, test, limitMs = LIMIT_MS) {
  const end = performance.now() + limitMs;
  while (!test()) {
    if (performance.now() > end) throw new Error(`Not within ${limitMs / 1000} s: ${what}.`);
    await sleep(EVERY_MS);
  }
}

module.exports = { eventually, sleep };

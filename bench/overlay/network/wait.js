'use strict';

const { setTimeout: sleep } = require('node:timers/promises');
const { eventually: poll } = require('../../harness/net');

const LIMIT_MS = 20_000;
const EVERY_MS = 50;

/**
 * Waits until the test holds.
 * @param {string} what for the error @param {() => boolean} test @param {number} [limitMs]
 */
const eventually = (what, test, limitMs = LIMIT_MS) =>
  poll(test, { timeoutMs: limitMs, everyMs: EVERY_MS, what });

module.exports = { eventually, sleep };

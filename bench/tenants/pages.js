'use strict';
// Held connections: the first byte of a page of a tenant that was stopped or paused (criterion 7).

const http = require('node:http');
const { COLD, HOST, PASSWORD, names, onStage } = require('./stage');

/** Several tenants, because the front keeps a lease for 5 s after a connection. */
const TENANTS = 4;
const REQUEST_MS = 60_000;
const PAUSE_MS = 30_000;
/** Paused at once, and never stopped. */
const WARM = { idleMs: 100, stopMs: 600_000, warm: true };

/**
 * @param {import('./stage').Stage} stage @param {string} tenant @param {string} [path]
 * @returns {Promise<{ status: number, firstByteMs: number, body: string }>}
 */
function page(stage, tenant, path = '/values') {
  return new Promise((resolve, reject) => {
    const from = performance.now();
    const request = http.get({
      host: HOST,
      port: stage.pagesPort,
      path,
      agent: false,
      timeout: REQUEST_MS,
      auth: `${tenant}/alice:${PASSWORD}`,
      headers: { host: `${tenant}.localhost:${stage.pagesPort}` }
    });
    request.once('timeout', () => request.destroy(new Error(`${path} of ${tenant} did not answer.`)));
    request.once('error', reject);
    request.once('response', async (response) => {
      const firstByteMs = performance.now() - from;
      let body = '';
      for await (const part of response.setEncoding('utf8')) body += part;
      resolve({ status: response.statusCode ?? 0, firstByteMs, body });
    });
  });
}

/**
 * @param {{ samples: number, isPaused: boolean, driver?: import('./stage').Driver }} options
 * @returns {Promise<{ firstByte: number[], refusals: number }>} ms from the first request; refusals: answers with 503,
 *   after which the page is asked for again
 */
function heldPages({ samples, isPaused, driver }) {
  const tenants = names(Math.min(TENANTS, samples));
  const times = isPaused ? WARM : COLD;
  return onStage({ tenants, times, driver, hasPages: true }, async (stage) => {
    await stage.prime();
    let refusals = 0;
    const pageOf = async (/** @type {string} */ tenant) => {
      const from = performance.now();
      for (;;) {
        const asked = performance.now() - from;
        const { status, firstByteMs, body } = await page(stage, tenant);
        if (status === 200) return asked + firstByteMs;
        // The front waits for 10 s.
        if (status !== 503 || asked > REQUEST_MS) {
          throw new Error(`The page of ${tenant} answered ${status}: ${body.slice(0, 200)}`);
        }
        refusals += 1;
      }
    };
    const rest = () => stage.keeper.untilState(tenants, [isPaused ? 'paused' : 'stopped'], PAUSE_MS);
    if (isPaused) {
      for (const tenant of tenants) await pageOf(tenant);
    } else {
      await stage.untilStopped(tenants);
    }
    /** @type {number[]} */
    const firstByte = [];
    while (firstByte.length < samples) {
      if (isPaused || firstByte.length > 0) await rest();
      // One after the other; the front's lease lets none of them rest before the last one was asked.
      for (const tenant of tenants.slice(0, samples - firstByte.length)) firstByte.push(await pageOf(tenant));
    }
    return { firstByte, refusals };
  });
}

module.exports = { heldPages, page };

'use strict';
// Asks the directory of a tenant, as a user of the tenant's pages does.

const http = require('node:http');

const LIMIT_MS = 30000;
const MOST_BYTES = 65536;
/** Longest wait for the record that answers the question, from the first answer: the tenant is awake by then. */
const RECORD_MS = 10000;
const RETRY_MS = 100;

/** Nothing that answers the question has arrived, or the tenant is still starting. */
class NothingYet extends Error {}

/**
 * Asks until the device's first record is there: the tenant wakes with the first record of any of its devices.
 * @param {Parameters<typeof askOnce>[0]} parts
 * @returns {Promise<Awaited<ReturnType<typeof askOnce>> & { ms: number }>} ms: time of the last question
 * @throws {Error} with a sentence
 */
async function temperatureOf(parts) {
  for (let end = Infinity; ;) {
    const began = performance.now();
    try {
      return { ...(await askOnce(parts)), ms: performance.now() - began };
    } catch (error) {
      if (!(error instanceof NothingYet)) throw error;
      end = Math.min(end, performance.now() + RECORD_MS);
      if (performance.now() > end)
        throw new Error(`the tenant has worked on none of its records within ${RECORD_MS / 1000} s.`, {
          cause: error
        });
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

/**
 * @param {object} parts
 * @param {number} parts.port of the tenants' pages
 * @param {string} parts.tenant
 * @param {string} parts.password of its user alice
 * @param {string} parts.room
 * @returns {Promise<{ value: number, unit: string, device: string, why: string }>}
 * @throws {Error} with a sentence
 */
function askOnce({ port, tenant, password, room }) {
  return new Promise((resolve, reject) => {
    const request = http.get(
      {
        host: '127.0.0.1',
        port,
        path: `/seganet/q?property=Temperature&room=${encodeURIComponent(room)}`,
        auth: `${tenant}/alice:${password}`,
        headers: { host: `${tenant}.localhost` },
        agent: false,
        timeout: LIMIT_MS
      },
      async (response) => {
        try {
          let text = '';
          for await (const part of response.setEncoding('utf8')) text = (text + part).slice(0, MOST_BYTES);
          const { statusCode } = response;
          if (statusCode === 404 || statusCode === 503) throw new NothingYet();
          if (statusCode !== 200) throw new Error(`its page answers with status ${statusCode}.`);
          resolve(JSON.parse(text));
        } catch (error) {
          reject(error);
        }
      }
    );
    request.once('timeout', () => request.destroy(new Error(`no answer in ${LIMIT_MS / 1000} s`)));
    request.on('error', reject);
  });
}

exports.temperatureOf = temperatureOf;

'use strict';
// Asks the directory of a tenant, as a user of the tenant's pages does.

const http = require('node:http');

const LIMIT_MS = 30000;
const MOST_BYTES = 65536;

/**
 * @param {object} parts
 * @param {number} parts.port of the tenants' pages
 * @param {string} parts.tenant
 * @param {string} parts.password of its user alice
 * @param {string} parts.room
 * @returns {Promise<{ value: number, unit: string, device: string, why: string }>}
 * @throws {Error} with a sentence
 */
function temperatureOf({ port, tenant, password, room }) {
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
          if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}: ${text.trim()}`);
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

'use strict';
// Opens the status page on a port of its own if Node-RED's settings ask for it: seganetEngineStatusPort and
// seganetEngineStatusHost.

const { StatusServer } = require('../live');
const { exposureProblem } = require('./join');

/** @typedef {import('http').IncomingMessage} Request @typedef {import('http').ServerResponse} Response */

/**
 * Never throws: without the page, records are carried all the same.
 * @param {import('node-red').NodeAPI} RED
 * @returns {Promise<InstanceType<typeof StatusServer> | null>} null = no port, or it could not be opened
 */
async function openStatusPort(RED) {
  const settings = /** @type {any} */ (RED.settings);
  const { seganetEngineStatusPort: wanted, seganetEngineStatusHost: host = '127.0.0.1' } = settings;
  if (wanted === undefined || wanted === 'off') return null;
  try {
    const port = /^\d{1,5}$/.test(String(wanted)) ? Number(wanted) : NaN;
    if (!(port < 65536)) throw new Error(`seganetEngineStatusPort must be a port or 'off', not ${wanted}.`);
    const server = /** @type {any} */ (RED).server;
    if (settings.httpAdminRoot === false || typeof server?.emit !== 'function')
      throw new Error(
        "It uses Node-RED's HTTP server and its login, which are off (SEGANET_EDITOR_PORT=off)."
      );
    const exposed = exposureProblem(String(host), null);
    if (exposed) throw new Error(exposed);
    const tls = typeof settings.https === 'function' ? await settings.https() : await settings.https;
    const page = new StatusServer({
      host: String(host),
      port,
      root: `/${String(settings.httpAdminRoot ?? '/')}/`.replace(/\/+/g, '/'),
      hasLogin: Boolean(settings.adminAuth),
      tls: tls ?? null,
      pass: (/** @type {Request} */ request, /** @type {Response} */ response) =>
        server.emit('request', request, response)
    });
    const opened = await page.open();
    RED.log.info(`status page: ${tls ? 'https' : 'http'}://${host}:${opened}/`);
    return page;
  } catch (error) {
    const { message, code } = /** @type {NodeJS.ErrnoException} */ (error);
    const why = code === 'EADDRINUSE' ? 'Another program uses it. Choose another port.' : message;
    RED.log.error(`The status page has no port of its own (${host}:${wanted}): ${why}`);
    return null;
  }
}

module.exports = { openStatusPort };

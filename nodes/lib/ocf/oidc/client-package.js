'use strict';
// Loads the OpenID Connect client, which users of a provider install beside the gateway.

const { createRequire } = require('node:module');
const { pathToFileURL } = require('node:url');

const PACKAGE = 'openid-client';
const VERSION = '6.8.9';

/**
 * @param {() => Promise<any>} [load] for tests
 * @returns {Promise<any>} the module
 * @throws {Error} with a sentence, and with `code` NO_CLIENT
 */
async function loadClient(load = () => import(PACKAGE)) {
  try {
    return await load();
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    const isMissing = code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND';
    const sentence =
      isMissing && message.includes(PACKAGE)
        ? `An OpenID provider needs the package ${PACKAGE}, which is not installed. Install it in the same folder: npm install ${PACKAGE}@${VERSION}. Then restart Node-RED.`
        : `The package ${PACKAGE} does not load (${message}). Install it again.`;
    throw Object.assign(new Error(sentence), { code: 'NO_CLIENT' });
  }
}

/** @returns {Promise<any>} jose, on which the OpenID Connect client depends: it verifies signed tokens */
async function loadJose() {
  const ofClient = createRequire(require.resolve(PACKAGE));
  return import(pathToFileURL(ofClient.resolve('jose')).href);
}

module.exports = { loadClient, loadJose };

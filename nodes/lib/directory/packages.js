'use strict';
// Loads the packages of searches, which users who want them install beside the gateway.

const { DirectoryError } = require('./directory-error');

const PACKAGES = /** @type {const} */ ({
  sparql: { name: 'oxigraph', version: '0.5.11', what: 'SPARQL' },
  jsonpath: { name: 'json-p3', version: '2.3.1', what: 'JSONPath' }
});

/**
 * @param {keyof typeof PACKAGES} kind
 * @param {(name: string) => any} [load] for tests
 * @returns {any} the module
 * @throws {DirectoryError} 501 if it is not installed
 */
function loadPackage(kind, load = require) {
  const { name, version, what } = PACKAGES[kind];
  try {
    return load(name);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    const isMissing = code === 'MODULE_NOT_FOUND' && message.includes(name);
    throw new DirectoryError(
      501,
      isMissing
        ? `${what} needs the package ${name}, which is not installed. Install it in the folder of Node-RED: npm install ${name}@${version}. No restart is needed.`
        : `The package ${name} does not load (${message}). Install it again.`
    );
  }
}

module.exports = { loadPackage };

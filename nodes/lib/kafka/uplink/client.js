'use strict';
// Loads the Kafka client, which users of Kafka install beside the gateway. Loading takes most of a second, so only the
// threads of Kafka do it.

const { howToInstall } = require('../../base/texts/how-to-install');

const PACKAGE = '@platformatic/kafka';
const VERSION = '2.12.1';

/** Why Kafka cannot be used on this machine; the message is a sentence with a remedy. */
class NoClient extends Error {
  /** @param {string} code @param {string} sentence */
  constructor(code, sentence) {
    super(sentence);
    this.code = code;
  }
}

/** True for a Node.js that the client supports. @param {string} version such as 24.6.0 */
function isSupported(version) {
  const [major, minor] = version.split('.').map(Number);
  if (major === 22) return minor >= 22;
  return major > 24 || (major === 24 && minor >= 6);
}

/**
 * @param {{ version?: string, load?: () => any }} [parts] for tests
 * @returns {any} the module
 * @throws {NoClient}
 */
function loadClient({ version = process.versions.node, load = () => require(PACKAGE) } = {}) {
  if (!isSupported(version)) {
    throw new NoClient(
      'NODE_VERSION',
      `Kafka needs Node.js 22.22 or newer, or 24.6 or newer; this is Node.js ${version}. Update Node.js.`
    );
  }
  try {
    return load();
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    const isMissing =
      (code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND') && message.includes(PACKAGE);
    throw isMissing
      ? new NoClient(
          'NO_CLIENT',
          `Kafka needs the package ${PACKAGE}: ${howToInstall(`${PACKAGE}@${VERSION}`)}, then restart.`
        )
      : new NoClient('NO_CLIENT', `The package ${PACKAGE} does not load (${message}). Install it again.`);
  }
}

/** @returns {string} why Kafka cannot be used on this machine: a sentence with a remedy; '' = it can */
function missingClient() {
  try {
    loadClient({ load: () => require.resolve(PACKAGE) });
    return '';
  } catch (error) {
    return /** @type {NoClient} */ (error).message;
  }
}

module.exports = { NoClient, isSupported, loadClient, missingClient };

'use strict';
// Checks the address and the TLS node of a broker.

const { brokerUrlsOf, splitUrls } = require('./broker-url');
const { isLoopback } = require('../base/loopback');
const { variableIn } = require('../base/variable-reference');

/**
 * Checks the address of an uplink broker: one URL, or several.
 * @param {string} url
 * @returns {{ url: string, warning: string }}
 * @throws {Error} with a sentence
 */
function brokerAddress(url) {
  const places = brokerUrlsOf(url, 'The address of the uplink broker');
  const urls = splitUrls(url);
  const open = places.flatMap(({ host, secure }, i) =>
    secure || isLoopback(host) ? [] : [new URL(urls[i]).host]
  );
  const warning =
    open.length === 0
      ? ''
      : `The uplink to ${open.join(' and ')} is not encrypted. Use mqtts:// outside this machine.`;
  return { url, warning };
}

/**
 * @param {string} id of the tls-config node, '' for none
 * @param {any} node core tls-config node
 * @param {string} owner what the TLS node is for, such as "uplink broker", for the error
 * @param {object} [files] its local files. The caller reads them at each connection, so an unreadable file is no error
 *   yet
 * @returns {object} options of tls.connect(); empty = the system's certificate authorities
 * @throws {Error} with a sentence
 */
function tlsOptions(id, node, owner, files) {
  if (!id) return {};
  if (typeof node?.addTLSOptions !== 'function') {
    throw new Error(`The TLS node of the ${owner} is missing or disabled. Choose another one.`);
  }
  if (node.valid === false && !files) {
    throw new Error(
      `The TLS node "${node.name || id}" cannot be used, because its files could not be read. Correct them in that node.`
    );
  }
  return node.addTLSOptions({});
}

/**
 * Properties of a core tls-config node that name a file, by the node's certType.
 * @type {Record<string, Record<string, string>>}
 */
const PROPERTIES = { files: { ca: 'ca', cert: 'cert', key: 'key' }, pfx: { pfx: 'p12' } };

/**
 * Returns the local files of a core tls-config node. The node reads them once and keeps no paths, so the paths come
 * from its configuration.
 * @param {Record<string, any> | undefined} config of the tls-config node, as in the flow file
 * @param {(name: string) => unknown} variable value of an environment variable
 * @returns {{ ca?: string, cert?: string, key?: string, pfx?: string } | undefined} undefined if it uses none
 */
function tlsFiles(config, variable) {
  const type = config?.certType || 'files';
  if (!config || !Object.hasOwn(PROPERTIES, type)) return undefined;
  /** @type {Record<string, string>} */
  const files = {};
  for (const [name, property] of Object.entries(PROPERTIES[type])) {
    const text = String(config[property] ?? '').trim();
    const reference = variableIn(text);
    const file = reference ? String(variable(reference) ?? '').trim() : text;
    if (file) files[name] = file;
  }
  const isPair = Boolean(files.cert) === Boolean(files.key);
  return isPair && Object.keys(files).length > 0 ? files : undefined;
}

/**
 * Refuses a PFX file, for device listeners: they check their own certificate, which they need as PEM.
 * @param {any} node core tls-config node
 * @throws {Error} with a sentence
 */
function refusePfx(node) {
  if (node?.certType !== 'pfx') return;
  throw new Error(
    `The TLS node "${node.name || node.id}" contains a PFX file, which device listeners do not support. Enter a certificate and a private key as PEM files.`
  );
}

module.exports = { brokerAddress, tlsOptions, tlsFiles, refusePfx };

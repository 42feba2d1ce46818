'use strict';
// Reads the certificate and key of a device listener from its tls-config node.

const { refusePfx, tlsFiles } = require('./broker-options');

/** @typedef {import('../tls/tls-secrets').TlsContents} TlsContents */
/** @typedef {import('../tls/tls-secrets').TlsFiles} TlsFiles */

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {import('node-red').Node} node its environment resolves variables
 * @param {string} id of the tls-config node, '' for none
 * @returns {{ tls?: TlsContents, tlsFiles?: TlsFiles }}
 * @throws {Error} with a sentence
 */
function secretsOf(RED, node, id) {
  if (!id) return {};
  /** @type {any} */
  const tlsNode = RED.nodes.getNode(id);
  if (typeof tlsNode?.addTLSOptions !== 'function') {
    throw new Error('The TLS node of the devices is missing or disabled. Choose another one in the node.');
  }
  refusePfx(tlsNode);
  /** @type {Record<string, any> | undefined} */
  let config;
  RED.nodes.eachNode((each) => void (each.id === id && (config = each)));
  const files = tlsFiles(config, (name) => RED.util.evaluateNodeProperty(name, 'env', node, {}));
  const { ca, cert, key, passphrase } = tlsNode.addTLSOptions({});
  const contents = { ca: first(ca), cert: first(cert), key: first(key), passphrase };
  // Blank values are removed: they would count as empty certificates.
  const tls = Object.fromEntries(Object.entries(contents).filter(([, value]) => value?.length > 0));
  return { tls, ...(files && { tlsFiles: files }) };
}

/**
 * Unwraps a value. The tls-config node returns its CA as a list of one.
 * @param {any} value
 */
const first = (value) => (Array.isArray(value) ? value[0] : value);

exports.secretsOf = secretsOf;

'use strict';
// The certificate of an HTTP or TCP listener, from a core tls-config node.

const { refusePfx, tlsFiles, tlsOptions } = require('../../settings/broker-options');
const { configOf } = require('../../base/node-config');
const { tlsRules } = require('../../tls/tls-rules');

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {import('node-red').Node} node
 * @param {string} id of the tls-config node, '' = none
 */
function materialOf(RED, node, id) {
  const tlsNode = /** @type {any} */ (RED.nodes.getNode(id));
  refusePfx(tlsNode);
  const files = tlsFiles(configOf(RED, id), (name) => RED.util.evaluateNodeProperty(name, 'env', node, {}));
  const { ca, cert, key, passphrase } = /** @type {any} */ (tlsOptions(id, tlsNode, 'listener', files));
  if (!(files?.cert || cert) || !(files?.key || key)) {
    throw new Error('The TLS node of the listener has no certificate and key. Add both there.');
  }
  return {
    options: {
      cert,
      key,
      passphrase,
      minVersion: /** @type {const} */ ('TLSv1.2'),
      ...tlsRules({ hasKeys: false, hasCertificate: true })
    },
    ca,
    files
  };
}

/**
 * For clients that log in with something else than a certificate: the TLS node's certificate authority is not used.
 * @param {import('node-red').NodeAPI} RED
 * @param {import('node-red').Node} node
 * @param {string} id of the tls-config node, '' = none
 * @returns {import('./http-server').Tls | null}
 * @throws {Error} with a sentence
 */
function serverTls(RED, node, id) {
  if (!id) return null;
  const { options, files } = materialOf(RED, node, id);
  return { options, ...(files?.cert && { files: { cert: files.cert, key: files.key } }) };
}

/**
 * For clients that log in with a certificate of the TLS node's authority.
 * @param {import('node-red').NodeAPI} RED
 * @param {import('node-red').Node} node
 * @param {string} id of the tls-config node, '' = none
 * @returns {import('./http-server').Tls | null}
 * @throws {Error} with a sentence
 */
function mutualTls(RED, node, id) {
  if (!id) return null;
  const { options, ca, files } = materialOf(RED, node, id);
  if (!files?.ca && !ca) {
    // Without one, every public authority could name a tenant.
    throw new Error(
      'The TLS node of the listener has no CA certificate. Add that of the authority of your clients.'
    );
  }
  return { options: { ...options, ca }, ...(files && { files }) };
}

module.exports = { mutualTls, serverTls };

'use strict';
// The certificate of an http devices node, from a core tls-config node.

const { refusePfx, tlsFiles, tlsOptions } = require('../../settings/broker-options');
const { configOf } = require('../../base/node-config');
const { tlsRules } = require('../../tls/tls-rules');

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {import('node-red').Node} node
 * @param {string} id of the tls-config node, '' = none
 * @returns {import('./http-server').Tls | null}
 * @throws {Error} with a sentence
 */
function serverTls(RED, node, id) {
  if (!id) return null;
  const tlsNode = /** @type {any} */ (RED.nodes.getNode(id));
  refusePfx(tlsNode);
  const files = tlsFiles(configOf(RED, id), (name) => RED.util.evaluateNodeProperty(name, 'env', node, {}));
  const { cert, key, passphrase } = /** @type {any} */ (tlsOptions(id, tlsNode, 'listener', files));
  if (!(files?.cert || cert) || !(files?.key || key)) {
    throw new Error('The TLS node of the listener has no certificate and key. Add both there.');
  }
  // Tokens identify devices, so the TLS node's certificate authority is not used here.
  return {
    options: {
      cert,
      key,
      passphrase,
      minVersion: 'TLSv1.2',
      ...tlsRules({ hasKeys: false, hasCertificate: true })
    },
    ...(files?.cert && { files: { cert: files.cert, key: files.key } })
  };
}

exports.serverTls = serverTls;

'use strict';
// Certificates of the gateway that end soon: those of the TLS nodes of the flow.

const crypto = require('node:crypto');
const { secretsOf } = require('../settings/tls-node');
const { readRegular } = require('../base/files/regular-file');

const SOON_MS = 14 * 86_400_000;

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {number} now ms since 1970
 * @returns {import('../events/event-book').Fact[]} one for each certificate that has ended, or ends within 14 days
 */
function ends(RED, now) {
  /** @type {import('../events/event-book').Fact[]} */
  const facts = [];
  RED.nodes.eachNode((/** @type {any} */ { id, type, name, d }) => {
    if (type !== 'tls-config' || d) return;
    const until = endOf(RED, id);
    if (!(until < now + SOON_MS)) return;
    const params = { date: new Date(until).toISOString().slice(0, 10) };
    const isOver = until <= now;
    facts.push({
      kind: 'certificate',
      subject: name || id,
      key: isOver ? 'certificateEnded' : 'certificate',
      params,
      severity: isOver ? 'error' : 'warning'
    });
  });
  return facts;
}

/** @param {import('node-red').NodeAPI} RED @param {string} id of a TLS node @returns {number} NaN = it has no certificate */
function endOf(RED, id) {
  try {
    const node = /** @type {any} */ (RED.nodes.getNode(id));
    const { tls, tlsFiles } = secretsOf(RED, node, id);
    const pem = tlsFiles?.cert ? readRegular(tlsFiles.cert) : tls?.cert;
    return pem ? Date.parse(new crypto.X509Certificate(pem).validTo) : NaN;
  } catch {
    // Whoever uses the certificate reports why it cannot be read.
    return NaN;
  }
}

module.exports = { ends };

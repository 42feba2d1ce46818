'use strict';
// Certificates that end soon: those of the TLS nodes of the flow, and those of brokers.

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
    const fact = endFact(endOf(RED, id), now, { subject: name || id, key: 'certificate' });
    if (fact) facts.push(fact);
  });
  return facts;
}

/**
 * @param {number} until when a certificate ends, ms since 1970; NaN = there is none
 * @param {number} now
 * @param {{ subject: string, key: string, engine?: string }} about key: of the sentence; with Ended, of the one about a
 *   certificate that has ended
 * @returns {import('../events/event-book').Fact | null} null = it is valid for longer than 14 days
 */
function endFact(until, now, { key, ...about }) {
  if (!(until < now + SOON_MS)) return null;
  const isOver = until <= now;
  return {
    ...about,
    kind: 'certificate',
    key: isOver ? `${key}Ended` : key,
    params: { date: new Date(until).toISOString().slice(0, 10) },
    severity: isOver ? 'error' : 'warning'
  };
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

module.exports = { endFact, ends };

'use strict';

// The demo cloud's certificates: an authority of its own and a server certificate for this machine's loopback names.

const crypto = require('crypto');
const fs = require('fs');
const path = require('path');
const selfsigned = require('selfsigned');

const DAY_MS = 24 * 3600 * 1000;
const LIFETIME_MS = 365 * DAY_MS;
/** Renewed this long before they expire, so that a demo started today still works tomorrow. */
const RENEW_MS = 2 * DAY_MS;

/**
 * @typedef {object} Certificates
 * @property {string} caFile what a client must trust
 * @property {string} cert PEM
 * @property {string} key PEM
 */

/** @param {number} now */
function validity(now) {
  // Valid since an hour ago: a clock that is set back a little must not make them invalid.
  return { notBeforeDate: new Date(now - 3600 * 1000), notAfterDate: new Date(now + LIFETIME_MS) };
}

/**
 * @param {number} now
 * @returns {Promise<{ ca: string, cert: string, key: string }>} PEM texts; the authority's key is discarded
 */
async function generate(now) {
  const common = /** @type {const} */ ({
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    ...validity(now)
  });
  const authority = await selfsigned.generate([{ name: 'commonName', value: 'SegaNet demo authority' }], {
    ...common,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true }
    ]
  });
  const server = await selfsigned.generate([{ name: 'commonName', value: 'SegaNet demo cloud' }], {
    ...common,
    ca: { cert: authority.cert, key: authority.private },
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' }
        ]
      }
    ]
  });
  return { ca: authority.cert, cert: server.cert, key: server.private };
}

/**
 * @param {string} ca
 * @param {string} cert
 * @param {string} key
 * @param {number} now
 */
function areUsable(ca, cert, key, now) {
  try {
    const [authority, server] = [ca, cert].map((pem) => new crypto.X509Certificate(pem));
    const lasts = [authority, server].every(({ validFrom, validTo }) => {
      return Date.parse(validFrom) <= now && Date.parse(validTo) > now + RENEW_MS;
    });
    return (
      lasts && server.verify(authority.publicKey) && server.checkPrivateKey(crypto.createPrivateKey(key))
    );
  } catch {
    return false;
  }
}

/**
 * Returns the certificates in the folder, which are created at the first start and renewed before they expire.
 * @param {string} folder
 * @param {number} [now] ms since the epoch
 * @returns {Promise<Certificates>}
 */
async function demoCertificates(folder, now = Date.now()) {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const files = { ca: 'ca.pem', cert: 'server.pem', key: 'server-key.pem' };
  const [caFile, certFile, keyFile] = Object.values(files).map((name) => path.join(folder, name));
  if ([caFile, certFile, keyFile].every((file) => fs.existsSync(file))) {
    const [ca, cert, key] = [caFile, certFile, keyFile].map((file) => fs.readFileSync(file, 'utf8'));
    if (areUsable(ca, cert, key, now)) return { caFile, cert, key };
  }
  const { ca, cert, key } = await generate(now);
  fs.rmSync(keyFile, { force: true });
  fs.writeFileSync(keyFile, key, { mode: 0o600 });
  fs.writeFileSync(certFile, cert);
  fs.writeFileSync(caFile, ca);
  return { caFile, cert, key };
}

module.exports = { demoCertificates };

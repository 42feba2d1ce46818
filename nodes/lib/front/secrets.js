'use strict';
// What a TLS listener proves itself with, and knows its devices by. All of it may be in files that are replaced while it runs.

const crypto = require('node:crypto');
const tls = require('node:tls');
const { WatchedFiles } = require('../watched-files');
const { parseKeys } = require('./psk-file');

const MAX_FILE_BYTES = 16 << 20;
const NAMES = {
  ca: "authority's certificate for devices",
  cert: 'certificate for devices',
  key: 'private key for devices',
  psk: 'file of pre-shared keys'
};
const SUITES_1_3 = 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256';
/** Pre-shared keys are bound to SHA-256 (RFC 8446, 4.2.11): with a suite of another hash OpenSSL leaves them unused. */
const KEY_SUITES_1_3 = 'TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384';
/** Forward secrecy first; the last two are all that some small devices have. */
const PSK_SUITES = 'ECDHE-PSK-CHACHA20-POLY1305:PSK-AES128-GCM-SHA256:PSK-AES256-GCM-SHA384';
/** As Node's own list, without what TLS 1.2 has beside AEAD and ephemeral keys. */
const CERTIFICATE_SUITES =
  'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:' +
  'ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305';

/** @typedef {{ ca?: string, cert?: string, key?: string }} TlsFiles */
/** @typedef {{ ca?: string | Buffer, cert?: string | Buffer, key?: string | Buffer, passphrase?: string }} TlsContents */

class Secrets {
  /**
   * @param {object} options
   * @param {TlsContents} [options.tls] as contents
   * @param {TlsFiles} [options.tlsFiles] as files, which win
   * @param {string} [options.pskFile]
   * @param {'TLSv1.2' | 'TLSv1.3'} options.minTls
   * @param {boolean} options.asksCertificate
   */
  constructor({ tls: contents = {}, tlsFiles = {}, pskFile = '', minTls, asksCertificate }) {
    this.contents_ = contents;
    this.files_ = new WatchedFiles({ ...tlsFiles, psk: pskFile }, NAMES, MAX_FILE_BYTES);
    this.minTls_ = minTls;
    this.asksCertificate_ = asksCertificate;
    this.hasKeys = pskFile !== '';
    /** @type {Map<string, Buffer>} pre-shared keys by identity */
    this.keys = new Map();
  }

  /**
   * Reads all, and changes nothing unless all of it can be used.
   * @returns {import('node:tls').SecureContextOptions} of the server
   * @throws {Error} with a sentence
   */
  read() {
    const { psk, ...files } = this.files_.read();
    const given = { ...this.contents_, ...files };
    const keys = psk ? parseKeys(psk.toString('utf8')) : new Map();
    if (!this.hasKeys && (!given.cert || !given.key)) {
      throw new Error('The TLS node of the devices has no certificate or no private key. Give both there.');
    }
    if (this.asksCertificate_ && !given.ca) {
      throw new Error(
        "The TLS node of the devices has no CA certificate, so no device's certificate could be checked. Give it there."
      );
    }
    const options = this.#options(given);
    check(options);
    this.keys = keys;
    return options;
  }

  /** @param {TlsContents} given @returns {import('node:tls').SecureContextOptions} */
  #options({ ca, cert, key, passphrase }) {
    // In the order of preference: a client that offers suites for keys has a key.
    const suites = [
      ...(this.hasKeys ? [KEY_SUITES_1_3, PSK_SUITES] : [SUITES_1_3]),
      ...(cert ? [CERTIFICATE_SUITES] : [])
    ];
    const { SSL_OP_NO_RENEGOTIATION, SSL_OP_NO_TICKET } = crypto.constants;
    return {
      minVersion: this.minTls_,
      ciphers: suites.join(':'),
      // A client may ask for handshakes over and over in TLS 1.2: work for us, nothing for it.
      // A resumed session does not ask for the identity again, and in TLS 1.3 it looks like a key that was used.
      secureOptions: SSL_OP_NO_RENEGOTIATION | (this.hasKeys ? SSL_OP_NO_TICKET : 0),
      ...(cert && { cert }),
      ...(key && { key, passphrase }),
      // Without one Node takes the authorities of the web for the authority of our devices.
      ca: this.asksCertificate_ ? ca : []
    };
  }

  /** @returns {Promise<boolean>} */
  haveChanged() {
    return this.files_.haveChanged();
  }
}

/** @param {import('node:tls').SecureContextOptions} options @throws {Error} with a sentence */
function check(options) {
  try {
    tls.createSecureContext(options);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    const remedy = /MISMATCH/.test(code ?? '')
      ? 'The key is not that of the certificate: give a pair'
      : 'Give PEM files, and the passphrase if the key has one';
    throw new Error(`The certificate or key for devices cannot be used (${code ?? message}). ${remedy}.`, {
      cause: error
    });
  }
  const cert = /** @type {string | undefined} */ (options.cert);
  if (!cert) return;
  const { validTo } = new crypto.X509Certificate(cert);
  if (Date.parse(validTo) > Date.now()) return;
  throw new Error(
    `The certificate for devices ended on ${validTo}: every device would refuse it. Renew it; the file is read again by itself.`
  );
}

exports.Secrets = Secrets;

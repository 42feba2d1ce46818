'use strict';
// The certificate and key of a TLS listener, and the authorities and keys that identify its devices. They may be in
// files that are replaced while the listener runs.

const crypto = require('node:crypto');
const tls = require('node:tls');
const { WatchedFiles } = require('../base/watched-files');
const { parseKeys } = require('./psk-file');
const { tlsRules } = require('./tls-rules');

const MAX_FILE_BYTES = 16 << 20;
const NAMES = {
  ca: "authority's certificate for devices",
  cert: 'certificate for devices',
  key: 'private key for devices',
  psk: 'file of pre-shared keys'
};
/** @typedef {{ ca?: string, cert?: string, key?: string }} TlsFiles */
/** @typedef {{ ca?: string | Buffer, cert?: string | Buffer, key?: string | Buffer, passphrase?: string }} TlsContents */

class TlsSecrets {
  #contents;
  #files;
  #minTls;
  #asksCertificate;

  /**
   * @param {object} options
   * @param {TlsContents} [options.tls] contents
   * @param {TlsFiles} [options.tlsFiles] files, which override the contents
   * @param {string} [options.pskFile]
   * @param {'TLSv1.2' | 'TLSv1.3'} options.minTls
   * @param {boolean} options.asksCertificate
   */
  constructor({ tls: contents = {}, tlsFiles = {}, pskFile = '', minTls, asksCertificate }) {
    this.#contents = contents;
    this.#files = new WatchedFiles({ ...tlsFiles, psk: pskFile }, NAMES, { maxBytes: MAX_FILE_BYTES });
    this.#minTls = minTls;
    this.#asksCertificate = asksCertificate;
    this.hasKeys = pskFile !== '';
    /** @type {Map<string, Buffer>} pre-shared keys by identity */
    this.keys = new Map();
  }

  /**
   * Reads all files, and changes nothing unless all of them can be used.
   * @returns {import('node:tls').SecureContextOptions} of the server
   * @throws {Error} with a sentence
   */
  read() {
    const { psk, ...files } = this.#files.read();
    const given = { ...this.#contents, ...files };
    const keys = psk ? parseKeys(psk.toString('utf8')) : new Map();
    if (!this.hasKeys && (!given.cert || !given.key)) {
      throw new Error('The TLS node of the devices has no certificate or no private key. Add both there.');
    }
    if (this.#asksCertificate && !given.ca) {
      throw new Error(
        "The TLS node of the devices has no CA certificate, so no device's certificate could be verified. Add it there."
      );
    }
    const options = this.#options(given);
    check(options);
    this.keys = keys;
    return options;
  }

  /** @param {TlsContents} given @returns {import('node:tls').SecureContextOptions} */
  #options({ ca, cert, key, passphrase }) {
    return {
      minVersion: this.#minTls,
      ...tlsRules({ hasKeys: this.hasKeys, hasCertificate: Boolean(cert) }),
      ...(cert && { cert }),
      ...(key && { key, passphrase }),
      // Never undefined: Node.js would then accept device certificates of all public authorities.
      ca: this.#asksCertificate ? ca : []
    };
  }

  /** @returns {Promise<boolean>} */
  haveChanged() {
    return this.#files.haveChanged();
  }
}

/** @param {import('node:tls').SecureContextOptions} options @throws {Error} with a sentence */
function check(options) {
  try {
    tls.createSecureContext(options);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    const remedy = /MISMATCH/.test(code ?? '')
      ? 'The key does not belong to the certificate. Use a matching pair'
      : 'Use PEM files, and the passphrase if the key has one';
    throw new Error(`The certificate or key for devices cannot be used (${code ?? message}). ${remedy}.`, {
      cause: error
    });
  }
  const cert = /** @type {string | undefined} */ (options.cert);
  if (!cert) return;
  const { validTo } = new crypto.X509Certificate(cert);
  if (Date.parse(validTo) > Date.now()) return;
  throw new Error(
    `The certificate for devices expired on ${validTo}, so every device would refuse it. Renew it; the gateway reads the file again on its own.`
  );
}

exports.TlsSecrets = TlsSecrets;

'use strict';
// The certificate, authorities and pre-shared keys of a DTLS listener, as the engine takes them.

const fs = require('node:fs');
const { TlsSecrets } = require('./tls-secrets');

const DAY_MS = 86_400_000;
const OTHERS = 0o077;
/** DtlsOptions.partFrom by TenantRule.from. */
const PART_FROM = /** @type {const} */ ({
  none: 'none',
  user: 'none',
  port: 'fixed',
  psk: 'identity',
  certificate: 'organization'
});

/**
 * @typedef {object} DtlsListenerOptions
 * @property {import('./tls-secrets').TlsContents} [tls]
 * @property {import('./tls-secrets').TlsFiles} [tlsFiles] read again when they change
 * @property {string} [pskFile] of pre-shared keys; the identity is the device id
 * @property {'no' | 'wanted' | 'required'} clientCert
 * @property {'cn' | 'san'} certIdentity
 * @property {import('../base/tenant-id').TenantRule} [tenant] makes the device id of a proven one; default: it stays
 *
 * @typedef {import('../../../native/index.js').DtlsOptions} DtlsOptions
 */

class DtlsSecrets {
  #options;
  #secrets;
  #readAt;

  /** @param {DtlsListenerOptions} options */
  constructor(options) {
    this.#options = options;
    const asksCertificate = options.clientCert !== 'no';
    this.#secrets = new TlsSecrets({ ...options, minTls: 'TLSv1.2', asksCertificate });
    this.#readAt = 0;
  }

  /**
   * Reads all files.
   * @param {number} [now] ms
   * @returns {DtlsOptions}
   * @throws {Error} with a sentence
   */
  read(now = Date.now()) {
    const { clientCert, certIdentity, tenant } = this.#options;
    const { cert, key, passphrase, ca } = /** @type {Record<string, any>} */ (this.#secrets.read());
    this.#readAt = now;
    const { keys, hasKeys } = this.#secrets;
    return {
      ...(cert && { cert }),
      ...(key && { key, passphrase }),
      ...(clientCert !== 'no' && { ca }),
      ...(hasKeys && { identities: [...keys.keys()], keys: [...keys.values()] }),
      deviceCertificate: clientCert,
      idFrom: certIdentity,
      ...(tenant && { partFrom: PART_FROM[tenant.from], part: tenant.name })
    };
  }

  /**
   * True if a file was replaced, or after a day: the keys that encrypt session tickets last as long as what read()
   * returned, so they are replaced daily.
   * @param {number} [now] ms
   * @returns {Promise<boolean>}
   */
  async areDue(now = Date.now()) {
    return now - this.#readAt >= DAY_MS || this.#secrets.haveChanged();
  }

  /** @returns {string} a sentence if other users may read the keys; else '' */
  complaint() {
    const { pskFile } = this.#options;
    if (!pskFile || !(fs.statSync(pskFile).mode & OTHERS)) return '';
    return (
      `Other users can read or write ${pskFile}, and who has a key can be its device. ` +
      `Make it private: chmod 600 ${pskFile}`
    );
  }
}

exports.DtlsSecrets = DtlsSecrets;

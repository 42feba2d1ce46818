'use strict';
// Which gateways this one trusts: those with a certificate that an authority of the TLS node signed, and that has the
// right name.

const net = require('node:net');
const tls = require('node:tls');
const { WatchedFiles } = require('../../../base/watched-files');
const { tlsRules } = require('../../../tls/tls-rules');
const { parseAddress } = require('./address');

/** @typedef {import('node:crypto').X509Certificate} X509Certificate */
/** @typedef {{ ca?: string | Buffer, cert?: string | Buffer, key?: string | Buffer, passphrase?: string }} Contents */

const MOST_FILE_BYTES = 16 << 20;
const NAMES = {
  ca: "authority's certificate for regions",
  cert: 'certificate for regions',
  key: 'private key for regions'
};

/** The certificate and key of this gateway, and the authorities of the others. */
class LinkSecrets {
  #contents;
  #files;

  /** @param {{ contents: Contents, files?: { ca?: string, cert?: string, key?: string } }} given files come first */
  constructor({ contents, files = {} }) {
    this.#contents = contents;
    this.#files = new WatchedFiles(files, NAMES, { maxBytes: MOST_FILE_BYTES });
  }

  /**
   * @returns {import('node:tls').SecureContextOptions} for both ends of a link
   * @throws {Error} with a sentence
   */
  read() {
    const { ca, cert, key, passphrase } = { ...this.#contents, ...this.#files.read() };
    if (!cert || !key) {
      throw new Error('The TLS node of the regions has no certificate or no private key. Add both there.');
    }
    if (!ca) {
      throw new Error(
        'The TLS node of the regions has no CA certificate, so no other gateway could be verified. Add it there.'
      );
    }
    const options = {
      ...tlsRules({ hasKeys: false, hasCertificate: true }),
      minVersion: /** @type {const} */ ('TLSv1.3'),
      ca,
      cert,
      key,
      passphrase
    };
    try {
      tls.createSecureContext(options);
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      throw new Error(
        `The certificate or key for regions cannot be used (${code ?? message}). Enter PEM files that belong together.`,
        { cause: error }
      );
    }
    return options;
  }

  /** @returns {Promise<boolean>} */
  haveChanged() {
    return this.#files.haveChanged();
  }
}

/** @param {string} list separated by commas or spaces @returns {string[]} */
function parseNames(list) {
  return list.split(/[\s,]+/).filter(Boolean);
}

/**
 * Checks whether a verified certificate is that of a region.
 * @param {X509Certificate} certificate
 * @param {string} ci address of the region
 * @param {readonly string[]} names allowed names: a common name, an alternative name, or OU=name; empty: the
 *   certificate must be for the host in the address
 */
function isPeer(certificate, ci, names) {
  if (names.length === 0) {
    const { host } = parseAddress(ci) ?? { host: '' };
    if (host === '') return false;
    return Boolean(net.isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host));
  }
  const { CN, OU } = /** @type {{ CN?: string | string[], OU?: string | string[] }} */ (
    certificate.toLegacyObject().subject ?? {}
  );
  const own = [CN].flat();
  const units = [OU].flat();
  return names.some((name) => {
    if (/^OU=/i.test(name)) return units.includes(name.slice(3));
    if (net.isIP(name)) return Boolean(certificate.checkIP(name));
    // A common name counts as such, also beside alternative names.
    return own.includes(name) || Boolean(certificate.checkHost(name, { subject: 'never', wildcards: false }));
  });
}

/** @param {tls.TLSSocket} socket @param {string} ci @param {readonly string[]} names */
function isTrusted(socket, ci, names) {
  const certificate = socket.getPeerX509Certificate();
  return socket.authorized && certificate !== undefined && isPeer(certificate, ci, names);
}

module.exports = { LinkSecrets, parseNames, isPeer, isTrusted };

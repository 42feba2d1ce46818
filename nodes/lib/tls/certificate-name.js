'use strict';
// The device id in a client certificate that one of our certificate authorities signed.

const { MAX_DEVICE_BYTES } = require('../base/device-id');

const USED_SAN = /^(DNS|URI|email):/;

/**
 * @param {import('node:crypto').X509Certificate} certificate
 * @param {'cn' | 'san'} from
 * @returns {string} '' if the certificate has no unambiguous device id
 */
function deviceOf(certificate, from) {
  const device = from === 'cn' ? commonName(certificate) : alternativeName(certificate);
  const isGood =
    device !== '' && Buffer.byteLength(device) <= MAX_DEVICE_BYTES && !/[\p{Cc}\uFFFD]/u.test(device);
  return isGood ? device : '';
}

/**
 * @param {import('node:crypto').X509Certificate} certificate
 * @returns {string} '' if the certificate names none, or several
 */
function organizationOf(certificate) {
  return subjectName(certificate, 'O');
}

/** @param {import('node:crypto').X509Certificate} certificate */
function commonName(certificate) {
  return subjectName(certificate, 'CN');
}

/** @param {import('node:crypto').X509Certificate} certificate @param {'CN' | 'O'} part */
function subjectName(certificate, part) {
  const subject = /** @type {{ [name: string]: unknown }} */ ({ ...certificate.toLegacyObject().subject });
  const name = subject[part];
  // With two names, it is unknown which one the authority checked.
  return typeof name === 'string' ? name : '';
}

/**
 * Returns the first alternative name of a used kind.
 * @param {import('node:crypto').X509Certificate} certificate
 */
function alternativeName(certificate) {
  // Node.js quotes an ambiguous name as JSON (CVE-2021-44532).
  const names = (certificate.subjectAltName ?? '').match(/[^:,\s]+:(?:"(?:[^"\\]|\\.)*"|[^,]*)/g) ?? [];
  const name = names.find((each) => USED_SAN.test(each));
  if (!name) return '';
  const value = name.slice(name.indexOf(':') + 1);
  if (!value.startsWith('"')) return value;
  try {
    return String(JSON.parse(value));
  } catch {
    return '';
  }
}

exports.deviceOf = deviceOf;
exports.organizationOf = organizationOf;

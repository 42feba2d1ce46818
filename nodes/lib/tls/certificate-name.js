'use strict';
// The device id in a client certificate that an authority of ours has signed.

const { MAX_DEVICE_BYTES } = require('../base/device-id');

const USED_SAN = /^(DNS|URI|email):/;

/**
 * @param {import('node:crypto').X509Certificate} certificate
 * @param {'cn' | 'san'} from
 * @returns {string} '' when it has none that is one for sure
 */
function deviceOf(certificate, from) {
  const device = from === 'cn' ? commonName(certificate) : alternativeName(certificate);
  const isGood =
    device !== '' && Buffer.byteLength(device) <= MAX_DEVICE_BYTES && !/[\p{Cc}\uFFFD]/u.test(device);
  return isGood ? device : '';
}

/** @param {import('node:crypto').X509Certificate} certificate */
function commonName(certificate) {
  const { CN } = /** @type {{ CN?: string | string[] }} */ (certificate.toLegacyObject().subject ?? {});
  // Two of them: which one would the authority have checked?
  return typeof CN === 'string' ? CN : '';
}

/** The first of the kinds that name somebody. @param {import('node:crypto').X509Certificate} certificate */
function alternativeName(certificate) {
  // A name that could be taken for several is quoted as JSON by Node (CVE-2021-44532).
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

'use strict';

// The addon uses Node's OpenSSL, and must load without it.

const path = require('node:path');
const { execFileSync } = require('node:child_process');
const { needs } = require('../../../bench/harness/tools');

const addon = path.join(__dirname, '..', '..', '..', 'native', 'build', 'Release', 'seganet.node');
const OPENSSL =
  /^(ASN1|BIO|BN|CRYPTO|DTLS|DTLSv1|ERR|EVP|GENERAL_NAME|GENERAL_NAMES|OPENSSL|OpenSSL|PEM|RAND|SSL|TLS|X509|X509V3|d2i|i2d)_/;

const { test: withNm } = needs('nm');

withNm('calls only weak symbols of OpenSSL (core/tls/openssl.h)', () => {
  const symbols = execFileSync('nm', ['-D', '--undefined-only', addon], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, name]) => OPENSSL.test(name));
  expect(symbols.map(([, name]) => name)).toEqual(expect.arrayContaining(['SSL_new', 'DTLSv1_listen']));
  expect(symbols.filter(([kind]) => kind !== 'w')).toEqual([]);
});

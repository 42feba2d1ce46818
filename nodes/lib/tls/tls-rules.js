'use strict';
// What TLS listeners of devices allow, whatever protocol is above.

const { SSL_OP_NO_RENEGOTIATION, SSL_OP_NO_TICKET } = require('node:crypto').constants;

const SUITES_1_3 = 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256';
/** Pre-shared keys are bound to SHA-256 (RFC 8446, 4.2.11): with a suite of another hash OpenSSL leaves them unused. */
const KEY_SUITES_1_3 = 'TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384';
/** Forward secrecy first; the last two are all that some small devices have. */
const PSK_SUITES = 'ECDHE-PSK-CHACHA20-POLY1305:PSK-AES128-GCM-SHA256:PSK-AES256-GCM-SHA384';
/** As Node's own list, without what TLS 1.2 has beside AEAD and ephemeral keys. */
const CERTIFICATE_SUITES =
  'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:' +
  'ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305';

/**
 * @param {{ hasKeys: boolean, hasCertificate: boolean }} listener hasKeys: devices may have pre-shared keys
 * @returns {{ ciphers: string, secureOptions: number }} for tls.createServer()
 */
function tlsRules({ hasKeys, hasCertificate }) {
  // In the order of preference: a client that offers suites for keys has a key.
  const suites = [
    ...(hasKeys ? [KEY_SUITES_1_3, PSK_SUITES] : [SUITES_1_3]),
    ...(hasCertificate ? [CERTIFICATE_SUITES] : [])
  ];
  return {
    ciphers: suites.join(':'),
    // A client may ask for handshakes over and over in TLS 1.2: work for us, nothing for it.
    // A resumed session does not ask for the identity again, and in TLS 1.3 it looks like a key that was used.
    secureOptions: SSL_OP_NO_RENEGOTIATION | (hasKeys ? SSL_OP_NO_TICKET : 0)
  };
}

exports.tlsRules = tlsRules;

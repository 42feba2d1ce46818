'use strict';
// The TLS options of all device listeners, for any protocol above.

const { SSL_OP_NO_RENEGOTIATION, SSL_OP_NO_TICKET } = require('node:crypto').constants;

const SUITES_1_3 = 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256';
/** Pre-shared keys are bound to SHA-256 (RFC 8446, 4.2.11). With a suite of another hash, OpenSSL does not use them. */
const KEY_SUITES_1_3 = 'TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384';
/** Forward secrecy first. Some small devices have only the last two. */
const PSK_SUITES = 'ECDHE-PSK-CHACHA20-POLY1305:PSK-AES128-GCM-SHA256:PSK-AES256-GCM-SHA384';
/** The list of Node.js, without TLS 1.2 suites that lack AEAD or ephemeral keys. */
const CERTIFICATE_SUITES =
  'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:' +
  'ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305';

/**
 * @param {{ hasKeys: boolean, hasCertificate: boolean }} listener hasKeys: devices may have pre-shared keys
 * @returns {{ ciphers: string, secureOptions: number }} for tls.createServer()
 */
function tlsRules({ hasKeys, hasCertificate }) {
  // In order of preference. A client that offers suites for keys has a key.
  const suites = [
    ...(hasKeys ? [KEY_SUITES_1_3, PSK_SUITES] : [SUITES_1_3]),
    ...(hasCertificate ? [CERTIFICATE_SUITES] : [])
  ];
  return {
    ciphers: suites.join(':'),
    // No renegotiation: in TLS 1.2, a client could cause expensive handshakes at little cost to itself.
    // No tickets with keys: a resumed session does not send the identity, and in TLS 1.3 it looks like a used key.
    secureOptions: SSL_OP_NO_RENEGOTIATION | (hasKeys ? SSL_OP_NO_TICKET : 0)
  };
}

exports.tlsRules = tlsRules;

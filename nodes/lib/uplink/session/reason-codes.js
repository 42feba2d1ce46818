'use strict';

/**
 * @typedef {object} Reason
 * @property {string} code short, for a status line: ECONNREFUSED, CONNACK 135 …
 * @property {string} reason a sentence with a remedy
 * @property {boolean} refused the broker refused us, or our check refused the broker; waiting alone will not help
 * @property {boolean} [atOnce] there is another path: no pause before the next attempt
 * @property {boolean} [soon] the connection was useful, and we ended it: the back-off begins again
 * @property {boolean} [slow] needs a human decision: the connection is retried at long intervals
 */

/** @typedef {{host: string, port: number, minTls: string, protocolVersion: number}} Target */

/** @typedef {(t: Target) => string} Sentence */

/** @type {Record<string, Sentence>} */
const NETWORK = {
  ECONNREFUSED: (t) =>
    `Nothing listens at ${t.host}:${t.port}. Check the address and the port, and that the broker is running.`,
  ENOTFOUND: (t) => `The name ${t.host} is unknown. Check its spelling and this machine's DNS.`,
  EAI_AGAIN: (t) => `The name ${t.host} cannot be looked up now. Check this machine's DNS and network.`,
  ETIMEDOUT: (t) => `${t.host}:${t.port} does not answer. Check the network and the firewall.`,
  EHOSTUNREACH: (t) => `There is no route to ${t.host}. Check the network.`,
  ENETUNREACH: (t) => `There is no route to ${t.host}. Check the network.`,
  ECONNRESET: (t) =>
    `${t.host}:${t.port} closed the connection. Check that the port speaks the protocol in the URL (mqtts or mqtt).`,
  EPIPE: (t) => `${t.host}:${t.port} closed the connection.`,
  ENOTCONN: (t) => `${t.host}:${t.port} closed the connection.`
};

const LOCKED = () =>
  'The private key is encrypted, and the passphrase does not decrypt it. Correct the passphrase in the TLS node.';
const DAMAGED = () => 'A certificate or key of the TLS node is damaged. Enter the complete file again.';

/** @type {Record<string, Sentence>} */
const FILES = {
  ERR_OSSL_X509_KEY_VALUES_MISMATCH: () =>
    'The private key does not belong to the certificate. Enter a matching pair in the TLS node.',
  ERR_OSSL_PEM_NO_START_LINE: () =>
    'A certificate or key of the TLS node is not in PEM format. Enter a file that begins with -----BEGIN.',
  ERR_OSSL_UNSUPPORTED: () =>
    'The private key of the TLS node is not in PEM format, or its type is not supported here.',
  ERR_OSSL_BAD_DECRYPT: LOCKED,
  ERR_OSSL_CRYPTO_INTERRUPTED_OR_CANCELLED: LOCKED,
  ERR_OSSL_PEM_BAD_BASE64_DECODE: DAMAGED,
  ERR_OSSL_PEM_BAD_END_LINE: DAMAGED,
  ERR_NO_CRYPTO: () =>
    'This Node.js was built without TLS. Use a Node.js with TLS, or mqtt:// on a network that you trust.'
};

const UNTRUSTED = () =>
  "The broker's certificate is signed by an authority that is not trusted here. Add the authority's certificate in the TLS node.";

/** @type {Record<string, Sentence>} */
const TLS = {
  CERT_HAS_EXPIRED: () =>
    "The broker's certificate has expired. Renew it on the broker, or correct this machine's clock.",
  CERT_NOT_YET_VALID: () => "The broker's certificate is not valid yet. Correct this machine's clock.",
  ERR_TLS_CERT_ALTNAME_INVALID: (t) =>
    `The broker's certificate is not for ${t.host}. Use the name in the certificate, or set the server name in the TLS node.`,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: () =>
    "The broker's certificate is self-signed and not trusted here. Add this certificate as the authority in the TLS node.",
  CERT_SIGNATURE_FAILURE: UNTRUSTED,
  INVALID_PURPOSE: () =>
    "The broker's certificate is not a server certificate (its extended key usage). Issue one with serverAuth on the broker.",
  CERT_REVOKED: () => "The broker's certificate was revoked. Renew it on the broker."
};

/** CONNACK codes of MQTT 3.1.1 [3.2.2.3], and the equivalent reason codes of MQTT 5 [3.2.2.2]. */
const CREDENTIALS = () => 'The broker refused the user name or password. Check them in the broker node.';
const UNAUTHORIZED = () =>
  'The broker does not allow this client. Check the user name, the password and the rights of the client id.';
const CLIENT_ID = () => 'The broker refused the client id. Choose another in the broker node.';
const VERSION = (/** @type {Target} */ t) =>
  `The broker does not speak MQTT ${t.protocolVersion === 5 ? '5. Choose 3.1.1' : '3.1.1. Choose 5'} in the broker node.`;
const UNAVAILABLE = () => 'The broker reports that it is unavailable. Retrying.';
/** Temporary conditions. */
const PASSING = [3, 0x80, 0x83, 0x88, 0x89, 0x97, 0x9f];
/** Permanent conditions: frequent retries would only fill the broker's log, or get the client banned. */
const LASTING = [1, 2, 4, 5, 0x84, 0x85, 0x86, 0x87, 0x8a, 0x8c, 0x9d];
/** @type {Record<number, Sentence>} */
const CONNACK = {
  1: VERSION,
  2: CLIENT_ID,
  3: UNAVAILABLE,
  4: CREDENTIALS,
  5: UNAUTHORIZED,
  0x84: VERSION,
  0x85: CLIENT_ID,
  0x86: CREDENTIALS,
  0x87: UNAUTHORIZED,
  0x88: UNAVAILABLE,
  0x89: () => 'The broker is busy. Retrying.',
  0x8a: () => 'The broker has banned this client. Ask its administrator.',
  0x8c: () => 'The broker requires an authentication method other than user name and password.',
  0x97: () => "The broker's quota for this client is used up.",
  0x9c: () => 'The broker requests that clients use another server. Change the URL in the broker node.',
  0x9d: () => 'The broker has moved. Change the URL in the broker node.',
  0x9f: () => 'The broker accepts no more connections at this rate. Retrying.'
};

/** @type {Record<number, string>} */
const DISCONNECT = {
  0x81: 'The broker considers a packet malformed, possibly because of its topic.',
  0x82: 'The broker considers a packet a protocol error, possibly because of its topic.',
  0x89: 'The broker is busy.',
  0x8b: 'The broker is shutting down.',
  0x8d: 'The broker received nothing from this gateway for too long.',
  0x8e: 'Another client connected with the same client id. Give each gateway its own id.',
  0x90: 'The broker does not accept a topic.',
  0x93: 'The broker reports too many packets in flight. Lower "In flight" in the broker node.',
  0x95: 'The broker reports that a packet is too large. Lower the size of batches in the batch node.',
  0x96: 'The broker reports that this client sends too fast.',
  0x97: "The broker's quota for this client is used up.",
  0x98: 'An administrator of the broker closed the connection.'
};

/** The connection ended before the CONNACK, without a reason. @type {Reason} */
const NOT_ACCEPTED = {
  code: 'CLOSED',
  reason:
    'The broker closed the connection before it accepted this client. Check that the port is for MQTT, and check the certificate and key in the TLS node if the broker requires them.',
  refused: false
};

/**
 * @param {any} error
 * @param {Target} target
 * @returns {Reason}
 */
function explain(error, target) {
  const code = error.code === 'EPROTO' ? tlsCode(error.message) : error.code;
  if (typeof code === 'number') {
    const sentence = CONNACK[code];
    const reason = sentence ? sentence(target) : `The broker refused the connection (reason code ${code}).`;
    return {
      code: `CONNACK ${code}`,
      reason,
      refused: !PASSING.includes(code),
      slow: LASTING.includes(code)
    };
  }
  if (['OVERLAY_DIAL', 'PACKET_REFUSED'].includes(code))
    return { code, reason: error.message, refused: false };
  if (code === 'TLS_FILE') return { code, reason: error.message, refused: true };
  if (code in FILES) return { code, reason: FILES[code](target), refused: true };
  if (/^ERR_OSSL_ASN1_/.test(code)) return { code, reason: DAMAGED(), refused: true };
  if (code in NETWORK) return { code, reason: NETWORK[code](target), refused: false };
  if (code in TLS) return { code, reason: TLS[code](target), refused: true };
  if (/ALERT_PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|VERSION_TOO_LOW/.test(code)) {
    return { code, reason: noCommonTls(target), refused: true };
  }
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(code)) {
    const reason = `${target.host}:${target.port} does not speak TLS. Use its TLS port, or mqtt:// on a network that you trust.`;
    return { code, reason, refused: true };
  }
  if (/ALERT|BAD_CERTIFICATE/.test(code)) {
    const reason = `The broker refused the TLS connection (${code}). Check the certificate and key in the TLS node.`;
    return { code, reason, refused: true };
  }
  if (/connack timeout/.test(error.message)) {
    return {
      code: 'NO_CONNACK',
      reason: `${target.host}:${target.port} does not answer as an MQTT broker.`,
      refused: false
    };
  }
  if (/Keepalive timeout/.test(error.message)) {
    return { code: 'KEEPALIVE', reason: 'The broker did not answer the keep-alive ping.', refused: false };
  }
  return {
    code: String(code ?? 'ERROR'),
    reason: `The connection failed: ${error.message}.`,
    refused: false
  };
}

/**
 * Returns the code of an OpenSSL error. OpenSSL's errors arrive as EPROTO while something was being written, and with a
 * code of their own otherwise.
 * @param {string} message …:SSL routines:ssl3_read_bytes:tlsv1 alert protocol version:…
 */
function tlsCode(message) {
  const name = /SSL routines:[^:]*:([^:]+):/.exec(message)?.[1];
  return name ? `ERR_SSL_${name.toUpperCase().replaceAll(' ', '_')}` : 'EPROTO';
}

/**
 * Explains an error of an established connection.
 * @param {any} error
 * @param {Target} target
 * @returns {Reason}
 */
function explainConnected(error, target) {
  if (error.code !== 'ETIMEDOUT') return explain(error, target);
  const reason = `The connection to ${target.host}:${target.port} is dead: no data arrives. Check the network. Reconnecting.`;
  return { code: 'ETIMEDOUT', reason, refused: false };
}

/**
 * Names the server of a Server Reference [MQTT 3.2.2.3.16], which is reported but not followed.
 * @param {unknown} server
 */
function movedTo(server) {
  if (typeof server !== 'string' || server === '') return '';
  // The text goes into a status line and a log.
  // eslint-disable-next-line no-control-regex
  return ` The broker names ${server.replace(/[\x00-\x1f\x7f]/g, ' ').slice(0, 100)}.`;
}

/** @param {Target} target */
function noCommonTls(target) {
  return target.minTls === 'TLSv1.3'
    ? 'The broker does not speak TLS 1.3. Update the broker, or set the minimum TLS version to 1.2 in the broker node.'
    : 'The broker supports no TLS version that is allowed here. Update the broker.';
}

/** @param {number | undefined} reasonCode of a DISCONNECT from the broker @returns {Reason} */
function explainDisconnect(reasonCode = 0) {
  const reason = DISCONNECT[reasonCode] ?? `The broker closed the connection (reason code ${reasonCode}).`;
  return { code: `DISCONNECT ${reasonCode}`, reason, refused: false };
}

/** Names the reason of a DISCONNECT. @param {number} code 0 = the broker gave none */
function closeName(code) {
  if (code === 0) return 'the broker gives no reason';
  return `reason code ${hex(code)}: ${REFUSALS[code] ?? CLOSE_NAMES[code] ?? 'unknown'}`;
}

/** @param {number} code */
function hex(code) {
  return `0x${code.toString(16).toUpperCase()}`;
}

/** Reason codes of a DISCONNECT, in addition to those of REFUSALS [MQTT 3.14.2.1]. @type {Record<number, string>} */
const CLOSE_NAMES = {
  0x81: 'malformed packet',
  0x82: 'protocol error',
  0x89: 'server busy',
  0x8b: 'server shutting down',
  0x8d: 'keep alive timeout',
  0x8e: 'session taken over',
  0x8f: 'topic filter invalid',
  0x93: 'receive maximum exceeded',
  0x94: 'topic alias invalid',
  0x96: 'message rate too high',
  0x98: 'administrative action',
  0x9a: 'retain not supported',
  0x9b: 'QoS not supported',
  0x9c: 'use another server',
  0x9d: 'server moved',
  0x9e: 'shared subscriptions not supported',
  0x9f: 'connection rate exceeded',
  0xa0: 'maximum connect time',
  0xa1: 'subscription identifiers not supported',
  0xa2: 'wildcard subscriptions not supported'
};
/** Reason codes of a DISCONNECT that are about one of our packets: the same packet may have the same effect again. */
const PACKET_CODES = [0x81, 0x82, 0x87, 0x90, 0x94, 0x95, 0x99, 0x9a, 0x9b];
/**
 * Reason codes of a DISCONNECT that are about the broker or about this client: by their definition no packet is the
 * reason, but a broker may use them for a packet all the same.
 */
const STATE_CODES = [0x89, 0x8b, 0x8d, 0x8e, 0x93, 0x96, 0x97, 0x98, 0x9c, 0x9d, 0x9f, 0xa0];

/**
 * Returns what the reason code of a DISCONNECT says about the packets in flight: one of them is the reason ('packet'),
 * none is ('state'), or nothing, as without a DISCONNECT ('none').
 * @param {number} code 0 = the broker gave none
 * @returns {'packet' | 'state' | 'none'}
 */
function closeKind(code) {
  if (PACKET_CODES.includes(code)) return 'packet';
  return STATE_CODES.includes(code) ? 'state' : 'none';
}

/**
 * Returns the reason code of the broker's DISCONNECT, 0 = normal disconnection; null = the broker sent none.
 * @param {Reason | null} why
 * @returns {number | null}
 */
function closeCode(why) {
  const digits = /^DISCONNECT (\d+)$/.exec(why?.code ?? '')?.[1];
  return digits === undefined ? null : Number(digits);
}

/** @type {Record<number, string>} */
const REFUSALS = {
  0x80: 'unspecified error',
  0x83: 'implementation specific error',
  0x87: 'not authorized for this topic',
  0x90: 'topic name invalid',
  0x91: 'packet identifier in use',
  0x97: 'quota exceeded',
  0x95: 'packet too large',
  0x99: 'payload format invalid'
};

/** @param {number} code */
function refusalName(code) {
  return REFUSALS[code] ?? `reason code ${code}`;
}

module.exports = {
  NOT_ACCEPTED,
  closeCode,
  closeKind,
  closeName,
  explain,
  explainConnected,
  explainDisconnect,
  movedTo,
  refusalName
};

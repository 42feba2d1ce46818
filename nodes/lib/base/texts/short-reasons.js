'use strict';
// Reasons in a few words, for a node's status. The log has the sentence with the remedy.

/** By the code of an error. @type {Record<string, string>} */
const WORDS = {
  ECONNREFUSED: 'nothing listens there',
  ENOENT: 'not running',
  ENOTFOUND: 'name unknown',
  EAI_AGAIN: 'name lookup fails',
  ETIMEDOUT: 'no answer',
  NO_CONNACK: 'no MQTT broker there',
  KEEPALIVE: 'no answer',
  ACK_TIMEOUT: 'no acknowledgement',
  EHOSTUNREACH: 'no route',
  ENETUNREACH: 'no route',
  ECONNRESET: 'connection closed',
  EPIPE: 'connection closed',
  ENOTCONN: 'connection closed',
  CLOSED: 'connection closed',
  CERT_HAS_EXPIRED: 'certificate expired',
  CERT_NOT_YET_VALID: 'certificate not valid yet',
  CERT_REVOKED: 'certificate revoked',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate of another host',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate not trusted',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate not trusted',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate not trusted',
  CERT_SIGNATURE_FAILURE: 'certificate not trusted',
  INVALID_PURPOSE: 'no server certificate',
  TLS_FILE: 'certificate file unreadable',
  // MQTT 3.1.1 and 5.
  'CONNACK 1': 'other MQTT version',
  'CONNACK 132': 'other MQTT version',
  'CONNACK 2': 'client id refused',
  'CONNACK 133': 'client id refused',
  'CONNACK 3': 'broker not available',
  'CONNACK 136': 'broker not available',
  'CONNACK 4': 'broker refused login',
  'CONNACK 134': 'broker refused login',
  'CONNACK 5': 'broker refused login',
  'CONNACK 135': 'broker refused login',
  'CONNACK 140': 'broker refused login',
  'CONNACK 137': 'broker busy',
  'CONNACK 138': 'broker banned this client',
  'CONNACK 151': 'quota used up',
  'CONNACK 156': 'broker moved',
  'CONNACK 157': 'broker moved',
  URL_MOVED: 'changing the URL',
  URL_RETURN: 'changing the URL',
  'DISCONNECT 137': 'broker busy',
  'DISCONNECT 139': 'broker shuts down',
  'DISCONNECT 142': 'client id used twice',
  'DISCONNECT 151': 'quota used up',
  // Kafka.
  SASL: 'cluster refused login',
  SASL_AUTHENTICATION_FAILED: 'cluster refused login',
  UNSUPPORTED_SASL_MECHANISM: 'other login mechanism',
  CLUSTER_AUTHORIZATION_FAILED: 'not allowed in the cluster',
  TOPIC_AUTHORIZATION_FAILED: 'not allowed to write',
  UNKNOWN_TOPIC_OR_PARTITION: 'topic does not exist',
  NO_CLIENT: 'Kafka client not installed',
  NODE_VERSION: 'Node.js too old',
  // Parquet files.
  ENOSPC: 'disk full',
  EDQUOT: 'disk full',
  EACCES: 'folder not writable',
  EROFS: 'folder not writable',
  ENOTDIR: 'not a folder',
  IN_USE: 'folder in use',
  MANIFEST: 'manifest damaged',
  NO_PARQUET: 'Parquet library not installed',
  NoSuchBucket: 'no such bucket',
  NotS3: 'no store at this address',
  AccessDenied: 'store refused access',
  InvalidAccessKeyId: 'store refused access',
  SignatureDoesNotMatch: 'store refused access'
};

/** OpenSSL has many codes for one reason. @type {[RegExp, string][]} */
const KINDS = [
  [/ALERT_PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|VERSION_TOO_LOW/, 'TLS version too old'],
  [/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/, 'port without TLS'],
  [/^ERR_OSSL_/, 'certificate or key wrong'],
  [/ALERT|BAD_CERTIFICATE/, 'own certificate refused']
];

/**
 * @param {string} code of an error, such as ECONNREFUSED or CONNACK 135
 * @returns {string} '' = the code has no words
 */
function shortReason(code) {
  return (
    (Object.hasOwn(WORDS, code) ? WORDS[code] : KINDS.find(([pattern]) => pattern.test(code))?.[1]) ?? ''
  );
}

/** @returns {string[]} all words that shortReason can answer with */
const shortReasons = () => [...Object.values(WORDS), ...KINDS.map(([, words]) => words)];

module.exports = { shortReason, shortReasons };

'use strict';
// Checks the settings of an ocf cloud node.

const os = require('node:os');
const { LOCAL_HOST } = require('../../base/local-host');
const { isLoopback } = require('../../base/loopback');
const { choice, flag, integer, secret, text } = require('../../base/options');
const { offerRows } = require('../../settings/overlay-offer');
const { schemaOf } = require('../../settings/rows');
const { LIMITS, isPostgresUrl, parsePostgresUrl } = require('../cloud');
const region = require('./region-settings');

const PORTS = { tcp: 5683, tls: 5684 };
const ENDPOINT = /^coaps?\+tcp:\/\/[^\s/?#@]+$/;
const ISSUER = /^https?:\/\/[^\s?#@]{1,1000}$/;
const REDIRECT = /^[a-z][a-z0-9+.-]*:[^\s#]{1,1000}$/i;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Resource types of at most 64 characters, separated by commas or spaces. */
const RECORD_TYPES = /^[^\s,]{1,64}([\s,]+[^\s,]{1,64}){0,15}$/;
const MAX_TOPIC_BYTES = 1024;
/** Largest body that passes between a controller and a device. */
const MAX_BODY_BYTES = 256 * 1024;
/** A new device signs up and in within it; a person may be part of that. */
const IDENTIFY_MS = 60000;

const limited = (/** @type {string} */ name, /** @type {number} */ fallback) =>
  integer(...LIMITS[name], fallback);
const schema = {
  transport: choice(/** @type {const} */ (['tcp', 'tls']), 'tcp'),
  host: text('127.0.0.1', LOCAL_HOST.pattern, LOCAL_HOST.shape),
  // -1: the port of the transport.
  port: integer(0, 65535, -1),
  tls: text(''),
  minTls: choice(/** @type {const} */ (['TLSv1.2', 'TLSv1.3']), 'TLSv1.2'),
  clientCert: choice(/** @type {const} */ (['no', 'wanted', 'required']), 'no'),
  ...schemaOf(offerRows),
  sid: text('', UUID, 'a UUID'),
  endpoint: text('', ENDPOINT, 'an address such as coaps+tcp://cloud.example:5684'),
  storeFile: text(''),
  storePassword: secret,
  accessSeconds: limited('accessSeconds', 3600),
  refreshDays: limited('refreshDays', 90),
  keepAliveS: integer(0, 86400, 20),
  requestTimeoutMs: limited('requestTimeoutMs', 10000),
  mostDevices: limited('mostDevices', 10000),
  recordTypes: text('', RECORD_TYPES, 'a list of at most 16 resource types, or *'),
  presenceTopic: text('', /^[^+#\0]+$/, 'a topic without + and #'),
  // 0: no HTTP port.
  httpPort: integer(1, 65535, 0),
  httpHost: text('127.0.0.1', LOCAL_HOST.pattern, LOCAL_HOST.shape),
  httpTls: text(''),
  // '': users by access codes alone.
  issuer: text('', ISSUER, 'an address such as https://accounts.example'),
  clientId: text('', /^[\x21-\x7e]{1,256}$/, 'at most 256 characters without spaces'),
  clientSecret: secret,
  provider: text('', /^[^\p{Cc}]{1,64}$/u, 'at most 64 characters'),
  redirectUri: text('', REDIRECT, 'an address such as https://accounts.example/code'),
  asksAgain: flag(false),
  ...region.schema
};

/** @typedef {{ [K in keyof typeof schema]: ReturnType<(typeof schema)[K]> }} Values */

/**
 * Checks the properties that depend on each other.
 * @param {Values} values
 * @returns {string[]} warnings
 * @throws {RangeError} with a sentence
 */
function check(values) {
  const { transport, host, endpoint, accessSeconds, presenceTopic } = values;
  if (accessSeconds === 0) {
    throw new RangeError(
      'An access token cannot end at once. Enter its lifetime in seconds, or -1 for no end.'
    );
  }
  if (Buffer.byteLength(presenceTopic) > MAX_TOPIC_BYTES) {
    throw new RangeError(`The presence topic exceeds ${MAX_TOPIC_BYTES} bytes. Choose a shorter one.`);
  }
  if (transport === 'tls' && endpoint.startsWith('coap+tcp:')) {
    throw new RangeError(
      'The address for devices begins with coap+tcp, but the listener uses TLS. Begin it with coaps+tcp.'
    );
  }
  checkIssuer(values);
  const warnings = [];
  if (transport === 'tcp' && !isLoopback(host) && !endpoint.startsWith('coaps')) {
    warnings.push(
      `On ${host}, tokens of devices cross the network without encryption. Choose TLS, unless only devices are on that network.`
    );
  }
  const { httpPort, httpHost, httpTls, storeFile } = values;
  const store = isPostgresUrl(storeFile) ? parsePostgresUrl(storeFile) : null;
  if (store && !store.isLocal && store.mode === 'disable') {
    warnings.push(
      `The accounts cross the network to ${store.host} without encryption. Remove sslmode=disable from the address.`
    );
  }
  if (httpPort > 0 && !httpTls && !isLoopback(httpHost)) {
    warnings.push(
      `On ${httpHost}, tokens of users cross the network without encryption. Choose a TLS node for HTTP.`
    );
  }
  return warnings;
}

/** @param {Values} values @throws {RangeError} */
function checkIssuer({ issuer, clientId, clientSecret, redirectUri, asksAgain }) {
  if (!issuer) return;
  const url = URL.parse(issuer);
  if (!url) throw new RangeError('The issuer is not an address. Enter one such as https://accounts.example.');
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new RangeError('The issuer must begin with https, unless it is on this machine.');
  }
  if (!clientId) throw new RangeError('The issuer needs a client id. Enter the one that it gave the cloud.');
  if (!redirectUri) {
    throw new RangeError(
      'The issuer needs the redirect URI with which codes are requested. Enter the one that is registered there.'
    );
  }
  if (asksAgain && !clientSecret) {
    throw new RangeError(
      'The provider can be asked again only with a client secret, which encrypts what is kept for it. Enter the secret.'
    );
  }
}

/**
 * Returns the settings of the OpenID provider.
 * @param {Values} values
 */
function oidcSettings({ issuer, clientId, clientSecret, provider, redirectUri, asksAgain }) {
  return issuer ? { issuer, clientId, clientSecret, provider, redirectUri, asksAgain } : null;
}

/**
 * Returns the values that a listener of the engine needs.
 * @param {Values} values
 */
function listenerValues({ transport, host, port, tls, minTls, clientCert, overlay, overlayName }) {
  return {
    transport,
    host,
    port: port >= 0 ? port : PORTS[transport],
    proxies: '',
    tls,
    minTls,
    clientCert,
    // A device proves its id by its token.
    login: 'none',
    allowAnonymous: true,
    certIdentity: 'cn',
    passwordFile: '',
    identity: '',
    pskFile: '',
    tenantFrom: 'none',
    tenantName: '',
    overlay,
    overlayName,
    wsPath: '/',
    wsOrigins: '',
    wsMaxKiB: 1,
    acknowledgeMessages: 'handedOver',
    deliveryTimeoutS: 30,
    onDeliveryTimeout: 'refuse'
  };
}

/**
 * Returns where devices reach the cloud, if the user has not set it.
 * @param {Values} values
 * @param {number} port
 */
function defaultEndpoint({ transport, host }, port) {
  const isAny = /^(0\.0\.0\.0|::)$/.test(host);
  const name = isAny ? os.hostname() : host.includes(':') ? `[${host}]` : host;
  return `${transport === 'tls' ? 'coaps' : 'coap'}+tcp://${name}:${port}`;
}

module.exports = {
  schema,
  check,
  listenerValues,
  oidcSettings,
  defaultEndpoint,
  MAX_BODY_BYTES,
  IDENTIFY_MS
};

'use strict';
// The settings of an mqtt source node, for the session, the tap and the conversion of messages.

const { tlsOptions } = require('../../settings/broker-options');
const { isLoopback } = require('../../base/loopback');
const { integer, choice, recordClass, secret, text } = require('../../base/options');
const { brokerUrlOf } = require('../../settings/broker-url');
const { deliveryRows } = require('../../settings/delivery');
const { schemaOf } = require('../../settings/rows');
const { parseFilters } = require('./topic-filters');

/** Bytes of a packet in addition to its payload: topic, user properties and headers. */
const PACKET_EXTRA_BYTES = 70000;

const schema = {
  url: text('', /^\S+$/, 'an address such as mqtt://127.0.0.1:1883'),
  tls: text(''),
  minTls: choice(/** @type {const} */ (['TLSv1.3', 'TLSv1.2']), 'TLSv1.2'),
  protocolVersion: choice(/** @type {const} */ (['5', '4']), '5'),
  clientId: text('', /^[^\0]{1,128}$/, 'up to 128 characters'),
  username: text(''),
  password: secret,
  topics: text(''),
  qos: integer(0, 2, 1),
  session: choice(/** @type {const} */ (['persistent', 'clean']), 'persistent'),
  sessionExpiryS: integer(1, 4294967295, 86400),
  retained: choice(/** @type {const} */ (['take', 'ignore']), 'take'),
  deviceFrom: choice(/** @type {const} */ (['level', 'fixed', 'property']), 'level'),
  deviceLevel: integer(1, 128, 2),
  device: text('', /^[^\0]{1,256}$/, 'up to 256 characters'),
  classProperty: text('priority', /^[^\0]{1,256}$/, 'up to 256 characters'),
  class: recordClass(0),
  window: integer(1, 1000, 100),
  keepalive: integer(5, 65535, 30),
  reconnectMinMs: integer(10, 600000, 500),
  reconnectMaxMs: integer(10, 3600000, 30000),
  ...schemaOf(deliveryRows)
};

/** @typedef {{ [K in keyof typeof schema]: ReturnType<(typeof schema)[K]> }} Settings */

/**
 * @typedef {object} SourceOptions
 * @property {import('../../uplink/session/session').SessionOptions} session
 * @property {string[]} filters
 * @property {0 | 1 | 2} qos
 * @property {boolean} persistent
 * @property {number} sessionExpiryS MQTT 5
 * @property {boolean} takeRetained
 * @property {import('./message-record').ReadingOptions} reading
 * @property {number} window most packets without an acknowledgement
 * @property {number} maxPacketBytes
 */

/**
 * @param {Settings} settings
 * @param {{ clientId: string, maxPacketBytes: number, tls: object, tlsFiles?: object }} given clientId: the default
 * @returns {{ options: SourceOptions, warning: string }}
 * @throws {Error} with a sentence
 */
function sourceOptions(settings, { clientId, maxPacketBytes, tls, tlsFiles = {} }) {
  const { url, qos, session, retained, deviceFrom, device, protocolVersion } = settings;
  const address = brokerUrlOf(url, "The address of the source's broker", { takesAliases: true });
  if (deviceFrom === 'fixed' && !device)
    throw new Error('The device id is missing. Enter it, or choose another source for it.');
  if (deviceFrom === 'property' && !device)
    throw new Error('The user property with the device id is missing. Enter its name.');
  if (deviceFrom === 'property' && protocolVersion !== '5')
    throw new Error('Only MQTT 5 has user properties. Choose MQTT 5, or another source for the device id.');
  const options = {
    // Only those options of an uplink that a connection needs.
    session: /** @type {any} */ ({
      ...address,
      tls,
      tlsFiles,
      minTls: settings.minTls,
      clientId: settings.clientId || clientId,
      username: settings.username || undefined,
      password: settings.password || undefined,
      protocolVersion: Number(protocolVersion),
      keepalive: settings.keepalive,
      reconnectMinMs: settings.reconnectMinMs,
      reconnectMaxMs: Math.max(settings.reconnectMinMs, settings.reconnectMaxMs),
      refusedMinMs: 5000,
      refusedMaxMs: 60000,
      connectTimeoutMs: 15000,
      userTimeoutMs: 0,
      // No record waits here for the connection.
      meanwhile: ''
    }),
    filters: parseFilters(settings.topics),
    qos: /** @type {0 | 1 | 2} */ (qos),
    persistent: session === 'persistent',
    sessionExpiryS: settings.sessionExpiryS,
    takeRetained: retained === 'take',
    reading: {
      deviceFrom,
      deviceLevel: settings.deviceLevel,
      device,
      classProperty: settings.classProperty,
      class: settings.class
    },
    window: settings.window,
    maxPacketBytes: maxPacketBytes + PACKET_EXTRA_BYTES
  };
  const isOpen = !address.secure && !isLoopback(address.host);
  const warning = isOpen
    ? `The connection to ${address.host} is not encrypted. Use mqtts:// outside this machine.`
    : '';
  return { options, warning };
}

/**
 * @param {string} id of the tls-config node, '' for none
 * @param {any} node
 * @param {object} [files]
 * @throws {Error} with a sentence
 */
function sourceTls(id, node, files) {
  const tls = /** @type {{ rejectUnauthorized?: boolean }} */ (tlsOptions(id, node, 'source', files));
  if (tls.rejectUnauthorized === false) {
    throw new Error(
      "The TLS node does not verify the broker's certificate, so anyone could send records. Turn verification on, and add the broker's certificate authority there if it is your own."
    );
  }
  return tls;
}

module.exports = { schema, sourceOptions, sourceTls };

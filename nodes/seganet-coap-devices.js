'use strict';

require('../native/node/needs-node');
const { parseDevices } = require('./lib/settings/device-classes');
const { parsePermissions } = require('./lib/settings/permissions');
const { listenerParts, listenerRows } = require('./lib/settings/listener-settings');
const { schemaOf } = require('./lib/settings/rows');
const { join } = require('./lib/engine/join');
const { choice, integer, text } = require('./lib/base/options');
const status = require('./lib/base/status');

const MAX_TOPIC_BYTES = 1024;
const MAX_PATH_BYTES = 128;
const COAP_PORT = 5683;
const COAPS_PORT = 5684;

const listed = (/** @type {unknown} */ value) => value;
/** Path segments, without the characters that end a segment in a URI. */
const path = (/** @type {string} */ fallback) =>
  text(fallback, /^[^/?#\s\0+]+(\/[^/?#\s\0+]+)*$/, 'a path without leading or trailing /, such as r');
const schema = {
  ...schemaOf(listenerRows),
  transport: choice(/** @type {const} */ (['udp', 'tcp', 'tls', 'dtls']), 'udp'),
  // -1: the port of the transport.
  port: integer(0, 65535, -1),
  sessionIdleS: integer(60, 2592000, 86400),
  path: path('r'),
  commandPath: path('cmd'),
  maxBodyKiB: integer(1, 16384, 256),
  devices: listed,
  devicesJson: listed,
  permissions: listed,
  permissionsJson: listed,
  presenceTopic: text('', /^[^+#\0]+$/, 'a topic without + and #'),
  classProperty: text('c', /^[^\0&=]{1,128}$/, 'the name of a query parameter'),
  rate: integer(0, 1000000, 0),
  burst: integer(0, 1000000, 0)
};

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function CoapDevices(config) {
    RED.nodes.createNode(this, config);
    join(RED, this, config, schema, (values) => {
      const registered = parseDevices(values.devices, values.devicesJson);
      const permissions = parsePermissions(values.permissions, values.permissionsJson);
      check(values);
      const { classProperty, commandPath, maxBodyKiB, presenceTopic, rate, burst } = values;
      const settings = {
        protocol: 'coap',
        path: values.path,
        commandPath,
        maxBodyBytes: maxBodyKiB * 1024,
        ...(registered.length > 0 && { devices: registered }),
        ...(permissions.length > 0 && { permissions }),
        ...(presenceTopic && { presenceTopic }),
        classProperty,
        rate,
        burst
      };
      const port = values.port >= 0 ? values.port : /tls$/.test(values.transport) ? COAPS_PORT : COAP_PORT;
      return {
        kind: 'source',
        protocol: 'coap',
        ...listenerParts(RED, this, { ...values, port }, 'coap', settings),
        shown
      };
    });
  }

  RED.nodes.registerType('seganet-coap-devices', CoapDevices);
};

/**
 * Checks the properties that depend on each other.
 * @param {{ path: string, commandPath: string, presenceTopic: string, login: string, transport: string }} values
 * @throws {Error} with a sentence
 */
function check({ path: records, commandPath, presenceTopic, login }) {
  for (const [name, value] of Object.entries({ path: records, commandPath })) {
    if (Buffer.byteLength(value) > MAX_PATH_BYTES) {
      throw new RangeError(`The property ${name} exceeds ${MAX_PATH_BYTES} bytes. Choose a shorter one.`);
    }
  }
  if (records === commandPath || records === '.well-known' || commandPath === '.well-known') {
    throw new RangeError('Records and commands need different paths, and neither may be .well-known.');
  }
  if (Buffer.byteLength(presenceTopic) > MAX_TOPIC_BYTES) {
    throw new RangeError(`The presence topic exceeds ${MAX_TOPIC_BYTES} bytes. Choose a shorter one.`);
  }
  if (!['none', 'certificate', 'psk'].includes(login)) {
    throw new Error(
      'CoAP devices cannot log in with a user and password. Choose certificates or pre-shared keys over TLS or DTLS.'
    );
  }
}

/** @type {NonNullable<import('./lib/engine/member').Stage['shown']>} */
function shown(rates, stats, member) {
  const trouble = member.host.waitsFor(stats);
  if (trouble) return { fill: 'red', shape: 'ring', text: `waiting: ${trouble}` };
  if (!member.listening) return { fill: 'yellow', shape: 'ring', text: 'opening' };
  const figures = `${stats.devices} devices · ${status.rate(rates.recordsOut)}/s`;
  if (stats.slowed) return { fill: 'yellow', shape: 'ring', text: `slowed (memory) · ${figures}` };
  return { fill: 'green', shape: 'dot', text: `${member.port} · ${figures}` };
}

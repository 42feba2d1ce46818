'use strict';
// Settings of an mqtt devices node.

const { listenerRows } = require('./listener-settings');
const { commonRows } = require('./common');
const { schemaOf } = require('./rows');

const rows = /** @type {const} */ ({
  port: {
    type: 'integer',
    min: 0,
    max: 65535,
    default: 1883,
    variable: 'SEGANET_MQTT_PORT',
    help: 'Port that devices connect to with MQTT; 0 = any free port.'
  },
  transport: {
    type: 'choice',
    values: ['tcp', 'tls', 'ws', 'wss'],
    default: 'tcp',
    variable: 'SEGANET_DEVICE_TRANSPORT',
    help: 'How devices connect: tcp, tls, ws or wss (WebSocket).'
  },
  ...listenerRows,
  devices: { type: 'list' },
  devicesJson: {
    type: 'json'
  },
  permissions: { type: 'list' },
  permissionsJson: {
    type: 'json',
    form: 'permissions',
    variable: 'SEGANET_DEVICE_PERMISSIONS',
    shown: 'everything',
    help:
      'What devices may publish and subscribe to, JSON: ' +
      '`[{"device":"*","publish":["d/#"],"subscribe":["cmd/#"]}]`.'
  },
  presenceTopic: { type: 'text', default: '', pattern: /^[^+#\0]+$/, shape: 'a topic without + and #' },
  commandTopics: {
    type: 'text',
    default: '',
    variable: 'SEGANET_COMMAND_TOPICS',
    shown: '`cmd/{device}/{rest}`',
    help: 'Topics at which devices take commands: `DEVICES=TOPIC`, comma-separated, such as `tasmota_*=cmnd/{device}/{rest}`.'
  },
  bridges: {
    type: 'text',
    form: 'bridges',
    default: '',
    variable: 'SEGANET_BRIDGES',
    shown: 'none',
    help: 'Clients that speak for many devices: `BRIDGE=TOPIC`, such as `zigbee2mqtt=zigbee2mqtt/{device}/#`.'
  },
  subscribers: {
    type: 'text',
    default: '',
    form: 'subscribers',
    variable: 'SEGANET_SUBSCRIBERS',
    shown: 'none',
    help: 'Clients on site that may read the records of all devices: `CLIENT=FILTER`, comma-separated, such as `dashboard=#, homeassistant=zigbee2mqtt/#`.'
  },
  classProperty: {
    type: 'text',
    default: 'priority',
    pattern: /^[^\0]{1,128}$/,
    shape: 'the name of a user property'
  },
  rate: {
    type: 'integer',
    min: 0,
    max: 1000000,
    default: 0
  },
  burst: { type: 'integer', min: 0, max: 1000000, default: 0 },
  receiveMaximum: { type: 'integer', min: 1, max: 65535, default: 1024 },
  keepAliveMaxS: { type: 'integer', min: 0, max: 65535, default: 0, unit: 's' },
  sessionExpiryMaxS: { type: 'integer', min: 0, max: 604800, default: 3600, unit: 's' }
});

module.exports = { rows: { ...rows, ...commonRows }, schema: schemaOf(rows) };

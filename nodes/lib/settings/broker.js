'use strict';
// Settings of an uplink broker node.

const { schemaOf } = require('./rows');

const SPARKPLUG_ID = /^[^/+#\0]{1,128}$/;
const SPARKPLUG_SHAPE = 'up to 128 characters without /, + and #';
const MAX_BUFFER_BYTES = 64 * 1024 * 1024;

const rows = /** @type {const} */ ({
  url: {
    type: 'text',
    form: 'url',
    default: '',
    pattern: /^[^\s,]+(\s*,\s*[^\s,]+)*$/,
    shape: 'an address such as mqtts://host:8883, or several separated by commas',
    variable: 'SEGANET_UPLINK_URL',
    shown: 'demo cloud',
    help: 'Cloud broker, `mqtts://HOST:PORT`; several, separated by commas: the first that works. Unset: a demo cloud and a simulated fleet.'
  },
  returnS: {
    type: 'integer',
    min: 0,
    max: 86400,
    default: 300,
    unit: 's',
    variable: 'SEGANET_UPLINK_RETURN_S',
    help: 'How long an earlier URL must answer before the uplink returns to it; 0 = never.'
  },
  tls: { type: 'text', default: '' },
  overlay: { type: 'text', default: '' },
  clientId: {
    type: 'text',
    default: '',
    pattern: /^[^/+#\0]{1,128}$/,
    shape: 'up to 128 characters without /, + and #'
  },
  // Credentials are a part of the store; a flow file may carry them as properties instead, for ${NAME}.
  username: {
    type: 'text',
    form: 'text',
    default: '',
    variable: 'SEGANET_UPLINK_USERNAME',
    help: 'User name for the broker.'
  },
  password: {
    type: 'secret',
    form: 'text',
    variable: 'SEGANET_UPLINK_PASSWORD',
    help: 'Password for the broker.'
  },
  protocolVersion: {
    type: 'choice',
    values: ['5', '4'],
    default: '5',
    variable: 'SEGANET_UPLINK_PROTOCOL',
    help: 'MQTT version: 5, or 4 for MQTT 3.1.1.'
  },
  minTls: { type: 'choice', values: ['TLSv1.3', 'TLSv1.2'], default: 'TLSv1.3' },
  paths: {
    type: 'text',
    form: 'paths',
    default: '',
    variable: 'SEGANET_UPLINK_PATHS',
    help: 'Interfaces to reach the cloud over, such as `eth0,wwan0:backup:metered`; or `auto`.'
  },
  redundantAlarms: {
    type: 'choice',
    values: ['off', 'all-paths', 'unmetered-paths'],
    default: 'off',
    variable: 'SEGANET_UPLINK_ALARMS',
    help: '`all-paths`: each record of class 1 is sent over two paths at once; `unmetered-paths`: not over metered ones.'
  },
  pathLossMs: { type: 'integer', min: 100, max: 3600000, default: 1000, unit: 'ms' },
  congestion: {
    type: 'text',
    default: ''
  },
  keepalive: { type: 'integer', min: 1, max: 65535, default: 30, unit: 's' },
  reconnectMinMs: { type: 'integer', min: 10, max: 600000, default: 500, unit: 'ms' },
  reconnectMaxMs: { type: 'integer', min: 10, max: 3600000, default: 5000, unit: 'ms' },
  ackTimeoutMs: { type: 'integer', min: 1000, max: 3600000, default: 15000, unit: 'ms' },
  userTimeoutMs: { type: 'integer', min: 0, max: 3600000, default: 10000, unit: 'ms' },
  inflight: {
    type: 'integer',
    min: 1,
    max: 1024,
    default: 32
  },
  // The lists by session are checked together with the groups: they have at most one part for each.
  groups: {
    type: 'text',
    form: 'groups',
    default: '',
    initial: '1,2/3,4',
    variable: 'SEGANET_SESSIONS',
    help: 'MQTT sessions with the cloud: commas separate classes, slashes sessions; `all` = one session.'
  },
  reserve: {
    type: 'integer',
    min: 0,
    max: 100,
    default: 25,
    unit: '%'
  },
  priority: {
    type: 'text',
    default: '',
    max: 6
  },
  dscp: {
    type: 'text',
    default: '',
    max: 63
  },
  notSentLowat: {
    type: 'text',
    default: '',
    max: MAX_BUFFER_BYTES,
    unit: 'bytes'
  },
  sendBuffer: {
    type: 'text',
    default: '',
    max: MAX_BUFFER_BYTES,
    unit: 'bytes'
  },
  backlogRate: {
    type: 'integer',
    min: 0,
    max: 10000000,
    default: 5000
  },
  backlogShare: {
    type: 'integer',
    min: 1,
    max: 100,
    default: 50,
    unit: '%'
  },
  commands: {
    type: 'choice',
    values: ['off', 'on'],
    default: 'off',
    variable: 'SEGANET_COMMANDS',
    help: 'on: the cloud may send commands to devices (cmd/GATEWAY/DEVICE/…).'
  },
  commandPrefix: {
    type: 'text',
    default: 'cmd',
    pattern: /^[^$/+#\0][^+#\0]{0,255}(?<!\/)$/,
    shape: 'a topic such as cmd, without + and #'
  },
  commandGroup: {
    type: 'text',
    default: '',
    pattern: /^[^$/+#\0][^/+#\0]{0,127}$/,
    shape: 'a name without /, + and #',
    variable: 'SEGANET_CLUSTER_NAME',
    help: 'cluster: name of all gateways in command topics (cmd/NAME/DEVICE/…); one of them gets each command.'
  },
  sparkplugGroup: {
    type: 'text',
    default: '',
    pattern: SPARKPLUG_ID,
    shape: SPARKPLUG_SHAPE,
    variable: 'SEGANET_SPARKPLUG_GROUP',
    help: 'Group id of Sparkplug B; the sessions with the cloud are then edge nodes.'
  },
  sparkplugNode: {
    type: 'text',
    default: '',
    pattern: SPARKPLUG_ID,
    shape: SPARKPLUG_SHAPE,
    variable: 'SEGANET_SPARKPLUG_NODE',
    help: 'Edge node id of Sparkplug B; several sessions append -1, -2 ….'
  }
});

module.exports = { rows, schema: schemaOf(rows) };

'use strict';

// mosquitto in the place of each cloud: its login, the topics that it accepts, and those of its limits that mosquitto
// has. docs/clouds states the limits and their sources.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { startMosquitto } = require('../../../bench/harness/cloud');
const { waitForPort } = require('../../../bench/harness/net');

const READER = { user: 'reader', password: 'reads' };

/**
 * @typedef {object} Rules of a cloud
 * @property {number} port of its TLS listener; its readers use the plain port above it by 100
 * @property {string} gateway gateway id, and common name of its client certificate
 * @property {{ user: string, password: string }} [login] user and password; else a client certificate
 * @property {string[]} topics that the gateway may publish to
 * @property {string[]} [limits] lines of mosquitto.conf
 * @property {boolean} [source] the gateway reads there
 */

/** @type {Record<string, Rules>} */
const CLOUDS = {
  'AWS IoT Core': {
    port: 8801,
    gateway: 'thing-1',
    topics: ['gw/thing-1/#'],
    limits: ['message_size_limit 131072', 'max_qos 1']
  },
  'Azure IoT Hub': {
    port: 8802,
    gateway: 'device-1',
    login: {
      user: 'contoso.azure-devices.net/device-1/?api-version=2021-04-12',
      password:
        'SharedAccessSignature sr=contoso.azure-devices.net%2Fdevices%2Fdevice-1&sig=a%2Bb%3D&se=1900000000'
    },
    topics: ['devices/device-1/messages/events/#'],
    limits: ['message_size_limit 262144', 'max_qos 1']
  },
  'Azure Event Grid': {
    port: 8803,
    gateway: 'client-1',
    topics: ['gw/client-1/#'],
    limits: ['max_packet_size 524288', 'max_qos 1', 'retain_available false', 'max_keepalive 1160']
  },
  'HiveMQ Cloud': {
    port: 8804,
    gateway: 'hive-1',
    login: { user: 'hive-user', password: 'hive-password' },
    // The test of ChirpStack's preset sends its records here.
    topics: ['gw/hive-1/#', 'gw/lora-1/#']
  },
  EMQX: {
    port: 8805,
    gateway: 'emqx-1',
    login: { user: 'emqx-user', password: 'emqx-password' },
    topics: ['gw/emqx-1/#'],
    limits: ['max_packet_size 1048576']
  },
  'Google Cloud by a partner broker': {
    port: 8806,
    gateway: 'google-1',
    login: { user: 'partner-user', password: 'partner-password' },
    topics: ['gw/google-1/#']
  },
  mosquitto: {
    port: 8807,
    gateway: 'mosquitto-1',
    login: { user: 'plain-user', password: 'plain-password' },
    topics: ['gw/mosquitto-1/#'],
    limits: ['tls_version tlsv1.3']
  },
  ThingsBoard: {
    port: 8808,
    gateway: 'tb-1',
    login: { user: 'ACCESS-TOKEN', password: '' },
    topics: ['v1/gateway/telemetry'],
    limits: ['message_size_limit 65536', 'max_qos 1']
  },
  ChirpStack: { port: 8809, gateway: 'lora-1', topics: [], source: true, limits: ['max_qos 1'] }
};

/** The port at which readers of a cloud connect. @param {Rules} cloud */
const plainPort = ({ port }) => port + 100;

/**
 * Starts the broker of a cloud.
 * @param {string} folder @param {string} name
 * @param {import('../../fixtures/devices/authority').Authority} authority
 */
async function startBroker(folder, name, authority) {
  const cloud = CLOUDS[name];
  const { port, gateway, login, topics, limits = [], source } = cloud;
  const file = (/** @type {string} */ end) => path.join(folder, `${port}-${end}`);
  const users = [READER, ...(login?.password ? [login] : [])];
  fs.writeFileSync(file('users'), '');
  for (const { user, password } of users)
    execFileSync('mosquitto_passwd', ['-b', file('users'), user, password], { stdio: 'pipe' });
  // A user without a password cannot be in the file. The broker of a token lets in any user, and the rights tell the
  // token from others; its readers have no name.
  const isToken = login?.password === '';
  const rights = [
    ...(isToken ? [] : [`user ${READER.user}`]),
    'topic readwrite #',
    `user ${login?.user ?? gateway}`,
    ...topics.map((topic) => `topic write ${topic}`),
    ...(source ? ['topic read application/#'] : [])
  ];
  fs.writeFileSync(file('rights'), `${rights.join('\n')}\n`);
  const { certFile, keyFile } = authority.issue({ name: `server-${port}` });
  const byCertificate = [
    `cafile ${authority.caFile}`,
    'require_certificate true',
    'use_identity_as_username true'
  ];
  const broker = startMosquitto(folder, `cloud-${port}`, [
    `allow_anonymous ${isToken}`,
    ...(isToken ? [] : [`password_file ${file('users')}`]),
    `acl_file ${file('rights')}`,
    'log_dest stderr',
    'log_type all',
    `listener ${plainPort(cloud)} 127.0.0.1`,
    `listener ${port} 127.0.0.1`,
    `certfile ${certFile}`,
    `keyfile ${keyFile}`,
    ...(login ? [] : byCertificate),
    ...limits
  ]);
  await waitForPort(plainPort(cloud), '127.0.0.1', 10000, () => Boolean(broker.exit));
  return broker;
}

/** Returns the variables of all presets. @param {import('../../fixtures/devices/authority').Authority} authority */
function variables(authority) {
  const url = (/** @type {string} */ name) => `mqtts://localhost:${CLOUDS[name].port}`;
  const certificate = (/** @type {string} */ prefix, /** @type {string} */ name) => {
    const { certFile, keyFile } = authority.issue({ name: CLOUDS[name].gateway });
    return { [`${prefix}_CERT`]: certFile, [`${prefix}_KEY`]: keyFile, [`${prefix}_CA`]: authority.caFile };
  };
  const password = (/** @type {string} */ prefix, /** @type {string} */ name) => ({
    [`${prefix}_URL`]: url(name),
    [`${prefix}_GATEWAY`]: CLOUDS[name].gateway,
    [`${prefix}_USER`]: CLOUDS[name].login?.user ?? '',
    [`${prefix}_PASSWORD`]: CLOUDS[name].login?.password ?? '',
    [`${prefix}_CA`]: authority.caFile
  });
  return {
    AWS_IOT_URL: url('AWS IoT Core'),
    AWS_IOT_THING: CLOUDS['AWS IoT Core'].gateway,
    ...certificate('AWS_IOT', 'AWS IoT Core'),
    ...password('AZURE_IOT_HUB', 'Azure IoT Hub'),
    AZURE_IOT_HUB_DEVICE: CLOUDS['Azure IoT Hub'].gateway,
    AZURE_IOT_HUB_SAS: CLOUDS['Azure IoT Hub'].login?.password ?? '',
    EVENT_GRID_URL: url('Azure Event Grid'),
    EVENT_GRID_CLIENT: CLOUDS['Azure Event Grid'].gateway,
    ...certificate('EVENT_GRID', 'Azure Event Grid'),
    ...password('HIVEMQ', 'HiveMQ Cloud'),
    ...password('EMQX', 'EMQX'),
    ...password('GOOGLE_PARTNER', 'Google Cloud by a partner broker'),
    ...password('MOSQUITTO', 'mosquitto'),
    THINGSBOARD_URL: url('ThingsBoard'),
    THINGSBOARD_GATEWAY: CLOUDS.ThingsBoard.gateway,
    THINGSBOARD_TOKEN: CLOUDS.ThingsBoard.login?.user ?? '',
    THINGSBOARD_CA: authority.caFile,
    CHIRPSTACK_URL: url('ChirpStack'),
    CHIRPSTACK_GATEWAY: CLOUDS.ChirpStack.gateway,
    ...certificate('CHIRPSTACK', 'ChirpStack'),
    // Its records go to a broker of the user's own.
    CLOUD_URL: url('HiveMQ Cloud'),
    CLOUD_USER: CLOUDS['HiveMQ Cloud'].login?.user ?? '',
    CLOUD_PASSWORD: CLOUDS['HiveMQ Cloud'].login?.password ?? '',
    CLOUD_CA: authority.caFile
  };
}

module.exports = { CLOUDS, READER, startBroker, variables, plainPort };

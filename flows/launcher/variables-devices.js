'use strict';

// Environment variables of the device listener.

const { schema: devices } = require('../../nodes/lib/settings/mqtt-devices');
const checks = require('./checks');

/** @param {string} value */
const always = (value) => () => value;

/** @type {import('./variables').Variable[]} */
const DEVICE_VARIABLES = [
  {
    name: 'SEGANET_DEVICE_HOST',
    initial: always('127.0.0.1'),
    check: checks.deviceHost,
    help: 'Address that devices connect to.'
  },
  {
    name: 'SEGANET_MQTT_PORT',
    initial: always('1883'),
    check: checks.property(devices.port),
    help: 'Port that devices connect to with MQTT; 0 = any free port.'
  },
  {
    name: 'SEGANET_DEVICE_TRANSPORT',
    initial: always('tcp'),
    check: checks.property(devices.transport),
    help: 'How devices connect: tcp, tls, ws or wss (WebSocket).'
  },
  {
    name: 'SEGANET_DEVICE_TLS_CERT',
    initial: always(''),
    check: checks.file,
    help: 'PEM file of the certificate for devices (tls, wss).'
  },
  {
    name: 'SEGANET_DEVICE_TLS_KEY',
    initial: always(''),
    check: checks.file,
    help: 'PEM file of the key for SEGANET_DEVICE_TLS_CERT.'
  },
  {
    name: 'SEGANET_DEVICE_TLS_CA',
    initial: always(''),
    check: checks.file,
    help: "PEM file of the CA that signed the devices' certificates."
  },
  {
    name: 'SEGANET_DEVICE_TLS_MIN',
    initial: always('TLSv1.2'),
    check: checks.property(devices.minTls),
    help: 'Oldest TLS version that devices may use.'
  },
  {
    name: 'SEGANET_DEVICE_LOGIN',
    initial: always('none'),
    check: checks.property(devices.login),
    help: 'How devices authenticate: none, passwords, certificate, psk or flow.'
  },
  {
    name: 'SEGANET_DEVICE_ALLOW_ANONYMOUS',
    initial: always('no'),
    check: checks.property(devices.allowAnonymous),
    help: 'yes: devices need no login, even on an address other than loopback.'
  },
  {
    name: 'SEGANET_DEVICE_PASSWORD_FILE',
    initial: always(''),
    check: checks.file,
    help: 'File of users and passwords, created by seganet-passwd.'
  },
  {
    name: 'SEGANET_DEVICE_IDENTITY',
    initial: always('user'),
    check: checks.property(devices.identity),
    help: 'passwords: the device id is the user name (user) or the client id (clientId).'
  },
  {
    name: 'SEGANET_DEVICE_PSK_FILE',
    initial: always(''),
    check: checks.file,
    help: 'psk: file of identity:hexkey lines.'
  },
  {
    name: 'SEGANET_DEVICE_CLIENT_CERT',
    initial: always('no'),
    check: checks.property(devices.clientCert),
    help: 'Device certificates with another login: no, wanted (instead of it) or required (in addition to it).'
  },
  {
    name: 'SEGANET_DEVICE_CERT_IDENTITY',
    initial: always('cn'),
    check: checks.property(devices.certIdentity),
    help: 'Device id in a certificate: common name (cn) or first alternative name (san).'
  },
  {
    name: 'SEGANET_DEVICE_PERMISSIONS',
    shown: 'everything',
    initial: always(''),
    check: checks.permissions,
    help: 'What devices may publish and subscribe to, JSON: [{"device":"*","publish":["d/#"],"subscribe":["cmd/#"]}].'
  },
  {
    name: 'SEGANET_DEVICE_RATE',
    shown: 'no limit',
    initial: always('0'),
    check: checks.property(devices.rate),
    help: 'Records per second that one device may send; the gateway reads a faster one more slowly.'
  }
];

module.exports = { DEVICE_VARIABLES };

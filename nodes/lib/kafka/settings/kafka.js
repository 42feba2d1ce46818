'use strict';
// Settings of a kafka cluster node.

const { schemaOf } = require('../../settings/rows');

const rows = /** @type {const} */ ({
  brokers: {
    type: 'text',
    default: '',
    variable: 'SEGANET_KAFKA_BROKERS',
    help: 'cluster: brokers of the Kafka cluster, `HOST:PORT`, comma-separated; some of them may be away.'
  },
  security: {
    type: 'choice',
    values: ['tls', 'plaintext'],
    default: 'tls',
    variable: 'SEGANET_KAFKA_SECURITY',
    help: 'cluster: how the brokers are reached; plaintext shows the records to the network.'
  },
  tls: { type: 'text', default: '' },
  minTls: { type: 'choice', values: ['TLSv1.3', 'TLSv1.2'], default: 'TLSv1.3' },
  sasl: {
    type: 'choice',
    values: ['none', 'plain', 'scram-sha-256', 'scram-sha-512'],
    default: 'none',
    variable: 'SEGANET_KAFKA_SASL',
    help: 'cluster: login at the brokers.'
  },
  // Credentials are a part of the store; a flow file may carry them as properties instead, for ${NAME}.
  username: {
    type: 'text',
    default: '',
    variable: 'SEGANET_KAFKA_USERNAME',
    help: 'cluster: user name for this login.'
  },
  password: {
    type: 'secret',
    variable: 'SEGANET_KAFKA_PASSWORD',
    help: 'cluster: password for this login.'
  },
  clientId: {
    type: 'text',
    default: '',
    pattern: /^[\w.-]{1,128}$/,
    shape: 'up to 128 letters, digits, dots, underscores and hyphens'
  },
  connectTimeoutMs: { type: 'integer', min: 100, max: 600000, default: 10000, unit: 'ms' },
  ackTimeoutMs: { type: 'integer', min: 1000, max: 3600000, default: 15000, unit: 'ms' },
  reconnectMinMs: { type: 'integer', min: 10, max: 600000, default: 500, unit: 'ms' },
  reconnectMaxMs: { type: 'integer', min: 10, max: 3600000, default: 5000, unit: 'ms' },
  window: { type: 'integer', min: 1, max: 100000, default: 2000 },
  compression: { type: 'choice', values: ['none', 'gzip', 'snappy', 'lz4', 'zstd'], default: 'none' },
  requestKiB: { type: 'integer', min: 1, max: 65536, default: 512, unit: 'KiB' },
  backlogRate: { type: 'integer', min: 0, max: 10000000, default: 5000 },
  backlogShare: { type: 'integer', min: 1, max: 100, default: 50, unit: '%' },
  commands: { type: 'choice', values: ['off', 'on'], default: 'off' },
  commandsTopic: {
    type: 'text',
    default: 'seganet.commands',
    variable: 'SEGANET_CLUSTER_COMMANDS',
    help: 'cluster: topic of the commands that the gateways share.'
  },
  devicesTopic: {
    type: 'text',
    default: 'seganet.devices',
    variable: 'SEGANET_CLUSTER_DEVICES',
    help: 'cluster: topic in which each gateway names its devices.'
  }
});

module.exports = { rows, schema: schemaOf(rows) };

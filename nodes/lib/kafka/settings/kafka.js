'use strict';
// Settings of a kafka cluster node.

const { schemaOf } = require('../../settings/rows');

const rows = /** @type {const} */ ({
  brokers: { type: 'text', default: '' },
  security: { type: 'choice', values: ['tls', 'plaintext'], default: 'tls' },
  tls: { type: 'text', default: '' },
  minTls: { type: 'choice', values: ['TLSv1.3', 'TLSv1.2'], default: 'TLSv1.3' },
  sasl: {
    type: 'choice',
    values: ['none', 'plain', 'scram-sha-256', 'scram-sha-512'],
    default: 'none'
  },
  // Credentials are a part of the store; a flow file may carry them as properties instead, for ${NAME}.
  username: { type: 'text', default: '' },
  password: { type: 'secret' },
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
  backlogShare: { type: 'integer', min: 1, max: 100, default: 50, unit: '%' }
});

module.exports = { rows, schema: schemaOf(rows) };

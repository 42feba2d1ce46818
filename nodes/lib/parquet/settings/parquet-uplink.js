'use strict';
// Settings of a parquet uplink node.

const { schemaOf } = require('../../settings/rows');

const rows = /** @type {const} */ ({
  place: { type: 'choice', values: ['folder', 's3'], default: 'folder' },
  folder: { type: 'text', default: '' },
  endpoint: { type: 'text', default: '' },
  bucket: { type: 'text', default: '' },
  prefix: { type: 'text', default: '' },
  region: {
    type: 'text',
    default: 'us-east-1',
    pattern: /^[a-z0-9-]{1,64}$/,
    shape: 'a name such as eu-central-1'
  },
  // Credentials are a part of the store; a flow file may carry them as properties instead, for ${NAME}.
  accessKey: { type: 'secret' },
  secretKey: { type: 'secret' },
  valuePath: { type: 'text', default: '' },
  unitPath: { type: 'text', default: '' },
  maxRows: { type: 'integer', min: 1, max: 1000000, default: 100000 },
  maxMiB: { type: 'integer', min: 1, max: 256, default: 16, unit: 'MiB' },
  maxWaitS: { type: 'integer', min: 1, max: 3600, default: 60, unit: 's' }
});

module.exports = { rows, schema: schemaOf(rows) };

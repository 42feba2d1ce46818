'use strict';
// Settings of an uplink node.

const { schemaOf } = require('./rows');

const rows = /** @type {const} */ ({
  broker: { type: 'text', default: '' },
  topic: {
    type: 'text',
    form: 'template',
    default: 'gw/{gateway}/{class}',
    variable: 'SEGANET_UPLINK_TOPIC',
    help: 'Topic of a batch; `{device}` and `{topic}` are also allowed.'
  },
  recordTopic: { type: 'text', default: '{topic}' },
  qos: { type: 'choice', values: ['1', '0'], default: '1' },
  format: {
    type: 'choice',
    values: ['ndjson', 'json', 'cbor', 'senml-json', 'senml-cbor', 'sparkplug'],
    default: 'ndjson',
    variable: 'SEGANET_BATCH_FORMAT',
    help: 'Format of envelopes: lines of JSON, a JSON array, a CBOR sequence, SenML, or metrics of Sparkplug B.'
  },
  history: {
    type: 'choice',
    values: ['property', 'suffix', 'none'],
    default: 'property',
    variable: 'SEGANET_HISTORY',
    help: 'Mark of records from the log: a user property (MQTT 5), the topic suffix /history, or none.'
  },
  historySuffix: {
    type: 'text',
    default: '/history',
    pattern: /^[^+#{}\0]{1,256}$/,
    shape: 'up to 256 characters without +, #, { and }'
  },
  compress: {
    type: 'choice',
    values: ['off', 'zstd', 'deflate', 'auto'],
    default: 'off',
    variable: 'SEGANET_COMPRESS',
    help: 'Compression of envelopes: off, zstd, deflate, or auto (while the link is the limit or metered).'
  },
  neverCompress: { type: 'text', default: '' }
});

module.exports = { rows, schema: schemaOf(rows) };

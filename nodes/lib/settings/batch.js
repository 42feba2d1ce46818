'use strict';
// Settings of a batch node.

const { schemaOf } = require('./rows');

const rows = /** @type {const} */ ({
  mode: {
    type: 'choice',
    values: ['envelope', 'records', 'off'],
    default: 'envelope',
    variable: 'SEGANET_BATCH_MODE',
    help: 'envelope (many records per PUBLISH), records (one each) or off.'
  },
  // Flows of earlier releases name the format of envelopes. There is only one.
  format: { type: 'choice', values: ['ndjson'], default: 'ndjson', retired: true },
  minDevices: {
    type: 'integer',
    min: 0,
    max: 1000000,
    default: 50,
    variable: 'SEGANET_BATCH_DEVICES',
    help: 'Batch only with at least this many connected devices; 0 = always.'
  },
  maxBytes: {
    type: 'integer',
    min: 64,
    max: 1048576,
    default: 1024,
    unit: 'bytes',
    variable: 'SEGANET_BATCH_BYTES',
    help: 'A batch is sealed before it exceeds this many payload bytes.'
  },
  maxDelayMs: {
    type: 'integer',
    min: 1,
    max: 3600000,
    default: 1000,
    unit: 'ms',
    variable: 'SEGANET_BATCH_MS',
    help: 'A batch is sealed when its oldest record is this old.'
  },
  flush: {
    type: 'choice',
    values: ['limits', 'adaptive'],
    // A node of an older flow has no such property and keeps its limits.
    default: 'limits',
    initial: 'adaptive',
    variable: 'SEGANET_BATCH_FLUSH',
    help: 'adaptive: whenever the uplink has room, `SEGANET_BATCH_MS` at the latest; or limits (the three above).'
  },
  gapMs: {
    type: 'integer',
    min: 0,
    max: 1000,
    default: 2,
    unit: 'ms',
    variable: 'SEGANET_BATCH_GAP_MS',
    help: 'adaptive: time between two batches of a busy class; shorter when fewer records arrive.'
  }
});

module.exports = { rows, schema: schemaOf(rows) };

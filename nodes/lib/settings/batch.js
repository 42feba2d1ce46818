'use strict';
// Settings of a batch node.

const { DEFAULT_PATIENCE } = require('../base/by-class');
const { commonRows } = require('./common');
const { schemaOf } = require('./rows');

const rows = /** @type {const} */ ({
  mode: {
    type: 'choice',
    values: ['envelope', 'records', 'off'],
    default: 'envelope',
    variable: 'SEGANET_BATCH_MODE',
    help: 'envelope (many records per PUBLISH), records (one each) or off.'
  },
  minDevices: {
    type: 'integer',
    min: 0,
    max: 1000000,
    default: 50
  },
  maxBytes: {
    type: 'integer',
    min: 64,
    max: 1048576,
    default: 1024,
    unit: 'bytes'
  },
  maxDelayMs: {
    type: 'integer',
    min: 1,
    max: 3600000,
    default: 1000,
    unit: 'ms'
  },
  flush: {
    type: 'choice',
    values: ['limits', 'adaptive', 'balanced', 'thrifty'],
    default: 'adaptive',
    variable: 'SEGANET_BATCH_SEALED_BY',
    help: 'adaptive (fast), balanced or thrifty (batches wait to save bytes), or limits.'
  },
  patience: {
    type: 'patience',
    initial: DEFAULT_PATIENCE,
    variable: 'SEGANET_BATCH_PATIENCE',
    help: 'balanced, thrifty: ms from arrival to acknowledgement that a record may take, by class.'
  },
  drainAhead: { type: 'flag', default: false },
  gapMs: {
    type: 'integer',
    min: 0,
    max: 1000,
    default: 2,
    unit: 'ms'
  }
});

module.exports = { rows: { ...rows, ...commonRows }, schema: schemaOf(rows) };

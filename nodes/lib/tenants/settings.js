'use strict';
// Settings of a tenants node and of a tenant events node.

const { LOCAL_HOST } = require('../base/local-host');
const { rows: batchRows } = require('../settings/batch');
const { schemaOf } = require('../settings/rows');

/** The thresholds are those of a batch node, without its variables. */
const { minDevices, maxBytes, maxDelayMs, gapMs } = batchRows;

const host = /** @type {const} */ ({
  type: 'text',
  form: 'host',
  default: '127.0.0.1',
  ...LOCAL_HOST
});

const rows = /** @type {const} */ ({
  file: { type: 'text', form: 'file', default: '' },
  socket: { type: 'text', form: 'file', default: '' },
  mostAwake: { type: 'integer', min: 1, max: 1000, default: 64 },
  idleS: { type: 'integer', min: 1, max: 86400, default: 5, unit: 's' },
  connectS: { type: 'integer', min: 1, max: 3600, default: 60, unit: 's' },
  flush: { type: 'choice', values: ['adaptive', 'limits'], default: 'adaptive' },
  gapMs: { type: 'integer', min: gapMs.min, max: gapMs.max, default: gapMs.default, unit: 'ms' },
  minDevices: {
    type: 'integer',
    min: minDevices.min,
    max: minDevices.max,
    default: minDevices.default
  },
  maxBytes: {
    type: 'integer',
    min: maxBytes.min,
    max: maxBytes.max,
    default: maxBytes.default,
    unit: 'bytes'
  },
  maxDelayMs: {
    type: 'integer',
    min: maxDelayMs.min,
    max: maxDelayMs.max,
    default: maxDelayMs.default,
    unit: 'ms'
  },
  pagesPort: { type: 'integer', min: 0, max: 65535, default: 0 },
  pagesHost: host,
  pagesTls: { type: 'text', default: '' },
  pagesPasswordFile: { type: 'text', form: 'file', default: '' },
  servicesPort: { type: 'integer', min: 0, max: 65535, default: 0 },
  servicesHost: host,
  servicesTls: { type: 'text', default: '' }
});

const EVENTS = /** @type {const} */ (['woken', 'ready', 'slept', 'failed', 'backup', 'other']);

const eventRows = /** @type {const} */ ({
  socket: { type: 'text', form: 'file', default: '' },
  tenant: {
    type: 'text',
    default: '',
    pattern: /^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/,
    shape: 'the name of a tenant: 1 to 32 lower-case letters, digits and inner hyphens'
  },
  events: {
    type: 'text',
    default: '',
    pattern: /^(woken|ready|slept|failed|backup|other)([\s,]+(woken|ready|slept|failed|backup|other))*$/,
    shape: `a list of ${EVENTS.join(', ')}`
  }
});

module.exports = { rows, schema: schemaOf(rows), eventRows, eventSchema: schemaOf(eventRows), EVENTS };

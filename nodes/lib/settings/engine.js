'use strict';
// Settings of an engine node.

const { schemaOf } = require('./rows');

const MAX_LOG_MIB = 1048576;

const rows = /** @type {const} */ ({
  gatewayId: {
    type: 'text',
    default: '',
    pattern: /^[^/+#\0]{1,128}$/,
    shape: 'up to 128 characters without /, + and #'
  },
  workers: {
    type: 'integer',
    min: 0,
    max: 64,
    default: 0,
    variable: 'SEGANET_WORKERS',
    help: 'Worker threads; 0 = one for each allowed core except the first.'
  },
  cpus: {
    type: 'cpus'
  },
  memoryMiB: {
    type: 'integer',
    min: 1,
    max: 65536,
    default: 64,
    unit: 'MiB',
    variable: 'SEGANET_MEMORY_MIB',
    help: 'Memory for records. When it is full, devices wait, unless the engine node drops records.'
  },
  maxPacketKiB: { type: 'integer', min: 1, max: 16384, default: 256, unit: 'KiB' },
  maxDevices: { type: 'integer', min: 1, max: 1000000, default: 10000 },
  wakeIntervalUs: {
    type: 'integer',
    min: 0,
    max: 100000,
    default: 800,
    unit: 'µs'
  },
  rebalance: {
    type: 'choice',
    values: ['off', 'live'],
    default: 'off'
  },
  oddTopics: {
    type: 'choice',
    values: ['refuse', 'accept'],
    default: 'refuse'
  },
  values: {
    type: 'choice',
    values: ['on', 'off'],
    default: 'on',
    variable: 'SEGANET_VALUES',
    help: 'Keep the last value of each device and topic for the status page.'
  },
  valuesMiB: { type: 'integer', min: 1, max: 1024, default: 16, unit: 'MiB' },
  valueTopics: { type: 'integer', min: 1, max: 1024, default: 256 },
  valuesNotKept: {
    type: 'text',
    default: '',
    pattern: /^[^\0]{1,4096}$/,
    shape: 'topic filters with commas between them, at most 4096 characters'
  },
  networkSeasonS: { type: 'integer', min: 0, max: 604800, default: 86400, unit: 's' },
  fastPath: { type: 'choice', values: ['auto', 'off'], default: 'auto' },
  acknowledge: {
    type: 'choice',
    values: ['safe', 'stored', 'received', 'replicated'],
    default: 'safe',
    variable: 'SEGANET_ACKNOWLEDGE',
    help:
      'Acknowledge a record when it is on disk or in the cloud (safe), on disk (stored), at once (received), or only when ' +
      'the cloud has it (replicated).'
  },
  replicasMissing: {
    type: 'choice',
    values: ['wait', 'degrade'],
    default: 'wait',
    variable: 'SEGANET_REPLICAS_MISSING',
    help: 'replicated, while a cloud is away: devices wait for their acknowledgement, or the disk acknowledges (degrade).'
  },
  replicaTimeoutS: { type: 'integer', min: 1, max: 3600, default: 5, unit: 's' },
  logDir: {
    type: 'text',
    form: 'folder',
    default: '',
    pattern: /^[^\0]{1,1024}$/,
    shape: 'a path of at most 1024 characters',
    variable: 'SEGANET_LOG_DIR',
    shown: 'in `SEGANET_HOME`',
    help: 'Folder of the log, which keeps records that the cloud has not acknowledged.'
  },
  logUrl: {
    type: 'text',
    form: 'database',
    default: '',
    pattern: /^postgres(ql)?:\/\/[^\0]{1,1000}$/i,
    shape: 'an address such as postgres://user@host1,host2/database',
    variable: 'SEGANET_LOG_URL',
    shown: 'none',
    help:
      'PostgreSQL database with the log of a pair of gateways, such as `postgres://user@host1,host2/database`. The password ' +
      'is in `PGPASSFILE` or `PGPASSWORD`.'
  },
  logMiB: {
    type: 'integer',
    min: 1,
    max: MAX_LOG_MIB,
    default: 1024,
    unit: 'MiB',
    variable: 'SEGANET_LOG_MIB',
    help: 'Size limit of the log.'
  },
  logClassMiB: { type: 'numbers', max: MAX_LOG_MIB, unit: 'MiB' },
  ttl: {
    type: 'durations'
  },
  weights: {
    type: 'weights',
    initial: '0,8,4,1'
  },
  agingMs: {
    type: 'integer',
    min: 0,
    max: 3600000,
    default: 5000,
    unit: 'ms'
  },
  classRate: {
    type: 'numbers',
    max: 1e7
  },
  classQueue: {
    type: 'numbers',
    max: 1e9
  },
  whenFull: {
    type: 'choice',
    values: ['slow', 'drop'],
    default: 'slow'
  },
  patienceMs: { type: 'integer', min: 0, max: 60000, default: 1000, unit: 'ms' },
  lingerUrgentMs: { type: 'integer', min: 0, max: 1000, default: 10, unit: 'ms' },
  lingerMs: { type: 'integer', min: 0, max: 1000, default: 50, unit: 'ms' }
});

module.exports = { rows, schema: schemaOf(rows) };

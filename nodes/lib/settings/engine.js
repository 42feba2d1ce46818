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
    type: 'cpus',
    variable: 'SEGANET_CPUS',
    shown: 'all except the first',
    help: 'Cores for the workers, such as 1-3,5.'
  },
  memoryMiB: {
    type: 'integer',
    min: 1,
    max: 65536,
    default: 64,
    unit: 'MiB',
    variable: 'SEGANET_MEMORY_MIB',
    help: 'Memory for records; see `SEGANET_WHEN_FULL`.'
  },
  maxPacketKiB: { type: 'integer', min: 1, max: 16384, default: 256, unit: 'KiB' },
  maxDevices: { type: 'integer', min: 1, max: 1000000, default: 10000 },
  wakeIntervalUs: {
    type: 'integer',
    min: 0,
    max: 100000,
    default: 800,
    unit: 'µs',
    variable: 'SEGANET_WAKE_US',
    help: 'A busy worker with 32 or more devices wakes up at most once in this many µs: less CPU time, more latency.'
  },
  rebalance: {
    type: 'choice',
    values: ['off', 'live'],
    default: 'off',
    variable: 'SEGANET_REBALANCE',
    help: 'live: a worker that stays busier than another hands devices over to it.'
  },
  oddTopics: {
    type: 'choice',
    values: ['refuse', 'accept'],
    default: 'refuse',
    variable: 'SEGANET_ODD_TOPICS',
    help: 'accept: allow topics and device ids that begin with `$` or contain a control character.'
  },
  fastPath: { type: 'choice', values: ['auto', 'off'], default: 'auto' },
  acknowledge: {
    type: 'choice',
    values: ['safe', 'stored', 'received'],
    default: 'safe',
    variable: 'SEGANET_ACKNOWLEDGE',
    help: 'Acknowledge a record when it is on disk or in the cloud (safe), on disk (stored), or at once (received).'
  },
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
    type: 'durations',
    variable: 'SEGANET_LOG_TTL',
    shown: 'forever',
    help: 'How long records may wait, live or in the log, for classes 1, 2 …: `0,0,7d,1d` (s, m, h, d; 0 = forever).'
  },
  weights: {
    type: 'weights',
    initial: '0,8,4,1',
    variable: 'SEGANET_CLASS_WEIGHTS',
    help: 'Shares of classes 2, 3 … when several wait; 0 for class 1, which goes first.'
  },
  agingMs: {
    type: 'integer',
    min: 0,
    max: 3600000,
    default: 5000,
    unit: 'ms',
    variable: 'SEGANET_AGING_MS',
    help: 'A class that sent nothing for this long sends one batch before class 1; 0 = never.'
  },
  classRate: {
    type: 'numbers',
    max: 1e7,
    variable: 'SEGANET_CLASS_RATE',
    shown: 'no limit',
    help: 'Records per second to the cloud, for classes 1, 2 …: `0,0,0,100` (0 = no limit).'
  },
  classQueue: {
    type: 'numbers',
    max: 1e9,
    variable: 'SEGANET_CLASS_QUEUE',
    shown: 'no limit',
    help: 'Records in memory, for classes 1, 2 …: `0,0,0,5000`; beyond: `SEGANET_WHEN_FULL`.'
  },
  whenFull: {
    type: 'choice',
    values: ['slow', 'drop'],
    default: 'slow',
    variable: 'SEGANET_WHEN_FULL',
    help: 'When memory, the log or a queue is full: slow makes devices wait, drop drops the lowest class, oldest first.'
  },
  patienceMs: { type: 'integer', min: 0, max: 60000, default: 1000, unit: 'ms' },
  lingerUrgentMs: { type: 'integer', min: 0, max: 1000, default: 10, unit: 'ms' },
  lingerMs: { type: 'integer', min: 0, max: 1000, default: 50, unit: 'ms' }
});

module.exports = { rows, schema: schemaOf(rows) };

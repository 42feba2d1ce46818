'use strict';
// Settings of an engine node.

const { cpuList } = require('../base/cpus');
const { integer, choice, text, numbers, durations, weights } = require('../base/options');

const MAX_LOG_MIB = 1048576;
const MAX_RECORDS = 1e9;
const MAX_RATE = 1e7;

const schema = {
  gatewayId: text('', /^[^/+#\0]{1,128}$/, 'up to 128 characters without /, + and #'),
  workers: integer(0, 64, 0),
  cpus: cpuList(),
  memoryMiB: integer(1, 65536, 64),
  maxPacketKiB: integer(1, 16384, 256),
  maxDevices: integer(1, 1000000, 10000),
  wakeIntervalUs: integer(0, 100000, 800),
  rebalance: choice(/** @type {const} */ (['off', 'live']), 'off'),
  oddTopics: choice(/** @type {const} */ (['refuse', 'accept']), 'refuse'),
  fastPath: choice(/** @type {const} */ (['auto', 'off']), 'auto'),
  acknowledge: choice(/** @type {const} */ (['safe', 'stored', 'received']), 'safe'),
  logDir: text('', /^[^\0]{1,1024}$/, 'a path of at most 1024 characters'),
  logMiB: integer(1, MAX_LOG_MIB, 1024),
  logClassMiB: numbers(MAX_LOG_MIB),
  ttl: durations(),
  weights: weights(),
  agingMs: integer(0, 3600000, 5000),
  classRate: numbers(MAX_RATE),
  classQueue: numbers(MAX_RECORDS),
  whenFull: choice(/** @type {const} */ (['slow', 'drop']), 'slow'),
  patienceMs: integer(0, 60000, 1000),
  lingerUrgentMs: integer(0, 1000, 10),
  lingerMs: integer(0, 1000, 50)
};

exports.schema = schema;

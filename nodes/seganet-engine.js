'use strict';

const os = require('node:os');
const path = require('node:path');
const { EngineHost } = require('./lib/host');
const { integer, choice, text, numbers, durations, weights, parseOptions } = require('./lib/options');
const { Status } = require('./lib/status');
const { addEndpoints } = require('./lib/admin');
const parts = require('./lib/parts');

const MAX_LOG_MIB = 1048576;
const MAX_RECORDS = 1e9;
const MAX_RATE = 1e7;

const schema = {
  gatewayId: text('', /^[^/+#\0]{1,128}$/, 'up to 128 characters without /, + and #'),
  workers: integer(0, 64, 0),
  cpus: text('', /^\d+(-\d+)?(,\d+(-\d+)?)*$/, 'a list of cores such as 1-3,5'),
  memoryMiB: integer(1, 65536, 64),
  maxPacketKiB: integer(1, 16384, 256),
  maxDevices: integer(1, 1000000, 10000),
  wakeIntervalUs: integer(0, 100000, 800),
  rebalance: choice(/** @type {const} */ (['off', 'live']), 'off'),
  fastPath: choice(/** @type {const} */ (['auto', 'off']), 'auto'),
  acknowledge: choice(/** @type {const} */ (['safe', 'stored', 'received']), 'safe'),
  logDir: text(''),
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

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /** @type {Set<import('./lib/join').EngineNode>} */
  const engines = new Set();

  /**
   * @this {import('./lib/join').EngineNode}
   * @param {import('node-red').NodeDef} config
   */
  function Engine(config) {
    RED.nodes.createNode(this, config);
    engines.add(this);
    this.on('close', () => engines.delete(this));
    this.host = null;
    const { values, problems } = parseOptions(config, schema);
    if (problems.length > 0) return fail(this, 'wrong setting', problems.join(' '));
    const { gatewayId, fastPath, maxPacketKiB, logDir, logMiB, logClassMiB, ...rest } = values;
    const { ttl: ttlS, classRate: ratePerS, classQueue: queueRecords, ...engine } = rest;
    const { acknowledge, whenFull } = values;
    const byClass = { ttlS, ratePerS, queueRecords };
    const directory = logDir || path.join(RED.settings.userDir || process.cwd(), 'seganet-log', this.id);
    const log = { directory, limitMiB: logMiB, classLimitMiB: logClassMiB, whenFull };
    try {
      this.host = new EngineHost(
        {
          id: this.id,
          gatewayId: gatewayId || process.env.SEGANET_GATEWAY_ID || os.hostname(),
          fastPath,
          engine: {
            ...engine,
            ...byClass,
            maxPacketBytes: maxPacketKiB * 1024,
            log: acknowledge !== 'received'
          },
          log: acknowledge === 'received' ? null : log,
          directory
        },
        {
          native: parts.native(),
          events: RED.events,
          closeTimeoutMs: /** @type {{ nodeCloseTimeout?: number }} */ (RED.settings).nodeCloseTimeout,
          getNode: (id) => /** @type {any} */ (RED.nodes.getNode(id)),
          warn: (sentence) => this.warn(sentence),
          error: (sentence) => this.error(sentence),
          info: (sentence) => this.log(sentence)
        }
      );
    } catch (error) {
      return fail(this, 'engine not loaded', error instanceof Error ? error.message : String(error));
    }
    const host = this.host;
    for (const { index, cpu, reason } of host.workers) {
      if (cpu < 0) this.log(`Worker ${index} is not pinned to a core: ${reason}`);
    }
    this.on('close', (/** @type {boolean} */ removed, /** @type {() => void} */ done) => {
      host
        .close(removed)
        .catch((error) => this.error(error))
        .finally(done);
    });
  }

  RED.nodes.registerType('seganet-engine', Engine);
  addEndpoints(RED, engines);
};

/**
 * @param {import('./lib/join').EngineNode} node
 * @param {string} shown
 * @param {string} sentence
 */
function fail(node, shown, sentence) {
  node.failure = shown;
  new Status(node).red(shown);
  node.error(`The engine did not start: ${sentence}`);
}

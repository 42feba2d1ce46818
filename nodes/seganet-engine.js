'use strict';

require('../native/node/needs-node');
const os = require('node:os');
const path = require('node:path');
const { EngineHost } = require('./lib/engine/host');
const { NO_ENGINE } = require('./lib/engine/join');
const { readSettings } = require('./lib/settings/migrations');
const { onRuntimeEvent } = require('./lib/base/runtime-events');
const { schema } = require('./lib/settings/engine');
const { Status } = require('./lib/base/status');
const capabilities = require('./lib/capabilities');
const { additions } = require('./lib/engine/additions');
const { addEndpoints } = require('./lib/engine/admin');
const { GatewayEvents } = require('./lib/engine/gateway-events');
const { canvasOf } = require('./lib/engine/canvas');
const parts = require('./lib/engine/modules');

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  capabilities.useAlways();
  /** @type {Set<import('./lib/engine/join').EngineNode>} */
  const engines = new Set();
  const events = new GatewayEvents(RED, engines);

  /**
   * @this {import('./lib/engine/join').EngineNode}
   * @param {import('node-red').NodeDef} config
   */
  function Engine(config) {
    RED.nodes.createNode(this, config);
    events.follow(this, config);
    this.host = null;
    const { values, problems, shown: why } = readSettings(config, schema);
    if (problems.length > 0) return fail(this, why, problems.join(' '));
    const { gatewayId, fastPath, maxPacketKiB, logDir, logUrl, logMiB, logClassMiB, ...rest } = values;
    const { ttl: ttlS, classRate: ratePerS, classQueue: queueRecords, ...others } = rest;
    const { values: keeps, valuesMiB, valuesNotKept, networkSeasonS, ...beyond } = others;
    const { replicasMissing, replicaTimeoutS, ...engine } = beyond;
    const { acknowledge, whenFull } = values;
    const byClass = { ttlS, ratePerS, queueRecords };
    const directory = logDir || path.join(RED.settings.userDir || process.cwd(), 'seganet-log', this.id);
    let native;
    try {
      native = parts.native();
    } catch (error) {
      return fail(this, 'engine not loaded', error instanceof Error ? error.message : String(error));
    }
    const status = new Status(this);
    this.on('close', () => status.close());
    if (logUrl && acknowledge === 'received') {
      const remedy = 'Choose replicated, stored or safe, or leave the address of the database blank.';
      return fail(
        this,
        'wrong setting',
        `A gateway that acknowledges at once has no log to share. ${remedy}`
      );
    }
    const isTwo = [...engines].some(
      (node) => node !== this && node.host?.log?.isShared && !node.host.closing
    );
    if (logUrl && isTwo) {
      const remedy = 'Leave the address of the database blank in this one.';
      return fail(this, 'wrong setting', `Only one engine of a gateway may share its log. ${remedy}`);
    }
    if (logUrl) capabilities.use('pair');
    const gateway = gatewayId || process.env.SEGANET_GATEWAY_ID || os.hostname();
    const shared = { url: logUrl, name: `${gateway}/${this.id}`, place: os.hostname() };
    const log = {
      ...{ directory, limitMiB: logMiB, classLimitMiB: logClassMiB, whenFull },
      ...(logUrl && shared)
    };
    try {
      this.host = new EngineHost(
        {
          id: this.id,
          gatewayId: gateway,
          fastPath,
          networkSeasonS,
          engine: {
            ...engine,
            ...byClass,
            valuesMiB: keeps === 'on' ? valuesMiB : 0,
            valuesNotKept: filtersOf(valuesNotKept),
            maxPacketBytes: maxPacketKiB * 1024,
            log: acknowledge !== 'received'
          },
          log: acknowledge === 'received' ? null : log,
          replicas:
            acknowledge === 'replicated'
              ? { whenMissing: replicasMissing, timeoutMs: replicaTimeoutS * 1000 }
              : null,
          directory,
          // A Node-RED without a folder of its own keeps no values over a restart.
          valueDirectory: logDir || RED.settings.userDir ? directory : ''
        },
        {
          native,
          events: RED.events,
          canvas: () => canvasOf(RED),
          metric: () =>
            /** @type {{ metric?: () => boolean }} */ (/** @type {unknown} */ (this)).metric?.() === true,
          refused: (reason) => showPlan(status, reason),
          hooks: /** @type {any} */ (RED).hooks,
          closeTimeoutMs: /** @type {{ nodeCloseTimeout?: number }} */ (RED.settings).nodeCloseTimeout,
          getNode: (id) => /** @type {any} */ (RED.nodes.getNode(id)),
          warn: (sentence) => this.warn(sentence),
          error: (sentence) => this.error(sentence),
          info: (sentence) => this.log(sentence)
        }
      );
    } catch (error) {
      // The addon checks properties that depend on each other and throws a TypeError or RangeError.
      const isSetting = error instanceof TypeError || error instanceof RangeError;
      const shown = isSetting ? 'wrong setting' : 'engine not started';
      return fail(this, shown, error instanceof Error ? error.message : String(error));
    }
    const host = this.host;
    const report = (/** @type {string} */ sentence) => this.error(sentence);
    for (const { index, cpu, reason } of host.workers) {
      if (cpu < 0) this.log(`Worker ${index} is not pinned to a core: ${reason}`);
    }
    for (const follow of additions('engine')) follow(host, this, RED);
    const stopWatch = onRuntimeEvent(RED.events, 'flows:started', () => reportOrphans(RED, this), report);
    this.on('close', (/** @type {boolean} */ removed, /** @type {() => void} */ done) => {
      stopWatch();
      host
        .close(removed)
        .catch((error) => this.error(error))
        .finally(done);
    });
  }

  RED.nodes.registerType('seganet-engine', Engine, {
    credentials: {
      notifySecret: { type: 'password' },
      notifySmtpUser: { type: 'text' },
      notifySmtpPassword: { type: 'password' }
    }
  });
  addEndpoints(RED, engines, events);
};

/**
 * Reports nodes that were deployed before their engine. Node-RED does not recreate a node when the node it refers to is
 * added, so these nodes stay without an engine.
 * @param {import('node-red').NodeAPI} RED
 * @param {import('node-red').Node} engine
 */
function reportOrphans(RED, engine) {
  let orphans = 0;
  RED.nodes.eachNode((/** @type {any} */ config) => {
    const node = /** @type {import('./lib/engine/join').EngineNode | null} */ (RED.nodes.getNode(config.id));
    if (config.engine === engine.id && node?.inert?.shown === NO_ENGINE) orphans++;
  });
  if (orphans === 0) return;
  engine.warn(
    `${orphans} nodes were created before this engine and are not connected to it, so they take no records. Deploy once with "Full", or restart the flows.`
  );
}

/** @param {string} text with commas between the filters, which the engine checks @returns {string[]} */
const filtersOf = (text) =>
  text
    .split(',')
    .map((filter) => filter.trim())
    .filter((filter) => filter !== '');

/**
 * @param {Status} status
 * @param {string} reason why the plan of the latest deploy is not in use, '' = it is
 */
function showPlan(status, reason) {
  if (reason) status.red('plan refused: the previous one is in use');
  else if (status.shown) status.set({ fill: 'green', shape: 'dot', text: 'plan in use' });
}

/**
 * @param {import('./lib/engine/join').EngineNode} node
 * @param {string} shown
 * @param {string} sentence
 */
function fail(node, shown, sentence) {
  node.failure = shown;
  new Status(node).red(shown);
  node.error(`The engine did not start: ${sentence}`);
}

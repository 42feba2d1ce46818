'use strict';

require('../native/node/needs-node');
const { findHost, leaveInert } = require('./lib/engine/join');
const { eachSecond } = require('./lib/base/timing/each-second');
const { integer, choice } = require('./lib/base/options');
const { readSettings } = require('./lib/settings/migrations');
const { Meter } = require('./lib/engine/figures/meter');
const { healthOf } = require('./lib/engine/health-endpoints');
const { Heart } = require('./lib/health');
const { version } = require('../package.json');

/** Devices in one message. */
const PAGE = 1000;

const schema = {
  intervalS: integer(1, 86400, 10),
  content: choice(/** @type {const} */ (['counters', 'heartbeat', 'events']), 'counters'),
  agents: choice(/** @type {const} */ (['off', 'on']), 'off')
};

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Stats(config) {
    RED.nodes.createNode(this, config);
    const { values, problems, shown: why } = readSettings(config, schema);
    if (problems.length > 0) return leaveInert(this, why, problems.join(' '));
    const host = findHost(
      RED,
      this,
      /** @type {{ engine?: string }} */ (/** @type {unknown} */ (config)).engine
    );
    if (!host) return;

    if (values.content === 'events') return sendEvents(RED, this, host.id);

    const meter = new Meter();
    meter.read(host.engine.stats());
    const heart = values.content === 'heartbeat' ? new Heart({ gateway: host.gatewayId, version }) : null;
    const timer = setInterval(() => {
      if (host.closing) return;
      const stats = host.snapshot();
      const { seconds, stages, counters } = meter.read(stats);
      if (heart) {
        const payload = heart.beat(healthOf({ host }), stats, counters, process.uptime());
        this.send({ topic: 'heartbeat', payload });
      } else {
        const rates = { seconds, counters, stages: Object.fromEntries(stages) };
        this.send({ topic: 'stats', payload: { ...stats, rates } });
      }
      if (values.agents === 'on') sendAgents(this, host);
    }, values.intervalS * 1000);
    // A problem that is shorter than a second may be missing in the heartbeat.
    const endLooks = heart && eachSecond(() => heart.look(healthOf({ host })));
    this.on('close', () => {
      clearInterval(timer);
      endLooks?.();
    });
  }

  RED.nodes.registerType('seganet-stats', Stats);
};

/**
 * Sends a message for each event that begins, comes back, ends, or is acknowledged.
 * @param {import('node-red').NodeAPI} RED
 * @param {import('node-red').Node} node
 * @param {string} engine id of the node
 */
function sendEvents(RED, node, engine) {
  const { events } = /** @type {import('./lib/engine/join').EngineNode} */ (RED.nodes.getNode(engine));
  const unfollow = events?.follower(engine, (event, change) =>
    node.send(/** @type {any} */ ({ topic: 'event', payload: { change, ...event } }))
  );
  node.on('close', () => unfollow?.());
}

/**
 * Sends one message for each 1,000 devices.
 * @param {import('node-red').Node} node
 * @param {import('./lib/engine/host').EngineHost} host
 */
function sendAgents(node, host) {
  for (let after = ''; ;) {
    const { agents, next } = host.registry.page(after, PAGE);
    node.send(/** @type {any} */ ({ topic: 'agents', payload: agents, after, next }));
    if (next === null) return;
    after = next;
  }
}

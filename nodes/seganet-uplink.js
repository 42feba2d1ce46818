'use strict';

const { onInput } = require('./lib/base/message-input');
const { join } = require('./lib/engine/join');
const { schema } = require('./lib/settings/uplink');
const { toRecord, toEnvelope, isBatch } = require('./lib/base/record');
const { checkTemplate } = require('./lib/engine/check-template');
const { uplinkShown, heldShown } = require('./lib/engine/uplink-status');

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Uplink(config) {
    RED.nodes.createNode(this, config);
    const member = join(
      RED,
      this,
      config,
      schema,
      (values, host) => {
        const { broker, qos, ...topics } = values;
        checkTemplate('topic', topics.topic);
        checkTemplate('recordTopic', topics.recordTopic);
        const link = claimBroker(RED, this, broker, host);
        return {
          kind: 'uplink',
          settings: { uplink: host.uplinks.numberOf(link.id) },
          uplink: { link, topics: { ...topics, qos: qos === '0' ? 0 : 1 } },
          shown: (_rates, stats) => uplinkShown(link.state, stats, host.uplinks.size === 1)
        };
      },
      // As for an unreachable broker, records wait and the log keeps them.
      (wrong, host) => ({
        kind: 'uplink',
        settings: { uplink: host.uplinks.numberWithout(this.id) },
        shown: (_rates, stats) => heldShown(wrong.shown, stats, host.uplinks.size === 0)
      })
    );
    if (!member) return;

    onInput(this, (msg, _send, done) =>
      member.put(isBatch(msg) ? toEnvelope(msg) : toRecord(msg), done, { delivery: true, msg })
    );
  }

  RED.nodes.registerType('seganet-uplink', Uplink);
};

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {import('node-red').Node} node
 * @param {string} brokerId
 * @param {import('./lib/engine/host').EngineHost} host
 * @returns {import('./lib/engine/broker-link').BrokerLink}
 * @throws {Error} with a sentence
 */
function claimBroker(RED, node, brokerId, host) {
  const broker = /** @type {import('./seganet-uplink-broker').BrokerNode | null} */ (
    brokerId ? RED.nodes.getNode(brokerId) : null
  );
  if (broker?.type !== 'seganet-uplink-broker') {
    throw trouble('no broker', 'No uplink broker is chosen, or it is disabled. Choose one in the node.');
  }
  const { link, failure } = broker;
  if (!link) {
    const name = broker.name || brokerId;
    throw trouble('broker: wrong setting', `The uplink broker "${name}" has a wrong setting. ${failure}`);
  }
  if (!link.claim(host, node)) {
    throw trouble(
      'broker in use',
      `The uplink broker "${link.name}" already serves another engine, and a broker node serves only one. ` +
        'Create a second broker node for this engine.'
    );
  }
  node.on('close', () => link.release(node));
  return link;
}

/**
 * @param {string} shown for the canvas
 * @param {string} sentence
 */
function trouble(shown, sentence) {
  return Object.assign(new Error(sentence), { shown });
}

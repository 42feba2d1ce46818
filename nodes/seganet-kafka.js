'use strict';

require('../native/node/needs-node');
require('./lib/capabilities').use('kafka');
const { BrokerLink } = require('./lib/engine/broker-link');
const { threads } = require('./lib/engine/modules');
const { Complaints } = require('./lib/base/complaints');
const { Gateways, kafkaTopics } = require('./lib/kafka/gateways/gateways');
const { open } = require('./lib/kafka/gateways/joined');
const { readCluster } = require('./lib/kafka/settings/cluster-node');

const STOP_MS = 2000;

/**
 * failure: why the node has no link. options: for sources.
 * @typedef {import('node-red').Node & { link?: BrokerLink | null, failure?: string,
 *   options?: Omit<import('./lib/kafka/settings/kafka-options').KafkaOptions, 'gateway'> }} ClusterNode
 */

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {ClusterNode}
   * @param {import('node-red').NodeDef} config
   */
  function Cluster(config) {
    RED.nodes.createNode(this, config);
    this.link = null;
    try {
      const { options, warning, shared } = readCluster(RED, this, config, this.credentials);
      if (warning) this.warn(warning);
      const name = config.name || options.brokers[0].host;
      const link = new BrokerLink(this.id, name, options, () => threads('kafka').UplinkThread);
      const complaints = new Complaints((sentence) => this.warn(sentence));
      link.onProblem = (sentence, kind = sentence, count = 1) => complaints.tell(kind, sentence, count);
      this.options = options;
      this.link = link;
      const gateways =
        shared &&
        new Gateways({ topics: shared, open: kafkaTopics(options, shared), warn: (text) => this.warn(text) });
      if (gateways) open(this, gateways);
      // The engine delivers first what it has, and the outcomes are written.
      const end = () => link.close(STOP_MS).then(() => gateways?.close());
      this.on('close', (/** @type {() => void} */ done) => void end().finally(done));
    } catch (error) {
      fail(this, error instanceof Error ? error.message : String(error));
    }
  }

  RED.nodes.registerType('seganet-kafka', Cluster, {
    credentials: { username: { type: 'text' }, password: { type: 'password' } }
  });
};

/**
 * Reports a failure. A config node has no status, so the nodes that use it repeat the sentence.
 * @param {ClusterNode} node
 * @param {string} sentence
 */
function fail(node, sentence) {
  node.failure = sentence;
  node.error(sentence);
}

'use strict';

require('../native/node/needs-node');
const { BrokerLink } = require('./lib/engine/broker-link');
const { readBroker } = require('./lib/settings/broker-node');
const { splitUrls } = require('./lib/settings/broker-url');
const { Complaints } = require('./lib/base/complaints');

const STOP_MS = 2000;

/**
 * failure: why the node has no link; shown: the same for a status.
 * @typedef {import('node-red').Node & { link?: BrokerLink | null, failure?: string, shown?: string }} BrokerNode
 */

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {BrokerNode}
   * @param {import('node-red').NodeDef} config
   */
  function UplinkBroker(config) {
    RED.nodes.createNode(this, config);
    this.link = null;
    try {
      const { options, warning } = readBroker(RED, this, config, this.credentials);
      if (warning) this.warn(warning);
      const link = new BrokerLink(this.id, config.name || new URL(splitUrls(options.url)[0]).host, options);
      const complaints = new Complaints((sentence) => this.warn(sentence));
      link.onProblem = (sentence, kind = sentence, count = 1) => complaints.tell(kind, sentence, count);
      this.link = link;
      this.on('close', (/** @type {() => void} */ done) => void link.close(STOP_MS).finally(done));
    } catch (error) {
      fail(this, error);
    }
  }

  RED.nodes.registerType('seganet-uplink-broker', UplinkBroker, {
    credentials: { username: { type: 'text' }, password: { type: 'password' } }
  });
};

/**
 * Reports a failure. A config node has no status, so the uplink nodes that use it repeat the sentence.
 * @param {BrokerNode} node
 * @param {any} error with a sentence
 */
function fail(node, { message, shown }) {
  node.failure = message;
  node.shown = shown;
  node.error(message);
}

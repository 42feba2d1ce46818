'use strict';

require('../native/node/needs-node');
const { BrokerLink } = require('./lib/engine/broker-link');
const { Complaints } = require('./lib/base/complaints');
const { configOf, given } = require('./lib/base/node-config');
const { readSettings } = require('./lib/settings/migrations');
const { schema } = require('./lib/settings/broker');
const { brokerAddress, tlsOptions, tlsFiles } = require('./lib/settings/broker-options');
const { parseGroups, parseSockets } = require('./lib/settings/group-options');
const { parseCongestion } = require('./lib/settings/congestion');
const { checkReconnect } = require('./lib/settings/uplink-options');
const { parsePaths } = require('./lib/settings/path-options');

const STOP_MS = 2000;

/**
 * failure: why the node has no link.
 * @typedef {import('node-red').Node & { link?: BrokerLink | null, failure?: string }} BrokerNode
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
    const { values, problems } = readSettings({ ...config, ...given(this.credentials) }, schema);
    if (problems.length > 0) return fail(this, problems.join(' '));
    const {
      tls: tlsId,
      overlay,
      protocolVersion,
      backlogShare,
      reserve,
      username,
      password,
      ...rest
    } = values;
    const options = { ...rest, commands: rest.commands === 'on' };
    try {
      parseSockets(options, parseGroups(options.groups).length);
      parseCongestion(options.congestion);
      parsePaths(options.paths);
      checkReconnect(options.reconnectMinMs, options.reconnectMaxMs);
      const dialer = overlay ? dialerOf(RED.nodes.getNode(overlay), rest.paths) : null;
      const { url, warning } = brokerAddress(values.url);
      // The overlay encrypts to the node behind which the broker is.
      if (warning && !overlay) this.warn(warning);
      const files = tlsFiles(configOf(RED, tlsId), (name) =>
        RED.util.evaluateNodeProperty(name, 'env', this, {})
      );
      const link = new BrokerLink(this.id, config.name || new URL(url).host, {
        ...options,
        url,
        dialer,
        tls: tlsOptions(tlsId, tlsId ? RED.nodes.getNode(tlsId) : null, 'uplink broker', files),
        ...(files && { tlsFiles: files }),
        protocolVersion: Number(protocolVersion),
        backlogShare: backlogShare / 100,
        reserve: reserve / 100,
        ...(username && { username }),
        ...(password && { password })
      });
      const complaints = new Complaints((sentence) => this.warn(sentence));
      link.onProblem = (sentence, kind = sentence, count = 1) => complaints.tell(kind, sentence, count);
      this.link = link;
      this.on('close', (/** @type {() => void} */ done) => void link.close(STOP_MS).finally(done));
    } catch (error) {
      fail(this, error instanceof Error ? error.message : String(error));
    }
  }

  RED.nodes.registerType('seganet-uplink-broker', UplinkBroker, {
    credentials: { username: { type: 'text' }, password: { type: 'password' } }
  });
};

/**
 * @param {import('node-red').Node | null} node the overlay network that leads to the broker
 * @param {string} paths of the broker node
 * @returns {import('./lib/settings/uplink-options').Dialer}
 * @throws {Error} with a sentence
 */
function dialerOf(node, paths) {
  const { link } = /** @type {import('./seganet-overlay').OverlayNode} */ (node ?? {});
  if (!link) throw new Error('The overlay network of this broker is missing, disabled or not started.');
  if (paths)
    throw new Error(
      'A broker is reached either by an overlay network or over several paths: empty one of the two fields. The overlay chooses its path itself.'
    );
  return link.dialer;
}

/**
 * Reports a failure. A config node has no status, so the uplink nodes that use it repeat the sentence.
 * @param {BrokerNode} node
 * @param {string} sentence
 */
function fail(node, sentence) {
  node.failure = sentence;
  node.error(sentence);
}

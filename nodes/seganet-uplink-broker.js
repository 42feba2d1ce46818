'use strict';

const { BrokerLink } = require('./lib/broker-link');
const { configOf, given } = require('./lib/config');
const { integer, choice, text, parseOptions } = require('./lib/options');
const { brokerAddress, tlsOptions, tlsFiles } = require('./lib/broker-options');
const { parseGroups, parseSockets } = require('./lib/uplink/group-options');
const { parseCongestion } = require('./lib/uplink/congestion');
const { parsePaths } = require('./lib/uplink/path-options');

const STOP_MS = 2000;

const schema = {
  url: text('', /^\S+$/, 'an address such as mqtts://host:8883'),
  tls: text(''),
  clientId: text('', /^[^/+#\0]{1,128}$/, 'up to 128 characters without /, + and #'),
  protocolVersion: choice(/** @type {const} */ (['5', '4']), '5'),
  minTls: choice(/** @type {const} */ (['TLSv1.3', 'TLSv1.2']), 'TLSv1.3'),
  keepalive: integer(1, 65535, 30),
  inflight: integer(1, 1024, 32),
  backlogRate: integer(0, 10000000, 5000),
  backlogShare: integer(1, 100, 50),
  // Checked together: the lists have as many parts as there are groups.
  groups: text(''),
  reserve: integer(0, 100, 25),
  priority: text(''),
  dscp: text(''),
  notSentLowat: text(''),
  sendBuffer: text(''),
  ackTimeoutMs: integer(1000, 3600000, 15000),
  userTimeoutMs: integer(0, 3600000, 10000),
  // Checked with the rest of the uplink's options.
  congestion: text(''),
  paths: text(''),
  pathLossMs: integer(100, 3600000, 1000),
  reconnectMinMs: integer(10, 600000, 500),
  reconnectMaxMs: integer(10, 3600000, 5000),
  commands: choice(/** @type {const} */ (['off', 'on']), 'off'),
  commandPrefix: text('cmd', /^[^$/+#\0][^+#\0]{0,255}(?<!\/)$/, 'a topic such as cmd, without + and #'),
  // Credentials are a part of the store; a flow file may carry them as properties instead, for ${NAME}.
  username: text(''),
  password: text('')
};

/** @typedef {import('node-red').Node & { link?: BrokerLink | null, failure?: string }} BrokerNode failure: why it has no link */

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {BrokerNode}
   * @param {import('node-red').NodeDef} config
   */
  function UplinkBroker(config) {
    RED.nodes.createNode(this, config);
    this.link = null;
    const { values, problems } = parseOptions({ ...config, ...given(this.credentials) }, schema);
    if (problems.length > 0) return fail(this, problems.join(' '));
    const { tls: tlsId, protocolVersion, backlogShare, reserve, username, password, ...rest } = values;
    const options = { ...rest, commands: rest.commands === 'on' };
    try {
      parseSockets(options, parseGroups(options.groups).length);
      parseCongestion(options.congestion);
      parsePaths(options.paths);
      const { url, warning } = brokerAddress(values.url);
      if (warning) this.warn(warning);
      const files = tlsFiles(configOf(RED, tlsId), (name) =>
        RED.util.evaluateNodeProperty(name, 'env', this, {})
      );
      const link = new BrokerLink(this.id, config.name || new URL(url).host, {
        ...options,
        url,
        tls: tlsOptions(tlsId, tlsId ? RED.nodes.getNode(tlsId) : null, files),
        ...(files && { tlsFiles: files }),
        protocolVersion: Number(protocolVersion),
        backlogShare: backlogShare / 100,
        reserve: reserve / 100,
        ...(username && { username }),
        ...(password && { password })
      });
      link.onProblem = (sentence) => this.warn(sentence);
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
 * A config node has no status: the uplink nodes that use it repeat the sentence.
 * @param {BrokerNode} node
 * @param {string} sentence
 */
function fail(node, sentence) {
  node.failure = sentence;
  node.error(sentence);
}

'use strict';
// The options of a broker, from the configuration of its node: deployed, or as its dialog shows it.

const { configOf, given } = require('../base/node-config');
const { fill } = require('../base/templates');
const { variableIn } = require('../base/variable-reference');
const { readSettings } = require('./migrations');
const { schema } = require('./broker');
const { alarmWarning, checkAlarms } = require('./alarm-options');
const { brokerAddress, tlsOptions, tlsFiles } = require('./broker-options');
const { parseGroups, parseSockets } = require('./group-options');
const { parseCongestion } = require('./congestion');
const { checkReconnect } = require('./uplink-options');
const { parsePaths } = require('./path-options');
const { rows } = require('./uplink');

/** Other levels of the topics of a test. */
const NAMES = { class: 'normal', device: 'seganet-test', topic: 'seganet-test' };
const MOST_TOPICS = 4;

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {import('node-red').Node} node in whose scope variables are looked up
 * @param {Record<string, any>} config
 * @param {Record<string, unknown> | undefined} credentials
 * @returns {{ options: Omit<import('./uplink-options').UplinkOptions, 'gateway'>, warning: string }}
 * @throws {Error & { shown?: string }} with a sentence; shown: for the status
 */
function readBroker(RED, node, config, credentials) {
  const { values, problems } = readSettings({ ...config, ...given(credentials) }, schema);
  if (problems.length > 0) throw new Error(problems.join(' '));
  const { tls: tlsId, overlay, protocolVersion, backlogShare, reserve, username, password, ...rest } = values;
  const options = { ...rest, commands: rest.commands === 'on' };
  parseSockets(options, parseGroups(options.groups).length);
  parseCongestion(options.congestion);
  parsePaths(options.paths);
  checkAlarms(options);
  checkReconnect(options.reconnectMinMs, options.reconnectMaxMs);
  // Node-RED leaves a reference to a variable that is not set as it is.
  const unset = variableIn(String(config.url ?? '').trim());
  if (unset) throw notSet(unset);
  const dialer = overlay ? dialerOf(RED.nodes.getNode(overlay), rest.paths) : null;
  const { url, warning } = brokerAddress(values.url);
  const isV4 = protocolVersion === '4';
  const alarms = alarmWarning({ ...options, protocolVersion: isV4 ? 4 : 5 });
  const files = tlsFiles(configOf(RED, tlsId), (name) =>
    RED.util.evaluateNodeProperty(name, 'env', node, {})
  );
  return {
    options: {
      ...options,
      url,
      dialer,
      tls: tlsOptions(tlsId, tlsId ? RED.nodes.getNode(tlsId) : null, 'uplink broker', files),
      ...(files && { tlsFiles: files }),
      protocolVersion: isV4 ? 4 : 5,
      backlogShare: backlogShare / 100,
      reserve: reserve / 100,
      ...(username && { username }),
      ...(password && { password })
    },
    // The overlay encrypts to the node behind which the broker is.
    warning: [overlay ? '' : warning, alarms].filter(Boolean).join(' ')
  };
}

/** @param {string} name of the variable with the address */
function notSet(name) {
  const sentence = `${name}, the address of the uplink broker, is not set in the environment of Node-RED. Set it, such as ${name}=mqtts://broker.example.com:8883.`;
  return Object.assign(new Error(sentence), { shown: `not set: ${name}` });
}

/**
 * @param {import('node-red').Node | null} node the overlay network that leads to the broker
 * @param {string} paths of the broker node
 * @returns {import('./uplink-options').Dialer}
 * @throws {Error} with a sentence
 */
function dialerOf(node, paths) {
  const { link } = /** @type {{ link?: { dialer: import('./uplink-options').Dialer } }} */ (node ?? {});
  if (!link) throw new Error('The overlay network of this broker is missing, disabled or not started.');
  if (paths)
    throw new Error(
      'A broker is reached either by an overlay network or over several paths: empty one of the two fields. The overlay chooses its path itself.'
    );
  return link.dialer;
}

/**
 * Returns a configuration with the values of its variables. Node-RED replaces them when it makes a node.
 * @param {Record<string, any>} config
 * @param {(name: string) => unknown} variable its value
 * @returns {Record<string, any>} a reference to a variable without a value stays
 */
function withVariables(config, variable) {
  const value = (/** @type {unknown} */ each) => {
    const name = variableIn(each);
    return (name && variable(name)) || each;
  };
  return Object.fromEntries(Object.entries(config).map(([name, each]) => [name, value(each)]));
}

/**
 * A config node that is tested, deployed or not.
 * @typedef {object} Tested
 * @property {import('node-red').Node} node in whose scope variables are looked up
 * @property {Record<string, any>} config with the values of its variables
 * @property {Record<string, any>} credentials
 * @property {Record<string, any>[]} nodes of the flow, with the values of their variables
 * @property {string} gateway
 */

/**
 * Returns topics to which uplink nodes publish at a broker, for a test of it.
 * @param {Record<string, any>[]} nodes of the flow, with the values of their variables
 * @param {string} broker id of its node
 * @param {string} gateway
 * @returns {string[]}
 */
function topicsAt(nodes, broker, gateway) {
  // Brokers check the form of Sparkplug's topics and payloads.
  const uplinks = nodes.filter(
    (each) =>
      each.type === 'seganet-uplink' && each.broker === broker && !each.d && each.format !== 'sparkplug'
  );
  const topics = uplinks.map(({ topic }) => fill(topic || rows.topic.default, { ...NAMES, gateway }));
  return [...new Set(topics)].slice(0, MOST_TOPICS);
}

module.exports = { readBroker, topicsAt, withVariables };

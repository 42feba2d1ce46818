'use strict';
// The options of a broker, from the configuration of its node: deployed, or as its dialog shows it.

const { configOf, given } = require('../base/node-config');
const { readSettings } = require('../settings/migrations');
const { schema } = require('../settings/broker');
const { brokerAddress, tlsOptions, tlsFiles } = require('../settings/broker-options');
const { parseGroups, parseSockets } = require('../settings/group-options');
const { parseCongestion } = require('../settings/congestion');
const { checkReconnect } = require('../settings/uplink-options');
const { parsePaths } = require('../settings/path-options');

/** Node-RED leaves a reference to a variable that is not set as it is. */
const VARIABLE = /^\$[{(](\S+)[})]$/;

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {import('node-red').Node} node in whose scope variables are looked up
 * @param {Record<string, any>} config
 * @param {Record<string, unknown> | undefined} credentials
 * @returns {{ options: Omit<import('../settings/uplink-options').UplinkOptions, 'gateway'>, warning: string }}
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
  checkReconnect(options.reconnectMinMs, options.reconnectMaxMs);
  const [, unset] = VARIABLE.exec(String(config.url ?? '').trim()) ?? [];
  if (unset) throw notSet(unset);
  const dialer = overlay ? dialerOf(RED.nodes.getNode(overlay), rest.paths) : null;
  const { url, warning } = brokerAddress(values.url);
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
      protocolVersion: protocolVersion === '4' ? 4 : 5,
      backlogShare: backlogShare / 100,
      reserve: reserve / 100,
      ...(username && { username }),
      ...(password && { password })
    },
    // The overlay encrypts to the node behind which the broker is.
    warning: overlay ? '' : warning
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
 * @returns {import('../settings/uplink-options').Dialer}
 * @throws {Error} with a sentence
 */
function dialerOf(node, paths) {
  const { link } = /** @type {{ link?: { dialer: import('../settings/uplink-options').Dialer } }} */ (
    node ?? {}
  );
  if (!link) throw new Error('The overlay network of this broker is missing, disabled or not started.');
  if (paths)
    throw new Error(
      'A broker is reached either by an overlay network or over several paths: empty one of the two fields. The overlay chooses its path itself.'
    );
  return link.dialer;
}

exports.readBroker = readBroker;

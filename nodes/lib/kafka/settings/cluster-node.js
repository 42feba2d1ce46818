'use strict';
// The options of a Kafka cluster, from the configuration of its node: deployed, or as its dialog shows it.

const { configOf, given } = require('../../base/node-config');
const { tlsFiles } = require('../../settings/broker-options');
const { readSettings } = require('../../settings/migrations');
const { clusterOptions } = require('./kafka-options');
const { schema } = require('./kafka');

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {import('node-red').Node} node in whose scope variables are looked up
 * @param {Record<string, any>} config
 * @param {Record<string, unknown> | undefined} credentials
 * @returns {ReturnType<typeof clusterOptions>}
 * @throws {Error} with a sentence
 */
function readCluster(RED, node, config, credentials) {
  const { values, problems } = readSettings({ ...config, ...given(credentials) }, schema);
  if (problems.length > 0) throw new Error(problems.join(' '));
  const files = tlsFiles(configOf(RED, values.tls), (name) =>
    RED.util.evaluateNodeProperty(name, 'env', node, {})
  );
  return clusterOptions(values, { node: values.tls ? RED.nodes.getNode(values.tls) : null, files });
}

exports.readCluster = readCluster;

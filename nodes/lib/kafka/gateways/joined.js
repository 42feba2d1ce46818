'use strict';
// Who shares commands with other gateways: the engines of the nodes that use a Kafka cluster node.

/** @typedef {InstanceType<typeof import('./gateways').Gateways>} Gateways */

/** By the id of the Kafka cluster node. @type {Map<string, Gateways>} */
const running = new Map();

/** @param {string} cluster id of its node @returns {Gateways | null} null: its engines share nothing */
const gatewaysOf = (cluster) => running.get(cluster) ?? null;

/** By the id of the Kafka cluster node. */
const allGateways = () => running.entries();

/** Call it in the constructor of a Kafka cluster node. @param {import('node-red').Node} node @param {Gateways} gateways */
function open(node, gateways) {
  running.set(node.id, gateways);
  node.on('close', () => {
    if (running.get(node.id) === gateways) running.delete(node.id);
  });
}

/**
 * Lets an engine take part while a node lives that uses the cluster.
 * @param {import('node-red').Node} node
 * @param {string} cluster id of its node
 * @param {import('../../engine/host').EngineHost} host
 */
function join(node, cluster, host) {
  const leave = gatewaysOf(cluster)?.join(host);
  if (leave) node.on('close', () => leave());
}

/**
 * Adds what does not work to the status of a node that uses the cluster.
 * @param {string} cluster id of its node
 * @param {import('../../base/status').Shown} shown
 * @returns {import('../../base/status').Shown}
 */
function withTrouble(cluster, shown) {
  const trouble = gatewaysOf(cluster)?.trouble;
  if (!trouble || shown.fill === 'red') return shown;
  return { fill: 'yellow', shape: 'ring', text: trouble };
}

module.exports = { allGateways, join, open, withTrouble };

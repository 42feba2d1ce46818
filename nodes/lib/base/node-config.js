'use strict';
// The parts of a node's configuration that its constructor does not receive.

/**
 * @param {Record<string, unknown> | undefined} credentials
 * @returns {Record<string, unknown>} the credentials that are not empty; they override properties
 */
function given(credentials) {
  return Object.fromEntries(Object.entries(credentials ?? {}).filter(([, value]) => value));
}

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {string} id
 * @returns {Record<string, any> | undefined} the node as the flow file has it
 */
function configOf(RED, id) {
  /** @type {Record<string, any> | undefined} */
  let found;
  if (id) RED.nodes.eachNode((config) => void (config.id === id && (found = config)));
  return found;
}

/**
 * @param {import('node-red').NodeAPI} RED
 * @returns {Set<string>} the ids of all nodes of the flow file, also of those that are disabled
 */
function nodeIds(RED) {
  /** @type {Set<string>} */
  const ids = new Set();
  RED.nodes.eachNode(({ id }) => void ids.add(id));
  return ids;
}

module.exports = { given, configOf, nodeIds };

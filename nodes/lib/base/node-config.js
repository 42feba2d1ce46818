'use strict';
// A node's configuration, where its constructor does not get all of it.

/**
 * @param {Record<string, unknown> | undefined} credentials
 * @returns {Record<string, unknown>} those that are not empty, so that they win over the properties
 */
function given(credentials) {
  return Object.fromEntries(Object.entries(credentials ?? {}).filter(([, value]) => value));
}

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {string} id
 * @returns {Record<string, any> | undefined} a node as it is in the flow file
 */
function configOf(RED, id) {
  /** @type {Record<string, any> | undefined} */
  let found;
  if (id) RED.nodes.eachNode((config) => void (config.id === id && (found = config)));
  return found;
}

module.exports = { given, configOf };

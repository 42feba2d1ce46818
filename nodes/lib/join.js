'use strict';
// The way of every data node into its engine. A node that cannot join says why, once, and fails each message.

const { parseOptions } = require('./options');
const { Member } = require('./member');
const { Status } = require('./status');

/**
 * @typedef {import('./host').EngineHost} EngineHost
 * @typedef {import('node-red').Node} Node
 * @typedef {Node & { host?: EngineHost | null, failure?: string }} EngineNode
 */

/**
 * @param {Node} node
 * @param {string} shown for the canvas
 * @param {string} sentence with a remedy; '' when another node has said it already
 */
function leaveInert(node, shown, sentence) {
  new Status(node).red(shown);
  if (sentence) node.error(sentence);
  node.on('input', (_msg, _send, done) => done(new Error(sentence || shown)));
}

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {Node} node
 * @param {string | undefined} engineId
 * @returns {EngineHost | null} null when there is none; the node is inert then
 */
function findHost(RED, node, engineId) {
  const engineNode = /** @type {EngineNode | null} */ (engineId ? RED.nodes.getNode(engineId) : null);
  if (!engineNode || engineNode.type !== 'seganet-engine') {
    leaveInert(node, 'no engine', 'No engine is chosen, or it is disabled. Choose one in the node.');
    return null;
  }
  if (!engineNode.host) {
    leaveInert(node, engineNode.failure ?? 'engine not started', '');
    return null;
  }
  return engineNode.host;
}

/**
 * @template {Record<string, import('./options').Parser<any>>} S
 * @param {import('node-red').NodeAPI} RED
 * @param {Node} node after createNode()
 * @param {object} config
 * @param {S} schema of the node's own properties
 * @param {(values: { [K in keyof S]: ReturnType<S[K]> }, host: EngineHost) => import('./member').Stage} describe
 *   may throw an Error with a sentence
 * @returns {Member | null} null when the node cannot work; it is inert then
 */
function join(RED, node, config, schema, describe) {
  const { values, problems } = parseOptions(config, schema);
  if (problems.length > 0) {
    leaveInert(node, 'wrong setting', problems.join(' '));
    return null;
  }
  const host = findHost(RED, node, /** @type {{ engine?: string }} */ (config).engine);
  if (!host) return null;
  let member;
  try {
    member = new Member(host, node, describe(values, host));
  } catch (error) {
    leaveInert(node, 'wrong setting', error instanceof Error ? error.message : String(error));
    return null;
  }
  const joined = member;
  node.on('close', (/** @type {() => void} */ done) => void joined.close().finally(done));
  return joined;
}

module.exports = { join, findHost, leaveInert };

'use strict';
// The way of every data node into its engine. A node that cannot join says why, once, and fails each message.

const { parseOptions } = require('../base/options');
const { Member } = require('./member');
const { Status } = require('../base/status');

/** Of a node whose engine does not exist, for the canvas. */
const NO_ENGINE = 'no engine';

/**
 * @typedef {import('./host').EngineHost} EngineHost
 * @typedef {import('./plan-compiler').Trouble} Trouble
 * @typedef {import('node-red').Node & { inert?: Trouble }} Node inert: why it cannot work, where it cannot
 * @typedef {Node & { host?: EngineHost | null, failure?: string }} EngineNode
 */

/**
 * @param {Node} node
 * @param {string} shown for the canvas
 * @param {string} sentence with a remedy; '' when another node has said it already
 */
function leaveInert(node, shown, sentence) {
  // The plan reads it: no device may be acknowledged for what ends here.
  node.inert = { shown, sentence };
  new Status(node).red(shown);
  if (sentence) node.error(sentence);
  node.on('input', (_msg, _send, done) => done(new Error(sentence || shown)));
}

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {string | undefined} engineId
 * @returns {{ host: EngineHost | null, trouble: Trouble }} trouble: why there is none
 */
function engineOf(RED, engineId) {
  const engineNode = /** @type {EngineNode | null} */ (engineId ? RED.nodes.getNode(engineId) : null);
  if (!engineNode || engineNode.type !== 'seganet-engine') {
    const sentence = 'No engine is chosen, or it is disabled. Choose one in the node.';
    return { host: null, trouble: { shown: NO_ENGINE, sentence } };
  }
  // The engine node itself has said why.
  return {
    host: engineNode.host ?? null,
    trouble: { shown: engineNode.failure ?? 'engine not started', sentence: '' }
  };
}

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {Node} node
 * @param {string | undefined} engineId
 * @returns {EngineHost | null} null when there is none; the node is inert then
 */
function findHost(RED, node, engineId) {
  const { host, trouble } = engineOf(RED, engineId);
  if (!host) leaveInert(node, trouble.shown, trouble.sentence);
  return host;
}

/**
 * @template {Record<string, import('../base/options').Parser<any>>} S
 * @param {import('node-red').NodeAPI} RED
 * @param {Node} node after createNode()
 * @param {object} config
 * @param {S} schema of the node's own properties
 * @param {(values: { [K in keyof S]: ReturnType<S[K]> }, host: EngineHost) => import('./member').Stage} describe
 *   may throw an Error with a sentence, and with `shown` for the canvas
 * @param {(trouble: Trouble, host: EngineHost) => import('./member').Stage} [standIn] what the node is to the engine while
 *   its settings are wrong; without one it is inert then
 * @returns {Member | null} null when the node cannot work; it is inert then
 */
function join(RED, node, config, schema, describe, standIn) {
  const { values, problems } = parseOptions(config, schema);
  const { engine } = /** @type {{ engine?: string }} */ (config);
  /** @param {Trouble} trouble @param {() => import('./member').Stage} [again] */
  const fail = (trouble, again) => {
    const host = standIn && engineOf(RED, engine).host;
    if (!host) {
      leaveInert(node, trouble.shown, trouble.sentence);
      return null;
    }
    node.error(trouble.sentence);
    const member = enroll(host, node, standIn(trouble, host));
    member.again = again ?? null;
    return member;
  };
  if (problems.length > 0) return fail({ shown: 'wrong setting', sentence: problems.join(' ') });
  const host = findHost(RED, node, engine);
  if (!host) return null;
  try {
    return enroll(host, node, describe(values, host));
  } catch (error) {
    const { shown = 'wrong setting' } = /** @type {{ shown?: string }} */ (error ?? {});
    const sentence = error instanceof Error ? error.message : String(error);
    // Node-RED does not make a node again for a config node that comes later.
    return fail({ shown, sentence }, () => describe(values, host));
  }
}

/**
 * @param {EngineHost} host
 * @param {Node} node
 * @param {import('./member').Stage} stage
 * @returns {Member}
 */
function enroll(host, node, stage) {
  const member = new Member(host, node, stage);
  node.on('close', (/** @type {() => void} */ done) => void member.close().finally(done));
  return member;
}

module.exports = { join, findHost, leaveInert, NO_ENGINE };

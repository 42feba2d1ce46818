'use strict';
// Joins a data node to its engine. A node that cannot join reports the reason once, and fails each message.

const { additions } = require('./additions');
const { Member } = require('./member');
const { parseOptions } = require('../base/options');
const { Status } = require('../base/status');
const { commonSchema } = require('../settings/common');
const { readSettings } = require('../settings/migrations');

/** Status text of a node whose engine does not exist. */
const NO_ENGINE = 'no engine';

/**
 * @typedef {import('./host').EngineHost} EngineHost
 * @typedef {import('./plan-compiler').Trouble} Trouble
 * @typedef {import('node-red').Node & { inert?: Trouble }} Node inert: why the node cannot work; absent if it can
 * @typedef {Node & { host?: EngineHost | null, failure?: string, watchDevices?: string[],
 *   events?: import('./gateway-events').GatewayEvents, credentials?: any }} EngineNode watchDevices: globs of devices
 *   whose silence is an event
 */

/**
 * @param {Node} node
 * @param {string} shown for the canvas
 * @param {string} sentence with a remedy; '' if another node has already reported it
 */
function leaveInert(node, shown, sentence) {
  // The plan reads this, because records that end here must not be acknowledged to a device.
  node.inert = { shown, sentence };
  new Status(node).red(shown);
  if (sentence) node.error(sentence);
  node.on('input', (_msg, _send, done) => done(new Error(sentence || shown)));
}

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {string | undefined} engineId
 * @returns {{ host: EngineHost | null, trouble: Trouble }} trouble: why there is no host
 */
function engineOf(RED, engineId) {
  const engineNode = /** @type {EngineNode | null} */ (engineId ? RED.nodes.getNode(engineId) : null);
  if (!engineNode || engineNode.type !== 'seganet-engine') {
    const sentence = 'No engine is chosen, or it is disabled. Choose one in the node.';
    return { host: null, trouble: { shown: NO_ENGINE, sentence } };
  }
  // The engine node has already reported the reason.
  return {
    host: engineNode.host ?? null,
    trouble: { shown: engineNode.failure ?? 'engine not started', sentence: '' }
  };
}

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {Node} node
 * @param {string | undefined} engineId
 * @returns {EngineHost | null} null if there is none; the node is then inert
 */
function findHost(RED, node, engineId) {
  const { host, trouble } = engineOf(RED, engineId);
  if (!host) leaveInert(node, trouble.shown, trouble.sentence);
  return host;
}

/** Settings of addresses to listen on, each with the one without which nothing listens there. */
const LISTENERS = [
  ['host'],
  ['httpHost', 'httpPort'],
  ['pagesHost', 'pagesPort'],
  ['servicesHost', 'servicesPort'],
  ['regionHost', 'regionAddress']
];

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {Record<string, any>} values of a node
 * @returns {Trouble | null} why it must not listen, null = it may
 */
function exposureOf(RED, values) {
  const hosts = LISTENERS.filter(([, other]) => !other || Boolean(values[other])).map(
    ([name]) => values[name]
  );
  const open = hosts.filter((host) => typeof host === 'string' && host !== '');
  if (open.length === 0) return null;
  const sentence = open.map((host) => exposureProblem(host, RED)).find(Boolean);
  return sentence ? { shown: 'open to tenants', sentence } : null;
}

/**
 * @param {string} host address to listen on
 * @param {import('node-red').NodeAPI | null} RED null = before the flows are loaded
 * @returns {string} why no listener may open there, a sentence; '' = it may
 */
function exposureProblem(host, RED) {
  return (
    additions('exposure')
      .map((problem) => problem(host, RED))
      .find(Boolean) ?? ''
  );
}

/**
 * @template {Record<string, import('../base/options').Parser<any>>} S
 * @param {import('node-red').NodeAPI} RED
 * @param {Node} node after createNode()
 * @param {object} config
 * @param {S} schema of the node's own properties
 * @param {(values: { [K in keyof S]: ReturnType<S[K]> }, host: EngineHost) => import('./member').Stage} describe
 *   may throw an Error whose message is a sentence, with `shown` for the status
 * @param {(trouble: Trouble, host: EngineHost) => import('./member').Stage} [standIn] makes the node's stage while its
 *   settings are wrong; without it the node is inert
 * @returns {Member | null} null if the node cannot work; it is then inert
 */
function join(RED, node, config, schema, describe, standIn) {
  const { values, problems, shown: why } = readSettings(config, schema);
  const common = parseOptions(config, commonSchema);
  problems.push(...common.problems);
  const { engine } = /** @type {{ engine?: string }} */ (config);
  /** @param {Trouble} trouble @param {() => import('./member').Stage} [again] */
  const fail = (trouble, again) => {
    const host = standIn && engineOf(RED, engine).host;
    if (!host) {
      leaveInert(node, trouble.shown, trouble.sentence);
      return null;
    }
    node.error(trouble.sentence);
    const member = enroll(host, node, standIn(trouble, host), false);
    member.again = again ?? null;
    return member;
  };
  if (problems.length > 0) return fail({ shown: why, sentence: problems.join(' ') });
  const exposed = exposureOf(RED, values);
  if (exposed) return fail(exposed);
  const host = findHost(RED, node, engine);
  if (!host) return null;
  try {
    return enroll(host, node, describe(values, host), common.values.carryAsMessages);
  } catch (error) {
    const { shown = 'wrong setting' } = /** @type {{ shown?: string }} */ (error ?? {});
    const sentence = error instanceof Error ? error.message : String(error);
    // Node-RED does not recreate a node when its config node is added later, so the member tries again.
    return fail({ shown, sentence }, () => ({
      ...describe(values, host),
      asMessages: common.values.carryAsMessages
    }));
  }
}

/**
 * @param {EngineHost} host
 * @param {Node} node
 * @param {import('./member').Stage} stage
 * @param {boolean} asMessages
 * @returns {Member}
 */
function enroll(host, node, stage, asMessages) {
  const member = new Member(host, node, { ...stage, asMessages });
  node.on('close', (/** @type {() => void} */ done) => void member.close().finally(done));
  return member;
}

module.exports = { join, exposureProblem, findHost, leaveInert, NO_ENGINE };

'use strict';
// Admin endpoint that tries a broker or a cluster with the values that its dialog shows, deployed or not.

const os = require('node:os');
const { additions } = require('./additions');
const { needsWrite } = require('../base/permission');
const { withVariables } = require('../settings/broker-node');
const { readNotifications } = require('../settings/notifications');

/** What the editor has in place of a password that was not changed. */
const UNCHANGED = '__PWRD__';
/** Tests at a time: each holds connections for up to some ten seconds. */
const MOST_TESTS = 4;

/**
 * Tests a config node of a type.
 * @typedef {object} ConnectionTest
 * @property {string} type
 * @property {(RED: import('node-red').NodeAPI, tested: import('../settings/broker-node').Tested) =>
 *   Promise<import('../uplink/session/test-steps').Step[]>} test rejects with a sentence, for a wrong setting
 */

/** @type {ConnectionTest} */
const BROKER = {
  type: 'seganet-uplink-broker',
  // Loaded when it is needed: it brings the MQTT client.
  test: (RED, tested) => require('../uplink/session/connection-test').testBroker(RED, tested)
};

/** Of an engine: the targets of its notifications. @type {ConnectionTest} */
const NOTIFICATIONS = {
  type: 'seganet-engine',
  async test(_RED, { config, credentials }) {
    const { notifications, problem } = readNotifications(config, credentials);
    if (problem) throw new Error(problem);
    if (!notifications) throw new Error('Enter the address of a webhook, or who gets mails.');
    return require('../events/notify/check').checkTargets(notifications);
  }
};

/**
 * Adds POST /seganet/connection-test. Body: {config, credentials} of the node, as its dialog has them. Answer:
 * {ok, steps}, see test-steps.js; {ok: false, error} for a wrong setting.
 * @param {import('node-red').NodeAPI} RED
 * @param {Set<import('./join').EngineNode>} engines
 */
function addConnectionTest(RED, engines) {
  let running = 0;
  RED.httpAdmin.post('/seganet/connection-test', needsWrite(RED), async (request, response) => {
    if (running >= MOST_TESTS)
      return void response.status(503).json({ error: 'Other tests are running. Try again in some seconds.' });
    running++;
    try {
      const { config, credentials, test } = bodyOf(request.body);
      const gateway = [...engines].map(({ host }) => host?.gatewayId).find(Boolean) ?? os.hostname();
      const node = /** @type {import('node-red').Node} */ (RED.nodes.getNode(config.id) ?? {});
      const variable = (/** @type {string} */ name) => RED.util.evaluateNodeProperty(name, 'env', node, {});
      /** @type {Record<string, any>[]} */
      const nodes = [];
      RED.nodes.eachNode((each) => void nodes.push(withVariables(each, variable)));
      const steps = await test(RED, {
        node,
        config: withVariables(config, variable),
        credentials: secretsKept(RED, config.id, credentials),
        nodes,
        gateway
      });
      response.json({ ok: steps.every(({ ok, isMinor }) => ok || isMinor), steps });
    } catch (error) {
      response.json({ ok: false, error: /** @type {Error} */ (error).message });
    } finally {
      running--;
    }
  });
}

/**
 * @param {unknown} body
 * @returns {{ config: Record<string, any>, credentials: Record<string, any>, test: ConnectionTest['test'] }}
 * @throws {Error} with a sentence
 */
function bodyOf(body) {
  const { config, credentials = {} } = /** @type {any} */ (body ?? {});
  const tests = [BROKER, NOTIFICATIONS, ...additions('connectionTest')];
  const found = tests.find(({ type }) => type === config?.type);
  if (!found || typeof credentials !== 'object' || credentials === null)
    throw new Error(
      `The body must be {"config": …, "credentials": …} of a node of the type ${tests.map(({ type }) => type).join(' or ')}.`
    );
  return { config: { ...config, id: String(config.id ?? '') }, credentials, test: found.test };
}

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {string} id of the node
 * @param {Record<string, any>} credentials
 */
function secretsKept(RED, id, credentials) {
  const stored = /** @type {any} */ (RED.nodes).getCredentials(id) ?? {};
  const values = Object.entries(credentials).map(([name, value]) => [
    name,
    value === UNCHANGED ? stored[name] : value
  ]);
  return Object.fromEntries(values);
}

exports.addConnectionTest = addConnectionTest;

'use strict';
// Admin endpoint that tries an uplink broker with the values that its dialog shows, deployed or not.

const os = require('node:os');
const { needsWrite } = require('../base/permission');
const { checkOptions } = require('../settings/uplink-options');
const { readBroker, topicsAt, withVariables } = require('../settings/broker-node');

/** What the editor has in place of a password that was not changed. */
const UNCHANGED = '__PWRD__';
/** Tests at a time: each holds a connection for up to 15 s. */
const MOST_TESTS = 4;

/**
 * Adds POST /seganet/uplink-brokers/test. Body: {config, credentials} of the node, as its dialog has them. Answer:
 * {ok, steps}, see connection-test.js; {ok: false, error} for a wrong setting.
 * @param {import('node-red').NodeAPI} RED
 * @param {Set<import('./join').EngineNode>} engines
 */
function addBrokerTest(RED, engines) {
  let running = 0;
  RED.httpAdmin.post('/seganet/uplink-brokers/test', needsWrite(RED), async (request, response) => {
    if (running >= MOST_TESTS)
      return void response.status(503).json({ error: 'Other tests are running. Try again in some seconds.' });
    running++;
    try {
      const { config, credentials } = bodyOf(request.body);
      const gateway = [...engines].map(({ host }) => host?.gatewayId).find(Boolean) ?? os.hostname();
      const node = /** @type {import('node-red').Node} */ (RED.nodes.getNode(config.id) ?? {});
      const variable = (/** @type {string} */ name) => RED.util.evaluateNodeProperty(name, 'env', node, {});
      const { options } = readBroker(
        RED,
        node,
        withVariables(config, variable),
        passwordKept(RED, config.id, credentials)
      );
      const checked = checkOptions({ ...options, gateway }, '');
      // Loaded when it is needed: it brings the MQTT client.
      const { testConnection } = require('../uplink/session/connection-test');
      /** @type {Record<string, any>[]} */
      const nodes = [];
      RED.nodes.eachNode((each) => void nodes.push(withVariables(each, variable)));
      const steps = await testConnection(checked, topicsAt(nodes, config.id, gateway));
      response.json({ ok: steps.every(({ ok }) => ok), steps });
    } catch (error) {
      response.json({ ok: false, error: /** @type {Error} */ (error).message });
    } finally {
      running--;
    }
  });
}

/**
 * @param {unknown} body
 * @returns {{ config: Record<string, any>, credentials: Record<string, any> }}
 * @throws {Error} with a sentence
 */
function bodyOf(body) {
  const { config, credentials = {} } = /** @type {any} */ (body ?? {});
  if (![config, credentials].every((each) => typeof each === 'object' && each !== null))
    throw new Error('The body must be {"config": …, "credentials": …} of an uplink broker node.');
  return { config: { ...config, id: String(config.id ?? ''), type: 'seganet-uplink-broker' }, credentials };
}

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {string} id of the node
 * @param {Record<string, any>} credentials
 */
function passwordKept(RED, id, credentials) {
  if (credentials.password !== UNCHANGED) return credentials;
  const { password } = /** @type {any} */ (RED.nodes).getCredentials(id) ?? {};
  return { ...credentials, password };
}

exports.addBrokerTest = addBrokerTest;

'use strict';
// Connects to each uplink broker and Kafka cluster of the flow, and to the targets of notifications, as the buttons
// of their dialogs do.

const fs = require('node:fs');
const path = require('node:path');
const { withVariables } = require('../../nodes/lib/settings/broker-node');
const { readNotifications } = require('../../nodes/lib/settings/notifications');
const { checkTargets } = require('../../nodes/lib/events/notify/check');
const { readFlow } = require('../launcher/flow-file');
const { presetOf } = require('../launcher/presets');
const { credentialsOf } = require('./flow-credentials');

/** @typedef {import('./check').Finding} Finding */
/** @typedef {Record<string, any>} Config of a node, as the flow file has it */

/** The tests, by the type of the config node. @type {Record<string, import('../../nodes/lib/engine/connection-test-endpoint').ConnectionTest['test']>} */
const TESTS = {
  'seganet-uplink-broker': (...args) =>
    require('../../nodes/lib/uplink/session/connection-test').testBroker(...args),
  'seganet-kafka': (...args) => require('../../nodes/lib/kafka/cluster-test').testCluster(...args)
};

/**
 * @param {string} home
 * @param {NodeJS.ProcessEnv} env of the gateway
 * @returns {Promise<Finding[]>} one for each step of each broker and cluster
 */
async function checkConnections(home, env) {
  const about = 'connect';
  /** @param {string} text @returns {Finding} */
  const problem = (text) => ({ about, result: 'problem', text });
  const file = path.join(home, 'gateway.json');
  /** @type {Config[]} */
  let flow;
  /** @type {Record<string, Record<string, string>>} */
  let credentials;
  try {
    flow = readFlow(fs.existsSync(file) ? file : presetOf(env.SEGANET_PRESET).flow).map(
      (/** @type {Config} */ each) => withVariables(each, (name) => env[name])
    );
    credentials = credentialsOf(home) ?? {};
  } catch {
    return [problem('The brokers cannot be tried before the problems above are solved.')];
  }
  const brokers = flow.filter(({ type, d }) => Object.hasOwn(TESTS, type) && !d);
  /** @type {Finding[]} */
  const findings = [];
  for (const broker of brokers) {
    const name = broker.name || broker.url || broker.brokers || broker.id;
    if (broker.overlay) {
      const text = `${name} is reached by an overlay network: try it in its dialog, while the gateway runs.`;
      findings.push({ about, result: 'note', text });
      continue;
    }
    try {
      findings.push(...(await tryBroker({ broker, name, flow, credentials, env })));
    } catch (error) {
      const { message, shown = '' } = /** @type {Error & { shown?: string }} */ (error);
      // Without an address, the gateway starts its demo.
      if (shown.startsWith('not set')) findings.push({ about, result: 'note', text: message });
      else findings.push(problem(`${name}: ${message}`));
    }
  }
  if (brokers.length === 0)
    findings.push({ about, result: 'note', text: 'The flow has no uplink broker and no Kafka cluster.' });
  for (const engine of flow.filter(({ type, d }) => type === 'seganet-engine' && !d)) {
    const name = engine.name || engine.id;
    const { notifications, problem: wrong } = readNotifications(engine, credentials[engine.id], env);
    if (wrong) findings.push(problem(`${name}, notifications: ${wrong}`));
    const steps = notifications ? await checkTargets(notifications) : [];
    for (const { step, ok, text } of steps)
      findings.push({ about, result: ok ? 'ok' : 'problem', text: `${name}, ${step}: ${text}` });
  }
  return findings;
}

/**
 * @param {{ broker: Config, name: string, flow: Config[], credentials: Record<string, Record<string, string>>,
 *   env: NodeJS.ProcessEnv }} parts
 * @returns {Promise<Finding[]>}
 * @throws {Error} with a sentence, for a wrong setting
 */
async function tryBroker({ broker, name, flow, credentials, env }) {
  const gateway = gatewayOf(flow, env);
  const RED = /** @type {any} */ ({
    nodes: {
      getNode: (/** @type {string} */ id) =>
        tlsNode(
          flow.find((each) => each.id === id),
          credentials[id]
        ),
      eachNode: (/** @type {(each: Config) => void} */ visit) => flow.forEach(visit)
    },
    util: { evaluateNodeProperty: (/** @type {string} */ variable) => env[variable] }
  });
  const steps = await TESTS[broker.type](RED, {
    node: /** @type {any} */ (broker),
    config: broker,
    credentials: credentials[broker.id] ?? {},
    nodes: flow,
    gateway
  });
  return steps.map(({ step, ok, isMinor, at, text }) => ({
    about: 'connect',
    result: ok ? 'ok' : isMinor ? 'note' : 'problem',
    text: `${name}, ${at ? `${at}, ` : ''}${step}: ${text}`
  }));
}

/** @param {Config[]} flow @param {NodeJS.ProcessEnv} env */
function gatewayOf(flow, env) {
  const engine = flow.find(({ type, d }) => type === 'seganet-engine' && !d);
  return engine?.gatewayId || env.SEGANET_GATEWAY_ID || 'gateway';
}

/**
 * Returns what a broker needs of a TLS node of Node-RED, which does not run here.
 * @param {Config | undefined} config
 * @param {Record<string, string>} [secrets]
 */
function tlsNode(config, secrets = {}) {
  if (config?.type !== 'tls-config' || config.d) return null;
  const { certdata: cert, keydata: key, cadata: ca, p12data, passphrase } = secrets;
  return {
    ...config,
    valid: true,
    addTLSOptions: () => ({
      ...(cert && { cert }),
      ...(key && { key }),
      ...(ca && { ca }),
      ...(p12data && { pfx: Buffer.from(p12data, 'base64') }),
      ...(passphrase && { passphrase }),
      ...(config.servername && { servername: config.servername }),
      ...(config.alpnprotocol && { ALPNProtocols: [config.alpnprotocol] }),
      rejectUnauthorized: config.verifyservercert !== false
    })
  };
}

exports.checkConnections = checkConnections;

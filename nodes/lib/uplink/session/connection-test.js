'use strict';
// Tries a broker step by step, with the options of its node: the name, the connection, TLS, the login, and whether this
// client may publish. It stops at the first step that fails, and says which one and the remedy.

const { readBroker, topicsAt } = require('../../settings/broker-node');
const { placeName } = require('../../settings/broker-url');
const { checkOptions } = require('../../settings/uplink-options');
const { makeClient } = require('./mqtt-client');
const { NOT_ACCEPTED, explain, explainDisconnect, refusalName } = require('./reason-codes');
const { Failure, TestSteps } = require('./test-steps');

/** @typedef {import('../../settings/uplink-options').CheckedOptions} CheckedOptions */
/** @typedef {import('./test-steps').Step} Step */

const REFUSED = 0x80;
/** Behind TLS, each end knows that the other one speaks TLS: the broker refuses something else. */
const RESETS = ['ECONNRESET', 'EPIPE'];

const ALLOW = 'Allow this client to publish there, or change the topic of the uplink node.';

/**
 * Makes one connection beside those of the gateway, under a client id of its own.
 * @param {CheckedOptions} options
 * @param {string[]} topics each gets one empty message with QoS 1
 * @param {string} [suffix] of the client id
 * @returns {Promise<Step[]>} those that were tried; only the last one can have failed
 */
async function testConnection(options, topics, suffix = '-test') {
  const test = new ConnectionTest({ ...options, clientId: `${options.clientId}${suffix}` });
  try {
    await test.run(topics);
  } finally {
    test.close();
  }
  return test.tried.steps;
}

/**
 * Tries whether a broker accepts this gateway. The client id is another one: in a cluster, a second connection with the
 * same id would end the first.
 * @param {CheckedOptions} options
 * @returns {Promise<{ code: string, reason: string } | null>} why it does not, null = it does
 */
async function probeConnection(options) {
  const [last] = (await testConnection(options, [], '-probe')).slice(-1);
  return last.ok ? null : { code: last.code, reason: last.text };
}

class ConnectionTest {
  /** @param {CheckedOptions} options */
  constructor(options) {
    this.options = options;
    this.tried = new TestSteps(options, (error) => explain(error, options));
    /** @type {import('mqtt').MqttClient | null} */
    this.client = null;
  }

  /** @param {string[]} topics */
  async run(topics) {
    const { tried } = this;
    const works = (await tried.reach()) && (await tried.step('login', () => this.#login()));
    if (works && topics.length > 0) await tried.step('publish', () => this.#publish(topics));
  }

  close() {
    this.client?.end(true);
    this.client?.on('error', () => {});
    this.tried.close();
  }

  async #login() {
    const { options } = this;
    const stream = /** @type {import('node:net').Socket} */ (this.tried.socket);
    /** @type {unknown} */
    let broken;
    const onError = (/** @type {unknown} */ error) => (broken ??= error);
    stream.on('error', onError);
    const client = makeClient({ options, stream, timeoutMs: this.tried.leftMs, onError: () => {} });
    this.client = client;
    client.on('error', onError);
    client.connect();
    const { type } = await new Promise((resolve) => {
      for (const name of ['connect', 'error', 'close'])
        client.once(/** @type {'close'} */ (name), () => resolve({ type: name }));
    });
    if (type === 'connect')
      return `MQTT ${options.protocolVersion === 5 ? '5' : '3.1.1'}, client id ${options.clientId}`;
    const isReset = options.secure && RESETS.includes(/** @type {any} */ (broken)?.code);
    throw broken && !isReset ? broken : new Failure(NOT_ACCEPTED);
  }

  /** @param {string[]} topics */
  async #publish(topics) {
    const client = /** @type {import('mqtt').MqttClient} */ (this.client);
    /** @type {{ code: string, reason: string } | undefined} */
    let why;
    client.on('disconnect', ({ reasonCode }) => (why = explainDisconnect(reasonCode)));
    for (const topic of topics) {
      const end = await Promise.race([
        published(client, topic),
        new Promise((resolve) => client.once('close', () => resolve('closed'))),
        new Promise((resolve) => setTimeout(resolve, this.tried.leftMs, 'late').unref())
      ]);
      if (end === 'closed') throw new Failure(closedAt(topic, why));
      if (end === 'late')
        throw new Failure({
          code: 'NO_PUBACK',
          reason: `The broker does not acknowledge a message to ${topic}. See its log.`
        });
      if (end >= REFUSED)
        throw new Failure({
          code: `PUBACK ${end}`,
          reason: `The broker refused a message to ${topic} (${refusalName(end)}). ${ALLOW}`
        });
    }
    return topics.join(', ');
  }
}

/** @param {string} topic @param {{ code: string, reason: string } | undefined} why the broker's own reason */
function closedAt(topic, why) {
  const said = why ? ` ${why.reason}` : '';
  return {
    code: why?.code ?? 'CLOSED',
    reason: `The broker closed the connection when a message to ${topic} came.${said} ${ALLOW}`
  };
}

/**
 * @param {import('mqtt').MqttClient} client
 * @param {string} topic
 * @returns {Promise<any>} the reason code of the PUBACK
 */
function published(client, topic) {
  return new Promise((resolve) => {
    client.publish(topic, '', { qos: 1 }, (error) => {
      const { code } = /** @type {any} */ (error ?? { code: 0 });
      // The connection ended: another event says why.
      if (typeof code === 'number') resolve(code);
    });
  });
}

/**
 * Tests the broker of a node, at each of its URLs.
 * @param {import('node-red').NodeAPI} RED
 * @param {import('../../settings/broker-node').Tested} tested
 * @returns {Promise<Step[]>}
 * @throws {Error} with a sentence, for a wrong setting
 */
async function testBroker(RED, { node, config, credentials, nodes, gateway }) {
  const { options } = readBroker(RED, node, config, credentials);
  const checked = checkOptions({ ...options, gateway }, '');
  const topics = topicsAt(nodes, config.id, gateway);
  if (checked.addresses.length === 1) return testConnection(checked, topics);
  /** @type {Step[]} */
  const steps = [];
  // One after the other: two connections to a cluster with the same client id would end each other.
  for (const address of checked.addresses) {
    const own = await testConnection({ ...checked, ...address }, topics);
    steps.push(...own.map((step) => ({ ...step, at: placeName(address) })));
  }
  return steps;
}

module.exports = { probeConnection, testBroker, testConnection };

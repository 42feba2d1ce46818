'use strict';
// Entry of the thread that tests a Kafka cluster. It tries each broker of the node (name, connection, TLS, login), then
// the addresses that the cluster gives, and its topics. Out: the steps.

const { parentPort, workerData } = require('node:worker_threads');
const { explain } = require('../uplink/session/reason-codes');
const { Failure, TestSteps } = require('../uplink/session/test-steps');
const { loadClient } = require('./uplink/client');
const { ClientOptions } = require('./uplink/client-options');
const { accessSentence, meaningOf, topicSentence } = require('./uplink/errors');

/** @typedef {import('../uplink/session/test-steps').Step} Step */
/** @typedef {import('./settings/kafka-options').Broker} Broker */

/**
 * @type {{ options: import('./settings/kafka-options').CheckedOptions, topics: import('./cluster-test').Topic[],
 *   shared: string[] }}
 */
const { options, topics, shared } = workerData;
const client = loadClient();

/** Bit of the operation WRITE in the operations that the user may do with a topic. */
const WRITE = 1 << 4;
/** The cluster does not say which. */
const UNKNOWN_OPERATIONS = -2147483648;
/** Kafka's type of a resource. */
const TOPIC = 2;
const CLEANUP = 'cleanup.policy';
const IN_SYNC = 'min.insync.replicas';
const FORBIDDEN = 'TOPIC_AUTHORIZATION_FAILED';

/** @param {Broker} broker */
const shown = ({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** @param {Broker} broker @returns {ConstructorParameters<typeof TestSteps>[0]} */
const targetOf = (broker) => ({ ...options, ...broker, userTimeoutMs: 0, dialer: null });

/**
 * Explains an error of a connection. The sentences are those of an MQTT broker, except those that name its node.
 * @param {Broker} broker
 * @returns {(error: any) => { code: string, reason: string }}
 */
const explainOf = (broker) => (error) => {
  const { code, reason } = explain(error, { ...broker, minTls: options.minTls, protocolVersion: 5 });
  const at = shown(broker);
  if (/ECONNRESET|EPIPE|WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/.test(code))
    return {
      code,
      reason: `${at} does not speak TLS. Use the cluster's TLS port, or choose no TLS on a network that you trust.`
    };
  return { code, reason: reason.replace(' in the broker node', ' in the cluster node') };
};

/** @param {unknown} error of the client @param {Broker} broker @returns {InstanceType<typeof Failure>} */
function failureOf(error, broker) {
  if (error instanceof Failure) return error;
  const meaning = meaningOf(error);
  if (meaning.kind === 'access') return new Failure({ code: meaning.code, reason: accessSentence(meaning) });
  const remedy = options.sasl
    ? 'Check that the port is for Kafka clients with a login (SASL)'
    : 'Check whether the port needs a login (SASL)';
  const reason = `${shown(broker)} does not answer as a Kafka broker (${meaning.detail}). ${remedy}, and whether it needs TLS.`;
  return new Failure({ code: meaning.code, reason });
}

/** A client of one broker. */
class OneBroker {
  /** @param {Broker} broker */
  constructor(broker) {
    this.broker = broker;
    this.tried = new TestSteps(targetOf(broker), explainOf(broker));
    /** @type {any} */
    this.producer = null;
  }

  /** @returns {Promise<boolean>} true if it accepts this client */
  async run() {
    const { tried } = this;
    const isReached = await tried.reach();
    tried.close();
    return isReached && tried.step('login', () => this.#login());
  }

  async #login() {
    const { broker } = this;
    const clientOptions = new ClientOptions(options, `${options.clientId}-test`).read();
    this.producer = new client.Producer({ ...clientOptions, bootstrapBrokers: [broker] });
    // Each failure reaches a callback, too.
    this.producer.on('error', () => {});
    try {
      await this.ask([]);
    } catch (error) {
      throw failureOf(error, broker);
    }
    const { sasl } = options;
    return sasl ? `${sasl.mechanism}, user ${sasl.username}` : `client id ${options.clientId}-test`;
  }

  /**
   * Asks for the brokers of the cluster, and for topics with what this user may do with them.
   * @param {string[]} names
   * @returns {Promise<any>} the answer, also if it has errors of topics
   */
  async ask(names) {
    const connection = await this.#inTime(this.producer.connections.get(this.broker));
    try {
      return await this.#inTime(client.metadataV8.api.async(connection, names, false, true));
    } catch (error) {
      const { response } = /** @type {any} */ (error);
      if (response) return response;
      throw error;
    }
  }

  /** @template T @param {Promise<T>} call @returns {Promise<T>} */
  async #inTime(call) {
    call.catch(() => {});
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(reject, options.connectTimeoutMs, new Error('it does not answer'));
    });
    return Promise.race([call, late]).finally(() => clearTimeout(timer));
  }

  /** Connects to each broker at the address that the cluster gives. */
  async cluster() {
    const { brokers } = await this.ask([]);
    const reached = brokers.map(async (/** @type {Broker} */ broker) => {
      try {
        await this.#inTime(this.producer.connections.get(broker));
        return '';
      } catch (error) {
        const { detail } = meaningOf(error);
        return `The cluster gives the address ${shown(broker)}, which cannot be reached (${detail}). Correct advertised.listeners of that broker, or this machine's DNS and network.`;
      }
    });
    const problem = (await Promise.all(reached)).find(Boolean);
    if (problem) throw new Failure({ code: 'ADVERTISED', reason: problem });
    return brokers.map(shown).join(', ');
  }

  /** Looks whether the topics exist, and whether this user may write to them. */
  async topics() {
    const answer = await this.ask(topics.map(({ name }) => name));
    for (const { name, create } of topics) {
      const found = answer.topics.find((/** @type {any} */ each) => each.name === name) ?? { errorCode: 3 };
      const { errorCode, topicAuthorizedOperations: may = UNKNOWN_OPERATIONS } = found;
      const code = errorCode ? new client.ProtocolError(errorCode).apiId : '';
      if (code === 'UNKNOWN_TOPIC_OR_PARTITION' && create) continue;
      const isForbidden = !code && may !== UNKNOWN_OPERATIONS && (may & WRITE) === 0;
      if (code || isForbidden) throw new Failure(topicFailure(name, isForbidden ? FORBIDDEN : code));
    }
    return topics.map(({ name }) => name).join(', ');
  }

  /** Looks whether the topics that gateways share are as they must be. */
  async shared() {
    const answer = await this.ask(shared);
    for (const name of shared) {
      const { errorCode = 3, partitions = [] } =
        answer.topics.find((/** @type {any} */ each) => each.name === name) ?? {};
      const code = errorCode ? new client.ProtocolError(errorCode).apiId : '';
      const problem = code
        ? sharedFailure(name, code)
        : partitions.length > 1
          ? `The topic "${name}" has ${partitions.length} partitions. Gateways share one order: create it with one.`
          : await this.#settingsProblem(name);
      if (problem) throw new Failure({ code: code || 'TOPIC_UNFIT', reason: problem });
    }
    return shared.join(', ');
  }

  /** @param {string} name @returns {Promise<string>} what is wrong with the settings of a topic, '' = nothing */
  async #settingsProblem(name) {
    const connection = await this.#inTime(this.producer.connections.get(this.broker));
    const resources = [{ resourceType: TOPIC, resourceName: name, configurationKeys: [CLEANUP, IN_SYNC] }];
    const { results } = await this.#inTime(client.describeConfigsV1.api.async(connection, resources));
    const valueOf = (/** @type {string} */ wanted) =>
      results[0]?.configs.find((/** @type {any} */ each) => each.name === wanted)?.value;
    if (valueOf(CLEANUP) !== 'compact')
      return `The topic "${name}" is not compacted only, so Kafka forgets what gateways share. Set its ${CLEANUP} to compact.`;
    return Number(valueOf(IN_SYNC)) < 2
      ? `The topic "${name}" takes records that only one broker has. Set its ${IN_SYNC} to 2.`
      : '';
  }

  close() {
    this.producer?.close(true, () => {});
  }
}

/** @param {string} name of a topic that gateways share @param {string} code Kafka's name of the error */
function sharedFailure(name, code) {
  return code === 'UNKNOWN_TOPIC_OR_PARTITION'
    ? `The topic "${name}", which gateways share, does not exist. Create it, compacted and with one partition.`
    : `The topic "${name}" cannot be shared by gateways (${code}). Allow this user to read, write and describe it.`;
}

/** @param {string} name @param {string} code Kafka's name of the error */
function topicFailure(name, code) {
  const isKnown = ['UNKNOWN_TOPIC_OR_PARTITION', FORBIDDEN].includes(code);
  const meaning = /** @type {import('./uplink/errors').Meaning} */ ({ code });
  const reason = isKnown
    ? topicSentence(name, meaning)
    : `The topic "${name}" cannot take records (${code}).`;
  return { code, reason };
}

/** @returns {Promise<Step[]>} */
async function run() {
  const all = options.brokers.map((broker) => new OneBroker(broker));
  const works = await Promise.all(all.map((each) => each.run()));
  const first = all.find((_, index) => works[index]);
  const steps = all.flatMap(({ broker, tried }) =>
    tried.steps.map((step) => ({
      ...step,
      ...(all.length > 1 && { at: shown(broker) }),
      ...(!step.ok && first && { isMinor: true })
    }))
  );
  if (first) {
    const rest = new TestSteps(targetOf(first.broker), (error) => {
      const { code, message } = failureOf(error, first.broker);
      return { code, reason: message };
    });
    const isWhole = await rest.step('cluster', () => first.cluster());
    if (isWhole && topics.length > 0) await rest.step('topics', () => first.topics());
    if (isWhole && shared.length > 0) await rest.step('gateways', () => first.shared());
    steps.push(...rest.steps);
  }
  for (const each of all) each.close();
  return steps;
}

void run().then((steps) => parentPort?.postMessage(steps));

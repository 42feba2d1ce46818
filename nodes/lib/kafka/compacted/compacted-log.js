'use strict';

const { randomUUID } = require('node:crypto');
const { ClientLife } = require('../../kafka/uplink/client-life');
const { meaningOf } = require('../../kafka/uplink/errors');
const { partitionOf } = require('../../kafka/uplink/murmur2');
const { markerRecord } = require('./presence-record');

/** @typedef {{ key: string, value: string | null }} Published */
/**
 * @typedef {object} LogOptions
 * @property {import('../../kafka/settings/kafka-options').ClusterOptions} cluster
 * @property {string} clientId
 * @property {string} topic
 * @property {string} ci address of this region
 */
/**
 * @typedef {object} LogParts
 * @property {() => any} load the client's module
 * @property {(records: Published[], isCaughtUp: boolean) => void} records
 * @property {() => void} onState
 * @property {(sentence: string) => void} warn
 */

const ACKS_ALL = -1;
/** Kafka's type of a resource. */
const TOPIC = 2;
const CLEANUP = 'cleanup.policy';
/** Kafka chooses. */
const DEFAULT_REPLICAS = -1;
const MOST_SENT = 500;
const MOST_READ = 1000;
const JOIN_MS = 30000;
const SESSION_MS = 30000;
const HEARTBEAT_MS = 2000;
const FETCH_MS = 500;
const MOST_KEPT_BYTES = 2048;

/**
 * Reads the presence topic from its start, again after each loss of the cluster, and writes to it. What cannot be
 * written waits: the last value of each key.
 */
class PresenceLog {
  #options;
  #parts;
  /** @type {ClientLife} */
  #life;
  /** @type {any} */
  #producer = null;
  /** @type {Map<string, string | null>} */
  #waiting = new Map();
  #isSending = false;
  #partitions = 0;
  /** Partitions whose marker of this connection was read. @type {Set<number>} */
  #marked = new Set();
  /** @type {Published[]} */
  #batch = [];

  /** @param {LogOptions} options @param {LogParts} parts */
  constructor(options, parts) {
    this.#options = options;
    this.#parts = parts;
    this.#life = new ClientLife(options, {
      load: parts.load,
      open: (connection, client, base) => this.#open(connection, client, base),
      onConnected: () => void this.#send(),
      onEnd: () => this.#drop(),
      refusal: (meaning) => this.#refusal(meaning),
      trouble: (detail) =>
        `The presence of other regions cannot be read from Kafka (${detail}). Trying again.`,
      onState: parts.onState
    });
    /** True while everything that was in the topic at the start of this connection has been read. */
    this.isCaughtUp = false;
  }

  get state() {
    return this.#life.state;
  }

  get why() {
    return this.#life.why;
  }

  /** Connections that were tried. */
  get attempts() {
    return this.#life.attempts;
  }

  /** Records that are not written yet. */
  get waiting() {
    return this.#waiting.size;
  }

  start() {
    this.#life.start();
  }

  /** @param {Published[]} records */
  publish(records) {
    for (const { key, value } of records) {
      // The last value goes last.
      this.#waiting.delete(key);
      this.#waiting.set(key, value);
    }
    void this.#send();
  }

  /**
   * @param {import('../../kafka/uplink/client-life').Connection} connection
   * @param {any} client
   * @param {Record<string, any>} base options of a client
   */
  async #open(connection, { Admin, Consumer, Producer }, base) {
    const admin = connection.add(new Admin(base), []);
    const partitions = await this.#topic(admin);
    await this.#checkCompaction(admin);
    if (connection.isOver) return;
    this.#partitions = partitions;
    const consumer = connection.add(
      new Consumer({
        ...base,
        requestTimeout: 2 * JOIN_MS,
        // Each connection reads everything, so no group has more than one member, and none commits.
        groupId: `${this.#options.topic}-${randomUUID()}`,
        sessionTimeout: SESSION_MS,
        rebalanceTimeout: JOIN_MS,
        heartbeatInterval: HEARTBEAT_MS,
        autocommit: false
      })
    );
    const producer = connection.add(new Producer(base));
    const stream = await consumer.consume({
      topics: [this.#options.topic],
      mode: 'earliest',
      autocommit: false,
      maxWaitTime: FETCH_MS
    });
    const instance = randomUUID();
    connection.read(stream, (message) => this.#read(message, instance));
    if (connection.isOver) return;
    this.#producer = producer;
    await this.#mark(instance);
  }

  /** Finds the topic, or creates it. @param {any} admin @returns {Promise<number>} its partitions */
  async #topic(admin) {
    const { topic } = this.#options;
    const count = async () => {
      const found = await admin.metadata({ topics: [topic], autocreateTopics: false, forceUpdate: true });
      return found.topics.get(topic)?.partitionsCount ?? 0;
    };
    try {
      const partitions = await count();
      if (partitions > 0) return partitions;
    } catch (error) {
      if (meaningOf(error).kind !== 'topic') throw error;
    }
    try {
      await admin.createTopics({
        topics: [topic],
        partitions: 1,
        replicas: DEFAULT_REPLICAS,
        configs: [{ name: CLEANUP, value: 'compact' }]
      });
    } catch (error) {
      // Another region may have been faster.
      if (meaningOf(error).code !== 'TOPIC_ALREADY_EXISTS') throw error;
    }
    const partitions = await count();
    if (partitions > 0) return partitions;
    throw new Error(`The topic "${topic}" was created and is not there yet`);
  }

  /** Warns if the topic forgets devices. @param {any} admin */
  async #checkCompaction(admin) {
    const { topic } = this.#options;
    try {
      const resources = [{ resourceType: TOPIC, resourceName: topic, configurationKeys: [CLEANUP] }];
      const [{ configs = [] } = {}] = await admin.describeConfigs({ resources });
      const policy = configs.find((/** @type {any} */ { name }) => name === CLEANUP)?.value;
      if (policy === undefined || policy === 'compact') return;
    } catch {
      // Kafka does not allow it: the operator who set that knows the topic.
      return;
    }
    this.#parts.warn(
      `The topic "${topic}" is not compacted only, so Kafka forgets where devices are signed in. Set its ${CLEANUP} to compact.`
    );
  }

  /** @param {string} instance */
  async #mark(instance) {
    const { ci } = this.#options;
    const all = Array.from({ length: this.#partitions }, (_, i) => ({
      partition: i,
      ...markerRecord(ci, instance, i)
    }));
    await this.#produce(all);
  }

  /** @param {(Published & { partition?: number })[]} records */
  async #produce(records) {
    const { topic } = this.#options;
    await this.#producer.send({
      messages: records.map(({ key, value, partition }) => {
        const bytes = Buffer.from(key);
        return {
          topic,
          key: bytes,
          value: value === null ? undefined : Buffer.from(value),
          partition: partition ?? partitionOf(bytes, this.#partitions)
        };
      }),
      acks: ACKS_ALL,
      idempotent: false,
      autocreateTopics: false,
      repeatOnStaleMetadata: false
    });
  }

  /** Writes what waits, one request at a time, so that the records of a device stay in order. */
  async #send() {
    if (this.#isSending) return;
    this.#isSending = true;
    const { attempts } = this;
    try {
      while (this.state === 'connected' && this.#waiting.size > 0 && attempts === this.attempts) {
        const sent = [...this.#waiting].slice(0, MOST_SENT);
        await this.#produce(sent.map(([key, value]) => ({ key, value })));
        for (const [key, value] of sent) if (this.#waiting.get(key) === value) this.#waiting.delete(key);
      }
    } catch (error) {
      if (attempts === this.attempts) this.#life.fail(error);
    } finally {
      this.#isSending = false;
    }
    if (attempts !== this.attempts && this.state === 'connected') void this.#send();
  }

  /** @param {any} message of the client @param {string} instance */
  #read({ key, value, partition }, instance) {
    const isFine = key && key.length <= MOST_KEPT_BYTES && (value?.length ?? 0) <= MOST_KEPT_BYTES;
    const record = isFine
      ? { key: key.toString(), value: value ? value.toString() : null }
      : { key: '', value: null };
    this.#batch.push(record);
    const isMarker = isFine && this.#isOwnMarker(record, instance, partition);
    if (isMarker) this.#marked.add(partition);
    if (isMarker && this.#marked.size >= this.#partitions && !this.isCaughtUp) {
      this.isCaughtUp = true;
      this.#flush(true);
      this.#parts.onState();
    } else if (this.#batch.length >= MOST_READ) this.#flush(this.isCaughtUp);
    else if (this.#batch.length === 1) setImmediate(() => this.#flush(this.isCaughtUp));
  }

  /** @param {Published} record @param {string} instance @param {number} partition */
  #isOwnMarker({ key, value }, instance, partition) {
    const own = markerRecord(this.#options.ci, instance, partition);
    return key === own.key && value === own.value;
  }

  /** @param {boolean} isCaughtUp */
  #flush(isCaughtUp) {
    const records = this.#batch.splice(0);
    if (records.length > 0) this.#parts.records(records, isCaughtUp);
  }

  /** @param {import('../../kafka/uplink/errors').Meaning} meaning */
  #refusal({ code }) {
    return code.endsWith('AUTHORIZATION_FAILED')
      ? `The cluster does not allow this gateway to use the topic "${this.#options.topic}" (${code}). Allow it (ACL Create, Read, Write and Describe, and Read for groups that begin with its name).`
      : '';
  }

  /** Forgets what the connection had. */
  #drop() {
    this.#producer = null;
    this.#batch = [];
    this.#marked.clear();
    this.isCaughtUp = false;
  }

  /** Writes what waits, and ends. @param {number} timeoutMs */
  async stop(timeoutMs) {
    const until = performance.now() + timeoutMs;
    while (this.state === 'connected' && this.#waiting.size > 0 && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await this.#life.stop();
  }
}

exports.PresenceLog = PresenceLog;

'use strict';
// Entry of the thread of a KafkaClient. In: {id, call, args}. Out: {id, value} or {id, error}; {records} when read.

const { parentPort, workerData } = require('node:worker_threads');
const {
  AclOperations,
  AclPermissionTypes,
  Admin,
  Consumer,
  Producer,
  ResourcePatternTypes,
  ResourceTypes
} = require('@platformatic/kafka');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
const bootstrapBrokers = workerData.address.split(',');
const options = { clientId: 'harness', bootstrapBrokers, retries: 20, retryDelay: 250 };
const ACKS_ALL = -1;
/** A busy machine must not cost the reader its partitions. */
const SESSION_MS = 300000;
const FETCH = { maxBytes: 4 * 1024 * 1024, maxBytesPerPartition: 1024 * 1024 };
/** Most records of a message to the main thread: a fetch may have a million. */
const MOST = 1000;
/** Kafka's timestamp for the end of a partition. */
const LATEST = -1n;
/** Kafka's TOPIC_ALREADY_EXISTS. */
const EXISTS = 36;

/** @type {any} */
let consumer = null;
/** @type {any} */
let producer = null;

/** @type {Record<string, (...args: any[]) => Promise<unknown>>} */
const calls = {
  async createTopics(topics, partitions, configs, replicas) {
    const admin = new Admin(options);
    try {
      await admin.createTopics({ topics, partitions, replicas, configs });
    } catch (error) {
      if (!(/** @type {any} */ (error).findBy?.('apiCode', EXISTS))) throw error;
    } finally {
      await admin.close();
    }
  },

  async deleteTopics(topics) {
    const admin = new Admin(options);
    await admin.deleteTopics({ topics }).finally(() => admin.close());
  },

  /** One request for each partition: a part of a larger request may fail. */
  async produce(topic, partition, records) {
    producer ??= new Producer(options);
    const bytes = (/** @type {string | undefined} */ text) =>
      text === undefined ? undefined : Buffer.from(text);
    const messages = records.map((/** @type {any} */ { key, value, headers = {} }) => ({
      topic,
      partition,
      key: bytes(key),
      value: bytes(value),
      headers: new Map(Object.entries(headers).map(([name, text]) => [bytes(name), bytes(text)]))
    }));
    await producer.send({ messages, acks: ACKS_ALL });
  },

  async read(topics) {
    const groupId = `harness-${process.hrtime.bigint()}`;
    consumer = new Consumer({
      ...options,
      groupId,
      sessionTimeout: SESSION_MS,
      rebalanceTimeout: SESSION_MS
    });
    consumer.on('error', () => {});
    const stream = await consumer.consume({
      topics,
      mode: 'earliest',
      autocommit: false,
      maxWaitTime: 100,
      ...FETCH
    });
    stream.on('error', () => {});
    /** @type {object[]} */
    let waiting = [];
    const post = () => {
      if (waiting.length > 0) port.postMessage({ records: waiting });
      waiting = [];
    };
    stream.on('data', (/** @type {any} */ { topic, partition, offset, key, value, headers, timestamp }) => {
      waiting.push({
        topic,
        partition,
        offset: Number(offset),
        key: new Uint8Array(key ?? []),
        value: new Uint8Array(value ?? []),
        headers: Object.fromEntries([...headers].map(([name, text]) => [String(name), String(text)])),
        timestamp: Number(timestamp)
      });
      if (waiting.length === MOST) post();
      else if (waiting.length === 1) setImmediate(post);
    });
  },

  /** Returns the number of records in topics that never removed any. */
  async count(topics, partitions) {
    const admin = new Admin(options);
    const of = (/** @type {number} */ partitionIndex) => ({ partitionIndex, timestamp: LATEST });
    const ends = Array.from({ length: partitions }, (_, i) => of(i));
    try {
      const listed = await admin.listOffsets({
        topics: topics.map((/** @type {string} */ name) => ({ name, partitions: ends }))
      });
      return listed
        .flatMap((/** @type {any} */ each) => each.partitions)
        .reduce((/** @type {number} */ sum, /** @type {any} */ { offset }) => sum + Number(offset), 0);
    } finally {
      await admin.close();
    }
  },

  /** Returns the leaders of a topic, by partition. */
  async leaders(topic) {
    const admin = new Admin(options);
    try {
      const { topics } = await admin.metadata({ topics: [topic], forceUpdate: true });
      return topics.get(topic)?.partitions.map((/** @type {any} */ { leader }) => leader) ?? [];
    } finally {
      await admin.close();
    }
  },

  /** Returns the least number of in-sync replicas that a partition of the topics has. */
  async inSync(topics) {
    const admin = new Admin(options);
    try {
      const found = await admin.metadata({ topics, forceUpdate: true });
      const all = topics.flatMap((/** @type {string} */ topic) => found.topics.get(topic)?.partitions ?? []);
      return all.length === 0 ? 0 : Math.min(...all.map((/** @type {any} */ { isr }) => isr.length));
    } finally {
      await admin.close();
    }
  },

  /** Adds or removes the permission of a user to use a topic. */
  async allow(user, topic, operation, isAllowed) {
    const admin = new Admin(options);
    const acl = {
      resourceType: ResourceTypes.TOPIC,
      resourceName: topic,
      resourcePatternType: ResourcePatternTypes.LITERAL,
      principal: `User:${user}`,
      host: '*',
      operation: AclOperations[/** @type {keyof typeof AclOperations} */ (operation)],
      permissionType: AclPermissionTypes.ALLOW
    };
    try {
      if (isAllowed) await admin.createAcls({ creations: [acl] });
      else await admin.deleteAcls({ filters: [acl] });
    } finally {
      await admin.close();
    }
  },

  /**
   * Removes all members of a group, as if they had not answered in time, and commits an offset as another member would,
   * before they come back.
   */
  async takeOver(groupId, name, partition, offset) {
    const admin = new Admin(options);
    try {
      await admin.removeMembersFromConsumerGroup({ groupId, members: null });
      const partitionOffsets = [{ partition, offset: BigInt(offset) }];
      await admin.alterConsumerGroupOffsets({ groupId, topics: [{ name, partitionOffsets }] });
    } finally {
      await admin.close();
    }
  },

  /** Returns the committed offsets of a group, by partition. */
  async committed(groupId, topic, partitions) {
    const admin = new Admin(options);
    try {
      const topics = [{ name: topic, partitionIndexes: partitions }];
      const [group] = await admin.listConsumerGroupOffsets({ groups: [{ groupId, topics }] });
      return group.topics.flatMap((/** @type {any} */ each) =>
        each.partitions.map((/** @type {any} */ { committedOffset }) => Number(committedOffset))
      );
    } finally {
      await admin.close();
    }
  }
};

port.on('message', async ({ id, call, args }) => {
  try {
    port.postMessage({ id, value: await calls[call](...args) });
  } catch (error) {
    port.postMessage({ id, error: String(/** @type {Error} */ (error).stack) });
  }
});

'use strict';
// A client of a Kafka broker for tests and benchmarks, in a thread of its own: Jest cannot load the client's modules.

const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { eventually } = require('../net');

/**
 * A record that was read.
 * @typedef {object} Read
 * @property {string} topic
 * @property {number} partition
 * @property {number} offset
 * @property {Buffer} key
 * @property {Buffer} value
 * @property {Record<string, string>} headers
 * @property {number} timestamp
 */

class KafkaClient {
  /** @param {string} address of a broker without a login, or of several, separated by commas */
  constructor(address) {
    this.worker = new Worker(path.join(__dirname, 'client-worker.js'), { workerData: { address } });
    this.lastId = 0;
    /** @type {Map<number, { resolve: (value: any) => void, reject: (error: Error) => void }>} */
    this.calls = new Map();
    /** @type {(records: Read[]) => void} */
    this.onRecords = () => {};
    this.worker.on('message', (message) => this.#onMessage(message));
    this.worker.on('error', (error) => {
      for (const { reject } of this.calls.values()) reject(error);
    });
  }

  /** @param {any} message */
  #onMessage({ id, value, error, records }) {
    if (records) {
      for (const record of records) {
        record.key = Buffer.from(record.key);
        record.value = Buffer.from(record.value);
      }
      this.onRecords(records);
      return;
    }
    const call = this.calls.get(id);
    this.calls.delete(id);
    if (error) call?.reject(new Error(error));
    else call?.resolve(value);
  }

  /** @param {string} call @param {unknown[]} args @returns {Promise<any>} */
  #call(call, ...args) {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      this.calls.set(id, { resolve, reject });
      this.worker.postMessage({ id, call, args });
    });
  }

  /** @param {string[]} topics @param {number} partitions @param {{ name: string, value: string }[]} configs */
  createTopics(topics, partitions = 4, configs = [], replicas = 1) {
    return this.#call('createTopics', topics, partitions, configs, replicas);
  }

  /** @param {string[]} topics */
  deleteTopics(topics) {
    return this.#call('deleteTopics', topics);
  }

  /** @param {string[]} topics @param {number} partitions of each @returns {Promise<number>} of all their records */
  count(topics, partitions) {
    return this.#call('count', topics, partitions);
  }

  /** @param {string} topic @returns {Promise<number[]>} node ids, by partition; -1 = there is no leader */
  leaders(topic) {
    return this.#call('leaders', topic);
  }

  /** @param {string[]} topics @returns {Promise<number>} in-sync replicas of the partition that has the fewest */
  inSync(topics) {
    return this.#call('inSync', topics);
  }

  /**
   * Adds or removes an ACL of a topic.
   * @param {string} user
   * @param {string} topic
   * @param {'WRITE' | 'DESCRIBE' | 'CREATE'} operation
   */
  allow(user, topic, operation, isAllowed = true) {
    return this.#call('allow', user, topic, operation, isAllowed);
  }

  /**
   * @param {string} topic
   * @param {number} partition
   * @param {{ key?: string, value: string, headers?: Record<string, string> }[]} records
   */
  produce(topic, partition, records) {
    return this.#call('produce', topic, partition, records);
  }

  /** @param {string[]} topics @param {(records: Read[]) => void} onRecords gets each record from the first on */
  read(topics, onRecords) {
    this.onRecords = onRecords;
    return this.#call('read', topics);
  }

  /** @param {string} group @param {string} topic @param {number} partition @param {number} offset */
  takeOver(group, topic, partition, offset) {
    return this.#call('takeOver', group, topic, partition, offset);
  }

  /** @param {string} group @param {string} topic @param {number[]} partitions @returns {Promise<number[]>} -1 = none */
  committed(group, topic, partitions) {
    return this.#call('committed', group, topic, partitions);
  }

  async close() {
    await this.worker.terminate();
  }
}

/** @param {string} address @param {string[]} topics */
async function createTopics(address, topics, partitions = 4, configs = [], replicas = 1) {
  const client = new KafkaClient(address);
  await client.createTopics(topics, partitions, configs, replicas).finally(() => client.close());
}

/** Deletes a topic, and creates it again. @param {string} address @param {string} topic @param {number} partitions */
async function recreateTopic(address, topic, partitions) {
  const client = new KafkaClient(address);
  try {
    await client.deleteTopics([topic]);
    await client.createTopics([topic], partitions);
    // The broker answers before its metadata has the topic.
    await eventually(async () => (await client.leaders(topic).catch(() => [])).length === partitions, {
      timeoutMs: 30000,
      what: `${partitions} partitions of ${topic}`
    });
  } finally {
    await client.close();
  }
}

/**
 * Reads topics from the start until `isEnough` returns true.
 * @param {string} address
 * @param {string[]} topics
 * @param {(got: Read[]) => boolean} isEnough
 * @returns {Promise<Read[]>}
 */
async function readTopics(address, topics, isEnough, timeoutMs = 60000) {
  const client = new KafkaClient(address);
  /** @type {Read[]} */
  const got = [];
  try {
    await client.read(topics, (records) => got.push(...records));
    await eventually(() => isEnough(got), { timeoutMs, what: `the records of ${topics.join(', ')}` });
    return got;
  } finally {
    await client.close();
  }
}

module.exports = { KafkaClient, createTopics, readTopics, recreateTopic };

'use strict';

const { randomUUID } = require('node:crypto');
const { ClientLife } = require('../uplink/client-life');
const { meaningOf } = require('../uplink/errors');
const { partitionOf } = require('../uplink/murmur2');

/**
 * @typedef {object} Published
 * @property {string} [topic] one of LogOptions.topics, default the first
 * @property {string} key
 * @property {string | null} value null: the key is deleted
 * @property {Record<string, string>} [headers]
 *
 * @typedef {Published & { topic: string }} Sent
 * @typedef {Sent & { at: number }} Read at: Kafka's time of the record, ms since 1970. Value '': it is too large, or
 *   empty. Key '' and value null: the key is too large, or missing
 *
 * @typedef {object} LogOptions
 * @property {import('../settings/kafka-options').ClusterOptions} cluster
 * @property {string} clientId
 * @property {string[]} topics
 * @property {Marker} marker
 * @property {string} what the records are, for sentences
 * @property {string} forgotten what Kafka forgets if a topic is not compacted
 * @property {number} mostBytes of a key, and of a value; larger ones are not read
 * @property {{ [topic: string]: number }} [mostWaiting] records that wait while the cluster takes none; beyond it, the
 *   oldest one is forgotten. Default: no limit, because the caller has one
 * @property {boolean} [creates] true: topics that are missing are created
 * @property {number} [checkMs] between two looks at the partitions and settings of the topics, default a minute
 * @property {boolean} [strict] true: each topic must have one partition, and two replicas in sync for each write
 *
 * A record that each gateway writes to each partition: when it reads its own, it has read what was there before.
 * @typedef {{ key: string, body: Record<string, string> }} Marker
 *
 * @typedef {object} LogParts
 * @property {() => any} load the client's module
 * @property {(records: Read[], isCaughtUp: boolean) => void} records
 * @property {(records: Sent[]) => void} [written] the in-sync replicas have them
 * @property {(record: Sent) => void} [tooLarge] Kafka will never take it
 * @property {() => void} onState
 * @property {(sentence: string) => void} warn
 */

const ACKS_ALL = -1;
/** Kafka's type of a resource. */
const TOPIC = 2;
const CLEANUP = 'cleanup.policy';
const IN_SYNC = 'min.insync.replicas';
/** Kafka chooses. */
const DEFAULT_REPLICAS = -1;
const UNFIT = 'TOPIC_UNFIT';
/** Of one request. Kafka's default for the bytes is 1 MiB. */
const MOST_SENT = 500;
const MOST_SENT_BYTES = 512 * 1024;
const MOST_READ = 1000;
const JOIN_MS = 30000;
const SESSION_MS = 30000;
const HEARTBEAT_MS = 2000;
const FETCH_MS = 500;
const CHECK_MS = 60000;

/**
 * Reads compacted topics from their start, again after each loss of the cluster, and writes to them. What cannot be
 * written waits: the last value of each key.
 */
class CompactedLog {
  #options;
  #parts;
  /** @type {ClientLife} */
  #life;
  /** @type {any} */
  #producer = null;
  /** By topic, then by key. @type {Map<string, Map<string, Sent>>} */
  #waiting = new Map();
  #isSending = false;
  /** @type {NodeJS.Timeout | undefined} */
  #checks;
  #mostSent = MOST_SENT;
  /** Of each topic. @type {Map<string, number>} */
  #partitions = new Map();
  /** Partitions whose marker of this connection was read. @type {Set<string>} */
  #marked = new Set();
  /** @type {Read[]} */
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
      trouble: (detail) => `${options.what} cannot be read from Kafka (${detail}). Trying again.`,
      onState: parts.onState
    });
    /** True while everything that was in the topics at the start of this connection has been read. */
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
    return [...this.#waiting.values()].reduce((sum, { size }) => sum + size, 0);
  }

  start() {
    this.#life.start();
  }

  /** @param {readonly Published[]} records */
  publish(records) {
    const { topics, mostWaiting = {} } = this.#options;
    for (const each of records) {
      const record = { topic: topics[0], ...each };
      const { topic, key } = record;
      const waiting = this.#waiting.get(topic) ?? new Map();
      this.#waiting.set(topic, waiting);
      // The last value goes last.
      waiting.delete(key);
      waiting.set(key, record);
      const [oldest] = waiting.keys();
      if (waiting.size > (mostWaiting[topic] ?? Infinity)) waiting.delete(oldest);
    }
    void this.#send();
  }

  /**
   * @param {import('../uplink/client-life').Connection} connection
   * @param {any} client
   * @param {Record<string, any>} base options of a client
   */
  async #open(connection, { Admin, Consumer, Producer }, base) {
    const { topics } = this.#options;
    const admin = connection.add(new Admin(base), []);
    /** @type {Map<string, number>} */
    const partitions = new Map();
    for (const topic of topics) {
      partitions.set(topic, await this.#topic(admin, topic));
      await this.#checkSettings(admin, topic);
    }
    if (connection.isOver) return;
    this.#partitions = partitions;
    const consumer = connection.add(
      new Consumer({
        ...base,
        requestTimeout: 2 * JOIN_MS,
        // Each connection reads everything, so no group has more than one member, and none commits.
        groupId: `${topics[0]}-${randomUUID()}`,
        sessionTimeout: SESSION_MS,
        rebalanceTimeout: JOIN_MS,
        heartbeatInterval: HEARTBEAT_MS,
        autocommit: false
      })
    );
    const producer = connection.add(new Producer(base));
    const stream = await consumer.consume({
      topics,
      mode: 'earliest',
      autocommit: false,
      maxWaitTime: FETCH_MS
    });
    const instance = randomUUID();
    connection.read(stream, (message) => this.#read(message, instance));
    if (connection.isOver) return;
    this.#producer = producer;
    await this.#mark(instance);
    if (connection.isOver) return;
    const { checkMs = CHECK_MS } = this.#options;
    this.#checks = setInterval(() => void this.#check(connection, admin), checkMs);
  }

  /**
   * Others may change the topics at any time. Records in partitions that the gateway does not know would never be read.
   * @param {import('../uplink/client-life').Connection} connection
   * @param {any} admin
   */
  async #check(connection, admin) {
    try {
      for (const [topic, before] of this.#partitions) {
        const now = await this.#topic(admin, topic);
        if (now !== before)
          connection.fail(new Error(`the topic "${topic}" has ${now} partitions instead of ${before}`)); // prettier-ignore
        else await this.#checkSettings(admin, topic);
      }
    } catch (error) {
      // A broker that does not answer is no reason to read everything again.
      if (/** @type {NodeJS.ErrnoException} */ (error).code === UNFIT) connection.fail(error);
    }
  }

  /** Finds or creates a topic. @param {any} admin @param {string} topic @returns {Promise<number>} its partitions */
  async #topic(admin, topic) {
    const { creates = false, strict = false } = this.#options;
    const count = async () => {
      const found = await admin.metadata({ topics: [topic], autocreateTopics: false, forceUpdate: true });
      return found.topics.get(topic)?.partitionsCount ?? 0;
    };
    try {
      const partitions = await count();
      if (strict && partitions > 1) throw unfit(`The topic "${topic}" has ${partitions} partitions, and ${this.#options.what.toLowerCase()} need one order: create it with one.`); // prettier-ignore
      if (partitions > 0) return partitions;
    } catch (error) {
      if (!creates || meaningOf(error).kind !== 'topic') throw error;
    }
    if (!creates) throw missing(topic);
    try {
      await admin.createTopics({
        topics: [topic],
        partitions: 1,
        replicas: DEFAULT_REPLICAS,
        configs: [{ name: CLEANUP, value: 'compact' }]
      });
    } catch (error) {
      // Another gateway may have been faster.
      if (meaningOf(error).code !== 'TOPIC_ALREADY_EXISTS') throw error;
    }
    const partitions = await count();
    if (partitions > 0) return partitions;
    throw new Error(`The topic "${topic}" was created and is not there yet`);
  }

  /** Warns if the topic forgets records, or may lose them with a broker. @param {any} admin @param {string} topic */
  async #checkSettings(admin, topic) {
    const { forgotten, strict = false } = this.#options;
    /** @type {{ name: string, value: string }[]} */
    let configs = [];
    try {
      const resources = [{ resourceType: TOPIC, resourceName: topic, configurationKeys: [CLEANUP, IN_SYNC] }];
      const [found] = await admin.describeConfigs({ resources });
      configs = found?.configs ?? [];
    } catch {
      // Kafka does not allow it: the operator who set that knows the topic.
      return;
    }
    const valueOf = (/** @type {string} */ wanted) => configs.find(({ name }) => name === wanted)?.value;
    if ((valueOf(CLEANUP) ?? 'compact') !== 'compact') {
      this.#parts.warn(
        `The topic "${topic}" is not compacted only, so Kafka forgets ${forgotten}. Set its ${CLEANUP} to compact.`
      );
    }
    if (strict && Number(valueOf(IN_SYNC) ?? 2) < 2) {
      this.#parts.warn(
        `The topic "${topic}" takes records that only one broker has, so they are lost with it. Set its ${IN_SYNC} to 2.`
      );
    }
  }

  /** @param {string} instance */
  async #mark(instance) {
    const all = [...this.#partitions].flatMap(([topic, count]) =>
      Array.from({ length: count }, (_, partition) => ({
        topic,
        partition,
        ...this.#markerRecord(instance, partition)
      }))
    );
    await this.#produce(all);
  }

  /** @param {string} instance of this connection @param {number} partition */
  #markerRecord(instance, partition) {
    const { key, body } = this.#options.marker;
    return { key: `${key}#${partition}`, value: JSON.stringify({ ...body, instance, partition }) };
  }

  /** @param {(Sent & { partition?: number })[]} records */
  async #produce(records) {
    await this.#producer.send({
      messages: records.map(({ topic, key, value, partition, headers }) => {
        const bytes = Buffer.from(key);
        return {
          topic,
          key: bytes,
          value: value === null ? undefined : Buffer.from(value),
          ...(headers && {
            headers: new Map(
              Object.entries(headers).map(([name, text]) => [Buffer.from(name), Buffer.from(text)])
            )
          }),
          partition: partition ?? partitionOf(bytes, this.#partitions.get(topic) ?? 1)
        };
      }),
      acks: ACKS_ALL,
      idempotent: false,
      autocreateTopics: false,
      repeatOnStaleMetadata: false
    });
  }

  /** Writes what waits, one request at a time, so that the records of a key stay in order. */
  async #send() {
    if (this.#isSending) return;
    this.#isSending = true;
    const { attempts } = this;
    try {
      while (this.state === 'connected' && this.waiting > 0 && attempts === this.attempts) {
        await this.#sendSome();
      }
    } catch (error) {
      if (attempts === this.attempts) this.#life.fail(error);
    } finally {
      this.#isSending = false;
    }
    if (attempts !== this.attempts && this.state === 'connected') void this.#send();
  }

  async #sendSome() {
    /** @type {Sent[]} */
    const sent = [];
    let bytes = 0;
    for (const record of [...this.#waiting.values()].flatMap((each) => firstOf(each, this.#mostSent))) {
      bytes += record.key.length + (record.value?.length ?? 0);
      if (sent.length >= this.#mostSent || (sent.length > 0 && bytes > MOST_SENT_BYTES)) break;
      sent.push(record);
    }
    try {
      await this.#produce(sent);
    } catch (error) {
      if (meaningOf(error).kind !== 'size') throw error;
      // Alone, the others pass.
      if (sent.length > 1) this.#mostSent = 1;
      else {
        this.#end(sent);
        this.#parts.tooLarge?.(sent[0]);
      }
      return;
    }
    this.#mostSent = MOST_SENT;
    this.#end(sent);
    this.#parts.written?.(sent);
  }

  /** @param {Sent[]} records that do not wait any more, unless there are later ones */
  #end(records) {
    for (const record of records) {
      const waiting = this.#waiting.get(record.topic);
      if (waiting?.get(record.key) === record) waiting.delete(record.key);
    }
  }

  /** @param {any} message of the client @param {string} instance */
  #read({ topic, key, value, partition, headers, timestamp }, instance) {
    const { mostBytes } = this.#options;
    const isNamed = key && key.length <= mostBytes;
    const isFine = isNamed && (value?.length ?? 0) <= mostBytes;
    const record = {
      topic,
      key: isNamed ? key.toString() : '',
      value: isNamed && value ? (isFine ? value.toString() : '') : null,
      headers: isFine ? textsOf(headers) : {},
      at: Number(timestamp ?? 0)
    };
    this.#batch.push(record);
    const isMarker = isFine && this.#isOwnMarker(record, instance, partition);
    if (isMarker) this.#marked.add(`${topic} ${partition}`);
    const partitions = [...this.#partitions.values()].reduce((sum, count) => sum + count, 0);
    if (isMarker && this.#marked.size >= partitions && !this.isCaughtUp) {
      this.isCaughtUp = true;
      this.#flush(true);
      this.#parts.onState();
    } else if (this.#batch.length >= MOST_READ) this.#flush(this.isCaughtUp);
    else if (this.#batch.length === 1) setImmediate(() => this.#flush(this.isCaughtUp));
  }

  /** @param {Read} record @param {string} instance @param {number} partition */
  #isOwnMarker({ key, value }, instance, partition) {
    const own = this.#markerRecord(instance, partition);
    return key === own.key && value === own.value;
  }

  /** @param {boolean} isCaughtUp */
  #flush(isCaughtUp) {
    const records = this.#batch.splice(0);
    if (records.length > 0) this.#parts.records(records, isCaughtUp);
  }

  /** @param {import('../uplink/errors').Meaning} meaning */
  #refusal({ code }) {
    const { topics, creates = false } = this.#options;
    const names = topics.map((topic) => `"${topic}"`).join(' and ');
    if (code === 'UNKNOWN_TOPIC_OR_PARTITION' && !creates)
      return `The cluster has not all of the topics ${names}. Create them, compacted and with one partition, or choose others in the Kafka cluster node.`;
    return code.endsWith('AUTHORIZATION_FAILED')
      ? `The cluster does not allow this gateway to use the topic${topics.length > 1 ? 's' : ''} ${names} (${code}). Allow it (ACL ${creates ? 'Create, ' : ''}Read, Write and Describe, and Read for groups that begin with ${topics.length > 1 ? `"${topics[0]}"` : 'its name'}).`
      : '';
  }

  /** Forgets what the connection had. */
  #drop() {
    clearInterval(this.#checks);
    this.#producer = null;
    this.#batch = [];
    this.#marked.clear();
    this.isCaughtUp = false;
  }

  /** Writes what waits, and ends. @param {number} timeoutMs */
  async stop(timeoutMs) {
    const until = performance.now() + timeoutMs;
    while (this.state === 'connected' && this.waiting > 0 && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await this.#life.stop();
  }
}

/** @param {Map<string, Sent>} waiting @param {number} most */
function firstOf(waiting, most) {
  const first = [];
  for (const record of waiting.values()) {
    if (first.length >= most) break;
    first.push(record);
  }
  return first;
}

/** @param {Map<Buffer, Buffer> | undefined} headers of the client @returns {Record<string, string>} */
function textsOf(headers) {
  return Object.fromEntries([...(headers ?? [])].map(([name, value]) => [String(name), String(value ?? '')]));
}

/** @param {string} sentence @returns {Error} the cluster is refused with the sentence */
const unfit = (sentence) => Object.assign(new Error(sentence), { code: UNFIT });

/** @param {string} topic */
const missing = (topic) =>
  Object.assign(new Error(`Unknown topic ${topic}`), { apiId: 'UNKNOWN_TOPIC_OR_PARTITION' });

exports.CompactedLog = CompactedLog;

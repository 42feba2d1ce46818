'use strict';

const { Backoff } = require('../../base/backoff');
const { ClientOptions } = require('../../uplink/kafka/client-options');
const { accessSentence, meaningOf } = require('../../uplink/kafka/errors');
const { Lag } = require('./lag');
const { Offsets } = require('./offsets');

/** @typedef {'connecting' | 'connected' | 'disconnected' | 'refused' | 'stopped'} State */

/**
 * @typedef {object} ConsumerFigures
 * @property {number} unsafe records that were read and are not safe
 * @property {number} committed records whose offsets were committed, since the start
 * @property {number} rebalances
 * @property {number} partitions that are assigned
 * @property {Record<string, number>} lag offsets from the last commit to the end, by topic; unknown ones are missing
 */

const COMMIT_MS = 200;
const COMMIT_RETRY_MS = 500;
const HEARTBEAT_MS = 2000;
/** Longest wait of a broker for records: it delays the end of a rebalance only. */
const FETCH_MS = 500;
const MAX_BYTES = 8 * 1024 * 1024;
const JOIN_MS = 30000;
/** Longest wait for the client to close. */
const CLOSE_MS = 5000;

/**
 * @typedef {object} ConsumingParts
 * @property {() => any} load the client's module
 * @property {(records: import('./message-record').Message[]) => void} records
 * @property {() => void} onState
 */

/**
 * Reads topics as a member of a consumer group. It commits an offset when all records before it are safe, and reads
 * again from the last commit after an error.
 */
class Consuming {
  #options;
  #parts;
  #clientOptions;
  #backoff;
  /** Increases with each consumer: events of an earlier one do not count. */
  #life = 0;
  /** @type {any} */
  #consumer = null;
  /** @type {any} */
  #stream = null;
  /** @type {NodeJS.Timeout | undefined} */
  #restart;
  /** @type {NodeJS.Timeout | undefined} */
  #commitTimer;
  #isCommitting = false;
  #isHeld = false;
  /** @type {import('./message-record').Message[]} */
  #batch = [];

  /** @param {import('./kafka-source-options').SourceOptions} options @param {ConsumingParts} parts */
  constructor(options, parts) {
    const { cluster, clientId } = options;
    this.#options = options;
    this.#parts = parts;
    this.#clientOptions = new ClientOptions(cluster, clientId);
    this.#backoff = new Backoff(cluster.reconnectMinMs, cluster.reconnectMaxMs);
    this.offsets = new Offsets();
    this.rebalances = 0;
    this.lag = new Lag(this.offsets);
    /** @type {State} */
    this.state = 'stopped';
    /** @type {{ code: string, reason: string } | null} */
    this.why = null;
  }

  /** True while reading is paused because the engine has no room, or the records have no destination. */
  get waits() {
    return this.#isHeld || this.offsets.size >= this.#options.window;
  }

  /** @returns {ConsumerFigures} */
  figures() {
    const { offsets, rebalances, lag } = this;
    const partitions = this.#assigned().reduce((sum, each) => sum + each.partitions.length, 0);
    return { unsafe: offsets.size, committed: offsets.commits, rebalances, partitions, lag: lag.byTopic };
  }

  /** @returns {{ topic: string, partitions: number[] }[]} */
  #assigned() {
    return this.state === 'connected' ? (this.#consumer?.assignments ?? []) : [];
  }

  start() {
    this.#set('connecting', null);
    void this.#open(++this.#life);
  }

  /** @param {number} life */
  async #open(life) {
    const { topics, group, from, sessionTimeoutMs } = this.#options;
    try {
      const { Consumer } = this.#parts.load();
      const consumer = new Consumer({
        ...this.#clientOptions.read(),
        requestTimeout: 2 * Math.max(JOIN_MS, sessionTimeoutMs),
        retries: 3,
        retryDelay: 300,
        groupId: group,
        sessionTimeout: sessionTimeoutMs,
        rebalanceTimeout: Math.max(JOIN_MS, sessionTimeoutMs),
        heartbeatInterval: Math.min(HEARTBEAT_MS, sessionTimeoutMs / 3),
        autocommit: false
      });
      this.#consumer = consumer;
      consumer.on('error', () => {});
      for (const event of ['consumer:group:join', 'consumer:group:rebalance']) {
        consumer.on(event, () => life === this.#life && this.#rebalanced());
      }
      const stream = await consumer.consume({
        topics: [...topics],
        mode: 'committed',
        fallbackMode: from,
        autocommit: false,
        maxWaitTime: FETCH_MS,
        maxBytes: MAX_BYTES,
        highWaterMark: this.#options.window
      });
      // Ended meanwhile.
      if (life !== this.#life) return void stream.close(() => {});
      this.#stream = stream;
      stream.on('error', (/** @type {unknown} */ error) => life === this.#life && this.#failed(error));
      stream.on('close', () => life === this.#life && this.#failed(new Error('The stream ended.')));
      stream.on('data', (/** @type {any} */ message) => life === this.#life && this.#onMessage(message));
      this.#backoff.reset();
      this.#set('connected', null);
      this.lag.follow(consumer, stream);
      this.#pace();
    } catch (error) {
      if (life === this.#life) this.#failed(error);
    }
  }

  /** Another member of the group may have partitions now that were ours. */
  #rebalanced() {
    this.rebalances++;
    const assigned = new Set(
      (this.#consumer?.assignments ?? []).flatMap((/** @type {any} */ { topic, partitions }) =>
        partitions.map((/** @type {number} */ partition) => `${topic}:${partition}`)
      )
    );
    this.offsets.keep((topic, partition) => assigned.has(`${topic}:${partition}`));
    this.#pace();
  }

  /** @param {any} message of the client */
  #onMessage({ topic, partition, offset, leaderEpoch, key, value, headers, timestamp }) {
    const id = this.offsets.add(topic, partition, offset, leaderEpoch ?? -1);
    if (id === 0) return;
    // Copied, because the client's buffer holds a whole response.
    const record = {
      id,
      topic,
      key: copy(key),
      value: copy(value),
      headers: [...headers].map(
        ([name, text]) => /** @type {[string, Uint8Array | null]} */ ([String(name), copy(text)])
      ),
      ts: Number(timestamp)
    };
    this.#batch.push(record);
    if (this.#batch.length === 1) setImmediate(() => this.#parts.records(this.#batch.splice(0)));
    this.#pace();
  }

  /** Pauses and resumes reading. */
  #pace() {
    const stream = this.#stream;
    if (!stream) return;
    const { window } = this.#options;
    if (this.waits) {
      if (!stream.isPaused()) stream.pause();
    } else if (stream.isPaused() && this.offsets.size <= window / 2) stream.resume();
  }

  /** @param {number[]} ids of records that are safe, or that will never be records */
  done(ids) {
    for (const id of ids) this.offsets.done(id);
    this.#pace();
    this.#commitSoon(COMMIT_MS);
  }

  /** @param {number} ms */
  #commitSoon(ms) {
    this.#commitTimer ??= setTimeout(() => {
      this.#commitTimer = undefined;
      void this.#commit();
    }, ms);
  }

  async #commit() {
    const due = this.offsets.due();
    if (due.length === 0 || this.#isCommitting || !this.#consumer || this.state !== 'connected') return;
    this.#isCommitting = true;
    const life = this.#life;
    try {
      await this.#consumer.commit({ offsets: due });
      if (life === this.#life) this.offsets.committed(due);
    } catch {
      // A rebalance, or the coordinator is away: what is due stays due.
      if (life === this.#life) this.#commitSoon(COMMIT_RETRY_MS);
    } finally {
      this.#isCommitting = false;
    }
    if (life === this.#life && this.offsets.due().length > 0) this.#commitSoon(COMMIT_MS);
  }

  /** A record was not taken: reads again from the last commit. */
  again() {
    if (this.state === 'stopped') return;
    this.#failed(Object.assign(new Error('The engine did not accept a record.'), { code: 'NOT_TAKEN' }));
  }

  /** @param {boolean} isHeld true: reading is paused */
  hold(isHeld) {
    this.#isHeld = isHeld;
    this.#pace();
  }

  /** @param {unknown} error */
  #failed(error) {
    const code = /** @type {NodeJS.ErrnoException} */ (error)?.code ?? '';
    const meaning = meaningOf(error);
    this.#life++;
    this.#drop();
    this.offsets.clear();
    clearTimeout(this.#restart);
    const { reconnectMaxMs } = this.#options.cluster;
    if (['NO_CLIENT', 'NODE_VERSION', 'TLS_FILE'].includes(code)) {
      this.#set('refused', { code, reason: /** @type {Error} */ (error).message });
      this.#again(reconnectMaxMs);
    } else if (meaning.kind === 'access' || meaning.code === 'GROUP_AUTHORIZATION_FAILED') {
      this.#set('refused', { code: meaning.code, reason: accessSentence(meaning) });
      this.#again(reconnectMaxMs);
    } else if (meaning.kind === 'topic' || meaning.kind === 'name') {
      const { topics } = this.#options;
      const reason =
        meaning.code === 'TOPIC_AUTHORIZATION_FAILED'
          ? `The cluster does not allow this gateway to read ${topics.join(', ')}. Allow it (ACL Read and Describe).`
          : `A topic does not exist in the cluster (${meaning.detail}) Create it, or correct the topics of the node.`;
      this.#set('refused', { code: meaning.code, reason });
      this.#again(reconnectMaxMs);
    } else {
      const reason = `The Kafka cluster cannot be read (${meaning.detail}). Trying again.`;
      this.#set('disconnected', { code: meaning.code, reason });
      this.#again(this.#backoff.next());
    }
  }

  /** @param {number} ms */
  #again(ms) {
    const life = ++this.#life;
    this.#restart = setTimeout(() => void this.#open(life), ms);
  }

  /** Closes the consumer, which leaves the group. @returns {Promise<void>} */
  async #drop() {
    const consumer = this.#consumer;
    const stream = this.#stream;
    this.#consumer = this.#stream = null;
    this.#batch = [];
    this.lag.stop();
    stream?.removeAllListeners('data');
    stream?.removeAllListeners('close');
    stream?.on('error', () => {});
    if (!consumer) return;
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, CLOSE_MS);
      consumer.close(true, () => {
        clearTimeout(timer);
        resolve(undefined);
      });
    });
  }

  /** Commits what is safe, and leaves the group. @param {number} timeoutMs */
  async stop(timeoutMs) {
    clearTimeout(this.#restart);
    clearTimeout(this.#commitTimer);
    const due = this.offsets.due();
    const consumer = this.#consumer;
    if (consumer && due.length > 0 && this.state === 'connected') {
      const commit = Promise.resolve(consumer.commit({ offsets: due })).catch(() => {});
      await Promise.race([commit, new Promise((resolve) => setTimeout(resolve, timeoutMs))]);
    }
    this.#life++;
    await this.#drop();
    this.#set('stopped', null);
  }

  /** @param {State} state @param {{ code: string, reason: string } | null} why */
  #set(state, why) {
    this.state = state;
    this.why = why;
    this.#parts.onState();
  }
}

/** @param {Buffer | null | undefined} bytes @returns {Uint8Array | null} */
function copy(bytes) {
  return bytes ? new Uint8Array(bytes) : null;
}

exports.Consuming = Consuming;

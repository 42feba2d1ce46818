'use strict';

const { tracingChannel } = require('node:diagnostics_channel');
const { ClientLife } = require('../uplink/client-life');
const { accessSentence } = require('../uplink/errors');
const { makePatient, retryDelay } = require('./patient-consumer');
const { Lag } = require('./lag');
const { Offsets } = require('./offsets');

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
/** Heartbeats in a session: a member learns of a rebalance with the next one. */
const HEARTBEATS = 6;
const HEARTBEAT_MS = 2000;
/** Longest wait of a broker for records: it delays the end of a rebalance only. */
const FETCH_MS = 500;
const MAX_BYTES = 8 * 1024 * 1024;
const JOIN_MS = 30000;

/** Consumers that are joining their groups. @type {WeakSet<object>} */
const joining = new WeakSet();
tracingChannel('plt:kafka:consumer:group').subscribe(
  /** @type {any} */ ({
    start: (/** @type {any} */ { client, operation }) => operation === 'joinGroup' && joining.add(client),
    asyncStart: (/** @type {any} */ { client, operation }) =>
      operation === 'joinGroup' && joining.delete(client)
  })
);

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
  /** @type {ClientLife} */
  #life;
  /** @type {any} */
  #consumer = null;
  /** @type {any} */
  #stream = null;
  /** @type {NodeJS.Timeout | undefined} */
  #commitTimer;
  #isCommitting = false;
  /** Of the consumer in its group, '' = none. A member that did not answer in time comes back with another id. */
  #memberId = '';
  /**
   * True while this member has joined its group again, because it did not answer in time, and does not know yet what
   * others have committed meanwhile.
   */
  #isStale = false;
  #isHeld = false;
  /** Partitions of this member, as `topic:partition`. @type {Set<string>} */
  #own = new Set();
  /** @type {import('./message-record').Message[]} */
  #batch = [];

  /** @param {import('./kafka-source-options').SourceOptions} options @param {ConsumingParts} parts */
  constructor(options, parts) {
    this.#options = options;
    this.#parts = parts;
    this.#life = new ClientLife(options, {
      load: parts.load,
      open: (connection, client, base) => this.#open(connection, client, base),
      onConnected: () => {
        this.lag.follow(this.#consumer, this.#stream);
        this.#pace();
      },
      onEnd: () => this.#drop(),
      refusal: (meaning) => this.#refusal(meaning),
      trouble: (detail) => `The Kafka cluster cannot be read (${detail}). Trying again.`,
      onState: parts.onState
    });
    this.offsets = new Offsets();
    this.rebalances = 0;
    this.lag = new Lag(this.offsets);
  }

  get state() {
    return this.#life.state;
  }

  get why() {
    return this.#life.why;
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
    this.#life.start();
  }

  /**
   * @param {import('../uplink/client-life').Connection} connection
   * @param {any} client
   * @param {Record<string, any>} base options of a client
   */
  async #open(connection, { Consumer }, base) {
    const { topics, group, from, sessionTimeoutMs, window } = this.#options;
    const consumer = connection.add(
      new Consumer({
        ...base,
        requestTimeout: 2 * Math.max(JOIN_MS, sessionTimeoutMs),
        groupId: group,
        // Only the partitions of a member that comes or goes are moved; the other members go on with theirs.
        protocols: [{ name: 'cooperative-sticky', version: 1 }],
        sessionTimeout: sessionTimeoutMs,
        rebalanceTimeout: Math.max(JOIN_MS, sessionTimeoutMs),
        heartbeatInterval: Math.min(HEARTBEAT_MS, sessionTimeoutMs / HEARTBEATS),
        autocommit: false,
        retryDelay
      })
    );
    makePatient(consumer, sessionTimeoutMs);
    this.#consumer = consumer;
    for (const event of ['consumer:group:join', 'consumer:group:rebalance']) {
      consumer.on(event, () => !connection.isOver && this.#rebalanced());
    }
    consumer.on('consumer:rejoin', () => {
      // The client sends no more heartbeats then.
      if (!consumer.isActive() && !joining.has(consumer))
        connection.fail(new Error('The consumer could not join its group again.'));
    });
    const stream = await consumer.consume({
      topics: [...topics],
      mode: 'committed',
      fallbackMode: from,
      autocommit: false,
      maxWaitTime: FETCH_MS,
      maxBytes: MAX_BYTES,
      highWaterMark: window
    });
    if (!connection.isOver) this.#stream = stream;
    stream.on('offsets', () => void this.#catchUp(connection, new Map(stream.offsetsToFetch)));
    connection.read(stream, (message) => this.#onMessage(message));
  }

  /**
   * The client reads from the commits of the group again. Asks for them, because the client's positions are commits or
   * its own earlier positions.
   * @param {import('../uplink/client-life').Connection} connection
   * @param {Map<string, bigint>} positions
   */
  async #catchUp(connection, positions) {
    if (connection.isOver) return;
    const consumer = this.#consumer;
    const memberId = this.#memberId;
    try {
      /** @type {{ topic: string, partitions: number[] }[]} */
      const topics = consumer.assignments.filter(
        (/** @type {any} */ { partitions }) => partitions.length > 0
      );
      /** @type {Map<string, bigint[]>} */
      const commits = topics.length > 0 ? await consumer.listCommittedOffsets({ topics }) : new Map();
      if (connection.isOver || memberId !== this.#memberId) return;
      for (const { topic, partitions } of topics) {
        for (const partition of partitions) {
          const offset = commits.get(topic)?.[partition] ?? -1n;
          // Without a commit, the client goes on behind what it had read, and was not handed over.
          if (offset < 0n && this.#isStale) throw new Error('its group has committed nothing yet');
          const from = positions.get(`${topic}:${partition}`);
          if (from !== undefined) this.offsets.passed(topic, partition, offset, from);
        }
      }
      this.#isStale = false;
      this.#pace();
    } catch (error) {
      // Otherwise some records may be handed over again, no more.
      if (this.#isStale) connection.fail(error);
    }
  }

  /** Another member of the group may have partitions now that were ours. */
  #rebalanced() {
    this.rebalances++;
    const memberId = this.#consumer?.memberId || '';
    if (this.#memberId !== '' && memberId !== this.#memberId) this.#isStale = true;
    this.#memberId = memberId;
    this.#own = new Set(
      (this.#consumer?.assignments ?? []).flatMap((/** @type {any} */ { topic, partitions }) =>
        partitions.map((/** @type {number} */ partition) => `${topic}:${partition}`)
      )
    );
    this.offsets.keep((topic, partition) => this.#own.has(`${topic}:${partition}`));
    this.#pace();
  }

  /** @param {any} message of the client */
  #onMessage({ topic, partition, offset, leaderEpoch, key, value, headers, timestamp }) {
    // The client may still have records of a partition that another member has now, or has had meanwhile.
    if (this.#isStale || !this.#own.has(`${topic}:${partition}`)) return;
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
    if (this.#isStale) stream.resume();
    else if (this.waits) {
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
    // A commit behind a request to join has the generation of before. The group refuses it, and the client joins again.
    const isJoining = this.#consumer !== null && joining.has(this.#consumer);
    if (this.#isStale || isJoining) return this.#commitSoon(COMMIT_MS);
    if (due.length === 0 || this.#isCommitting || !this.#consumer || this.state !== 'connected') return;
    this.#isCommitting = true;
    const consumer = this.#consumer;
    const memberId = this.#memberId;
    try {
      await consumer.commit(this.#current(due));
      // A new member has committed none of them.
      if (consumer === this.#consumer && memberId === this.#memberId)
        this.offsets.committed(this.offsets.stillDue(due));
    } catch {
      // A rebalance, or the coordinator is away: what is due stays due.
      if (consumer === this.#consumer) this.#commitSoon(COMMIT_RETRY_MS);
    } finally {
      this.#isCommitting = false;
    }
    if (consumer === this.#consumer && this.offsets.due().length > 0) this.#commitSoon(COMMIT_MS);
  }

  /**
   * Returns the options of a commit. If this member has missed a rebalance, the group refuses the commit, and the
   * client repeats it as a new member. It reads `offsets` again for this. They are empty until this member knows what
   * others have committed, and then contain only its own partitions. Others would move back the commits of their new
   * owner.
   * @param {import('./offsets').Commit[]} due
   */
  #current(due) {
    const read = () => (this.#isStale ? [] : this.offsets.stillDue(due));
    return {
      get offsets() {
        return read();
      }
    };
  }

  /** A record was not taken: reads again from the last commit. */
  again() {
    this.#life.fail(Object.assign(new Error('The engine did not accept a record.'), { code: 'NOT_TAKEN' }));
  }

  /** @param {boolean} isHeld true: reading is paused */
  hold(isHeld) {
    this.#isHeld = isHeld;
    this.#pace();
  }

  /** @param {import('../uplink/errors').Meaning} meaning */
  #refusal(meaning) {
    if (meaning.code === 'GROUP_AUTHORIZATION_FAILED') return accessSentence(meaning);
    if (meaning.code === 'INVALID_SESSION_TIMEOUT')
      return `The cluster does not accept a session of ${this.#options.sessionTimeoutMs} ms. Choose one from group.min.session.timeout.ms (6000 by default) to group.max.session.timeout.ms of its brokers, or change these.`;
    if (meaning.kind !== 'topic' && meaning.kind !== 'name') return '';
    return meaning.code === 'TOPIC_AUTHORIZATION_FAILED'
      ? `The cluster does not allow this gateway to read ${this.#options.topics.join(', ')}. Allow it (ACL Read and Describe).`
      : `A topic does not exist in the cluster (${meaning.detail}) Create it, or correct the topics of the node.`;
  }

  /** Forgets what the connection had. */
  #drop() {
    this.#consumer = this.#stream = null;
    this.#memberId = '';
    this.#isStale = false;
    this.#own.clear();
    this.#batch = [];
    this.lag.stop();
    this.offsets.clear();
  }

  /** Commits what is safe, and leaves the group. @param {number} timeoutMs */
  async stop(timeoutMs) {
    clearTimeout(this.#commitTimer);
    const due = this.offsets.due();
    const consumer = this.#consumer;
    if (consumer && due.length > 0 && this.state === 'connected') {
      const commit = Promise.resolve(consumer.commit(this.#current(due))).catch(() => {});
      await Promise.race([commit, new Promise((resolve) => setTimeout(resolve, timeoutMs))]);
    }
    await this.#life.stop();
  }
}

/** @param {Buffer | null | undefined} bytes @returns {Uint8Array | null} */
function copy(bytes) {
  return bytes ? new Uint8Array(bytes) : null;
}

exports.Consuming = Consuming;

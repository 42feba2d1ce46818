'use strict';

const { Channel } = require('./channel');
const { ClientOptions } = require('./client-options');
const { ClusterSession, METADATA_MS, REQUESTS } = require('./cluster-session');
const { NoClient, loadClient } = require('./client');
const { LeaderRequests } = require('./leader-requests');
const { ProduceApi } = require('./produce-api');
const { RecordWriter } = require('./record-writer');
const { StallWatch } = require('../../uplink/sending/stall-watch');

/** @typedef {import('../settings/kafka-options').CheckedOptions} CheckedOptions */
/** @typedef {typeof import('../../../../native')} Native */

/**
 * What the groups of an uplink share, and their callbacks.
 * @typedef {object} GroupParts
 * @property {CheckedOptions} options
 * @property {Native} native
 * @property {import('../../uplink/sending/pacer').Pacer} pacer the rate of the backlog, which the whole uplink shares
 * @property {() => void} wake requests a turn() of all groups
 * @property {() => number} now ms, monotonic
 * @property {(code: string, reason: string) => void} problem
 * @property {() => void} onStatus the status of this group has changed
 * @property {() => any} [load] the client's module, for tests
 */

/**
 * What a producer did since the start of the thread, and its state now.
 * @typedef {object} GroupFigures
 * @property {number} group from 1
 * @property {string} code of the reason why records wait, '' = none
 * @property {number} requests each to one broker, with records of several partitions
 * @property {number} sent records in these requests
 * @property {number} retried of these, records that an earlier request contained
 * @property {number} refusals requests and topics that failed or were refused
 * @property {number} acknowledged
 * @property {number} bytesAcked
 * @property {number} deadLetters
 * @property {number} inflight records that were taken and are not acknowledged
 * @property {number} topics
 * @property {number} partitions
 * @property {number} partitionsInFlight of these, partitions with a request that is not answered
 * @property {number} refusedTopics topics that take no records
 */

const SUMS = /** @type {const} */ ([
  'published',
  'acknowledged',
  'redelivered',
  'failed',
  'deadLetters',
  'refusals',
  'bytesAcked'
]);

/**
 * Loads the client. The log names a package that is missing: a status shows only the beginning of the sentence.
 * @param {() => any} load
 * @param {GroupParts['problem']} problem
 */
function loadOrTell(load, problem) {
  try {
    return load();
  } catch (error) {
    if (error instanceof NoClient) problem(error.code, error.message);
    throw error;
  }
}

/** The classes of an uplink that share a producer, and so its connections: class 1, or all others. */
class KafkaGroup {
  /** @param {number} index 0 = the most urgent @param {GroupParts} parts */
  constructor(index, parts) {
    const { options, native, now } = parts;
    this.index = index;
    this.native = native;
    this.classes = options.groups[index];
    this.clientId = options.clientIds[index];
    this.onStatus = parts.onStatus;
    this.isStopping = false;
    /** The next turn pumps. */
    this.isPumpWanted = false;
    this.wake = parts.wake;
    const clientOptions = new ClientOptions(options, this.clientId);
    const load = parts.load ?? loadClient;
    this.session = new ClusterSession({
      options,
      open: () => {
        const client = loadOrTell(load, parts.problem);
        const producer = new client.Producer({
          ...clientOptions.read(),
          maxInflights: REQUESTS,
          metadataMaxAge: METADATA_MS
        });
        // Each failure reaches a callback, too.
        producer.on('error', () => {});
        clientOptions.watch(producer, client);
        const { compression, ackTimeoutMs: timeoutMs } = options;
        return { producer, api: new ProduceApi(client, { compression, timeoutMs }) };
      },
      onState: () => this.#changed(),
      onConnected: () => {
        this.requests.reset();
        for (const channel of this.channels) channel.connected();
      },
      now
    });
    this.requests = new LeaderRequests({ session: this.session, schedule: () => this.schedule() });
    const writer = new RecordWriter(options.gateway);
    this.channels = this.classes.map(
      (recordClass) =>
        new Channel({
          recordClass,
          window: options.window,
          requestBytes: options.requestBytes,
          pacer: parts.pacer,
          writer,
          session: this.session,
          requests: this.requests,
          schedule: () => this.schedule(),
          delay: (fn, ms) => setTimeout(fn, ms),
          now,
          problem: parts.problem,
          onStatus: () => this.#changed()
        })
    );
    this.stalls = this.channels.map(
      (channel) =>
        new StallWatch({
          waiting: () => channel.waiting,
          activity: () => channel.open.counters.moved,
          wake: () => channel.wakeAll(),
          now,
          problem: parts.problem
        })
    );
    this.shown = '';
  }

  schedule() {
    this.isPumpWanted = true;
    this.wake();
  }

  turn() {
    if (!this.isPumpWanted) return;
    this.isPumpWanted = false;
    for (const channel of this.channels) channel.pump();
    this.requests.turn();
  }

  /**
   * Attaches the group to an engine. Throws the engine's errors. REQUIRES: detached.
   * @param {number} token
   * @param {number} uplink
   */
  attach(token, uplink) {
    for (const channel of this.channels) {
      const doorbell = () => channel.doorbell();
      const classes = /** @type {import('../../../../native').RecordClass[]} */ ([channel.recordClass]);
      channel.attach(new this.native.UplinkSource(token, uplink, doorbell, classes));
    }
    this.#report();
  }

  detach() {
    for (const channel of this.channels) channel.detach();
  }

  #report() {
    for (const channel of this.channels) channel.report(this.isStopping);
  }

  #changed() {
    // The session reports its first state before there are channels.
    if (!this.channels) return;
    this.#report();
    this.onStatus();
  }

  /** Call it once a second. */
  everySecond() {
    this.schedule();
    for (const stalls of this.stalls) stalls.check();
  }

  /** Call it several times a second. */
  checkHealth() {
    this.session.check();
    this.#report();
    const { state, code } = this.#shownState();
    if (`${state} ${code}` === this.shown) return;
    this.shown = `${state} ${code}`;
    this.onStatus();
  }

  get isDone() {
    return this.channels.every(({ taken }) => taken.size === 0);
  }

  get isIdle() {
    return this.channels.every(({ isIdle }) => isIdle);
  }

  get isWaiting() {
    return this.channels.some(({ isFull }) => isFull);
  }

  get records() {
    return this.channels.reduce((sum, { taken }) => sum + taken.records, 0);
  }

  stopTaking() {
    for (const channel of this.channels) channel.stopTaking();
  }

  /** Returns what the group took to the engine, and closes the connections. @returns {Promise<void>} */
  async stop() {
    this.isStopping = true;
    this.#report();
    this.detach();
    await new Promise((resolve) => this.session.stop(() => resolve(undefined)));
  }

  /** Returns the reported state of this session. */
  view() {
    const { channels, session } = this;
    const sums = Object.fromEntries(
      SUMS.map((name) => [name, channels.reduce((sum, channel) => sum + channel.open.counters[name], 0)])
    );
    const busy = channels.filter(({ open }) => open.rttMs > 0);
    return {
      group: this.index + 1,
      classes: this.classes,
      clientId: this.clientId,
      everConnected: session.everConnected,
      connects: session.connects,
      batchBytes: 65536,
      ...this.#shownState(),
      isNote: false,
      rttMs: busy.length > 0 ? busy[0].open.rttMs : 0,
      oldestMs: Math.max(...channels.map(({ oldestMs }) => oldestMs)),
      inflight: channels.reduce((sum, { open }) => sum + open.records, 0),
      backlogInflight: channels.reduce((sum, { open }) => sum + open.backlog, 0),
      express: false,
      quotaWait: 0,
      unmatched: 0,
      stalls: this.stalls.reduce((sum, { count }) => sum + count, 0),
      isStallRepeating: this.stalls.some(({ isRepeating }) => isRepeating),
      .../** @type {Record<typeof SUMS[number], number>} */ (sums),
      priority: -1,
      dscp: -1,
      localAddress: session.localAddress
    };
  }

  /** Returns what the metrics have of Kafka beside view(). @returns {GroupFigures} */
  figures() {
    const { channels } = this;
    const sum = (/** @type {(open: Channel['open']) => number} */ of) =>
      channels.reduce((total, { open }) => total + of(open), 0);
    const topics = channels.flatMap(({ open }) => [...open.topics.values()]);
    return {
      group: this.index + 1,
      code: this.#shownState().code,
      requests: this.requests.requests,
      sent: sum(({ counters }) => counters.sent),
      retried: sum(({ counters }) => counters.retried),
      refusals: sum(({ counters }) => counters.refusals),
      acknowledged: sum(({ counters }) => counters.acknowledged),
      bytesAcked: sum(({ counters }) => counters.bytesAcked),
      deadLetters: sum(({ counters }) => counters.deadLetters),
      inflight: sum(({ records }) => records),
      topics: topics.length,
      partitions: topics.reduce((total, { queues }) => total + queues.length, 0),
      partitionsInFlight: topics.reduce(
        (total, { queues }) => total + queues.filter(({ sent }) => sent > 0).length,
        0
      ),
      refusedTopics: topics.filter(({ reason }) => reason !== '').length
    };
  }

  /** @returns {{ state: string, code: string, reason: string }} */
  #shownState() {
    const { session, channels } = this;
    const { state, why } = session;
    if (state !== 'connected') return { state, code: why?.code ?? '', reason: why?.reason ?? '' };
    const topic = channels.map(({ open }) => open.trouble).find((each) => each !== null);
    if (topic) return { state: 'refused', code: topic.code, reason: topic.reason };
    const stalled = channels.find(({ isStalled }) => isStalled);
    if (!stalled) return { state, code: '', reason: '' };
    const seconds = Math.round(stalled.oldestMs / 1000);
    const reason = `The connection is up, but the cluster acknowledges nothing: the oldest record has waited for ${seconds} s. Check the brokers and the network.`;
    return { state: 'stalled', code: 'STALLED', reason };
  }
}

exports.KafkaGroup = KafkaGroup;

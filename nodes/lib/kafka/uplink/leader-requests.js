'use strict';

const { meaningOf } = require('./errors');
const { nameOf } = require('./produce-api');

/** @typedef {import('./partition-queue').PartitionQueue} PartitionQueue */
/** @typedef {import('./produce-api').Part & { done: (error: unknown) => void }} OpenPart */

/** A request gets no further partition from this size on. A broker takes 100 MiB if it is not configured. */
const ENOUGH_BYTES = 1024 * 1024;
/** Kafka's LEADER_NOT_AVAILABLE. */
const NO_LEADER = 5;
const NONE = -1;
/** Errors of the records: the broker leads the partition. */
const OF_RECORDS = new Set(['size', 'record']);

/**
 * The partitions that a broker leads and that have something to send.
 * @typedef {object} Lane
 * @property {number} leader
 * @property {Set<PartitionQueue>} queues in the order in which they became ready
 * @property {boolean} isBusy a request is not answered
 */

/**
 * The requests of a producer: at most one for each leader is in flight, with the records of all of its partitions that
 * are ready. A broker works on one request of a connection at a time, and with acks=all until the replicas have it, so
 * that a request for each partition would wait for all others, and cost the broker more.
 */
class LeaderRequests {
  /**
   * @param {object} parts
   * @param {InstanceType<typeof import('./cluster-session').ClusterSession>} parts.session
   * @param {() => void} parts.schedule requests a turn() later in this turn of the loop
   */
  constructor({ session, schedule }) {
    this.session = session;
    this.schedule = schedule;
    /** @type {Map<number, Lane>} by leader */
    this.lanes = new Map();
    /** Partitions whose leader the cluster was asked for, by topic. @type {Map<string, Set<PartitionQueue>>} */
    this.looks = new Map();
    /** The request that is being made. @type {OpenPart[]} */
    this.forming = [];
    /** Number of requests so far. */
    this.requests = 0;
  }

  /** Forgets what a former connection of the session had. */
  reset() {
    this.lanes = new Map();
    this.looks = new Map();
  }

  /** A partition may send. @param {PartitionQueue} queue */
  add(queue) {
    this.#route(queue);
    this.schedule();
  }

  /** @param {PartitionQueue} queue */
  #route(queue) {
    const leader = this.session.leaders.of(queue.topic, queue.partition);
    if (leader === NONE) return this.#look(queue);
    let lane = this.lanes.get(leader);
    if (!lane) this.lanes.set(leader, (lane = { leader, queues: new Set(), isBusy: false }));
    lane.queues.add(queue);
  }

  /** Asks the cluster who leads a partition. @param {PartitionQueue} queue */
  #look(queue) {
    const { topic } = queue;
    const known = this.looks.get(topic);
    if (known) return void known.add(queue);
    const queues = new Set([queue]);
    this.looks.set(topic, queues);
    this.session.look(topic, false, (error, partitions) => {
      if (this.looks.get(topic) !== queues) return;
      this.looks.delete(topic);
      for (const each of queues) this.#found(each, error, partitions);
      this.schedule();
    });
  }

  /**
   * @param {PartitionQueue} queue
   * @param {unknown} error of the look
   * @param {number} partitions of the topic, if there is no error
   */
  #found(queue, error, partitions) {
    if (!queue.isReady) return;
    const { leaders, api } = this.session;
    const isKnown = leaders.of(queue.topic, queue.partition) !== NONE;
    // The topic was deleted and created with fewer partitions. Its records get new partitions.
    const isGone = !error && partitions > 0 && queue.partition >= partitions;
    if (isKnown) this.#route(queue);
    else if (isGone) queue.gone();
    else queue.fail(error ?? api?.errorOf({ code: NO_LEADER, detail: null }));
  }

  /** Sends a request to each leader that has none in flight. */
  turn() {
    if (!this.session.isConnected) return;
    for (const lane of this.lanes.values()) if (!lane.isBusy && lane.queues.size > 0) this.#send(lane);
  }

  /** @param {Lane} lane */
  #send(lane) {
    const { session } = this;
    const parts = (this.forming = /** @type {OpenPart[]} */ ([]));
    // Brokers read a partition that a request names twice only once. Classes may share a topic.
    const names = new Set();
    let bytes = 0;
    // The most urgent class first. Each request that has no room for a queue raises it by one class, so that none
    // waits indefinitely.
    const rank = (/** @type {PartitionQueue} */ queue) => queue.recordClass - queue.passed;
    const queues = [...lane.queues].sort((a, b) => rank(a) - rank(b));
    for (const queue of queues) queue.passed++;
    for (const queue of queues) {
      if (bytes >= ENOUGH_BYTES) break;
      const name = nameOf(queue.topic, queue.partition);
      if (names.has(name)) continue;
      lane.queues.delete(queue);
      if (!queue.isReady) continue;
      if (session.leaders.of(queue.topic, queue.partition) !== lane.leader) this.#route(queue);
      else {
        names.add(name);
        queue.passed = 0;
        queue.send();
        bytes += parts[parts.length - 1].batch.bytes.length;
      }
    }
    if (parts.length === 0) return;
    this.requests++;
    lane.isBusy = true;
    session.produce(lane.leader, parts, (error, results) => {
      lane.isBusy = false;
      for (const part of parts) part.done(error ?? this.#errorOf(part, results));
      if (this.lanes.get(lane.leader) === lane) this.schedule();
    });
  }

  /**
   * Adds records to the request that is being made: a queue's send() calls it.
   * @param {import('./record-writer').Message[]} messages
   * @param {string} topic
   * @param {number} partition
   * @param {(error: unknown) => void} done
   */
  put(messages, topic, partition, done) {
    const { api, leaders } = this.session;
    const end = (/** @type {unknown} */ error) => {
      // The next attempt asks who leads the partition.
      if (error && !OF_RECORDS.has(meaningOf(error).kind)) leaders.forget(topic, partition);
      done(error);
    };
    this.forming.push({ topic, partition, batch: api.pack(messages), done: end });
  }

  /** @param {OpenPart} part @param {Map<string, import('./produce-api').Result>} results @returns {unknown} null = none */
  #errorOf({ topic, partition }, results) {
    const result = results.get(nameOf(topic, partition));
    if (!result)
      return new Error(`The answer has no result for partition ${partition} of the topic "${topic}".`);
    return result.code === 0 ? null : this.session.api.errorOf(result);
  }
}

exports.LeaderRequests = LeaderRequests;

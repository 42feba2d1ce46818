'use strict';

const { Backoff } = require('../../base/backoff');
const { meaningOf, topicSentence } = require('./errors');
const { partitionOf } = require('./murmur2');

/** @typedef {import('./partition-queue').PartitionQueue} PartitionQueue */
/** @typedef {import('./partition-queue').Item} Item */
/** @typedef {import('./errors').Meaning} Meaning */

const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 5000;
/** A topic whose name depends on the record is given up after this time: one device must not stop the others. */
const GIVE_UP_MS = 60000;
const FORBIDDEN = 'TOPIC_AUTHORIZATION_FAILED';
const NOT_REPLICATED = 'NOT_REPLICATED';
/** Kafka's UNKNOWN_TOPIC_OR_PARTITION. */
const UNKNOWN = 3;

/**
 * @typedef {object} TopicsParts
 * @property {(topic: string, create: boolean, done: (error: unknown, partitions: number) => void) => void} look
 * @property {(topic: string, partition: number) => PartitionQueue} queueFor
 * @property {(item: Item) => Buffer} keyOf
 * @property {(queue: PartitionQueue) => void} ready
 * @property {(item: Item, meaning: Meaning, reason: string) => void} bury
 * @property {(meaning: Meaning, reason: string) => void} onTrouble
 * @property {(code: string, sentence: string) => void} notice something to tell, while the records go on
 * @property {() => number} tookAt when a topic of the class took records for the last time, as now(); -1 = never
 * @property {() => number} now ms, monotonic
 * @property {(fn: () => void, ms: number) => void} delay
 * @property {number} [giveUpMs]
 */

/** One topic of a channel: its partitions, or the records that wait until these are known. */
class Topic {
  /** @param {string} name @param {boolean} create @param {boolean} isOfRecord @param {TopicsParts} parts */
  constructor(name, create, isOfRecord, parts) {
    this.name = name;
    this.create = create;
    this.isOfRecord = isOfRecord;
    this.parts = parts;
    /** @type {PartitionQueue[]} by partition; empty = the partitions are not known */
    this.queues = [];
    /** @type {Item[]} */
    this.waiting = [];
    /** Why the topic takes no records; '' = it does. */
    this.reason = '';
    this.code = '';
    /** Since when the cluster has given the same reason; -1 = it takes records. */
    this.troubledAt = -1;
    this.troubleCode = '';
    this.isLooking = false;
    this.isForgotten = false;
    /** Number of partitions before the records were taken back; 0 = they were not. */
    this.before = 0;
    /** The topic has taken records since the last look that a refusal caused. */
    this.mayLookAtOnce = true;
    /** Number of looks so far. */
    this.looks = 0;
    this.backoff = new Backoff(RETRY_MIN_MS, RETRY_MAX_MS);
  }

  /** @param {Item} item */
  add(item) {
    if (this.queues.length === 0) {
      this.waiting.push(item);
      this.look();
    } else this.#place(item);
  }

  /** @param {Item} item */
  #place(item) {
    const queue = this.queues[partitionOf(this.parts.keyOf(item), this.queues.length)];
    queue.add(item);
    this.parts.ready(queue);
  }

  /** Asks the cluster for the partitions. */
  look() {
    if (this.isLooking) return;
    this.isLooking = true;
    const number = ++this.looks;
    this.parts.look(this.name, this.create, (error, partitions) => {
      // A later look of a new session may have replaced this one.
      if (this.isForgotten || number !== this.looks) return;
      this.isLooking = false;
      if (error || partitions < 1) this.#onError(meaningOf(error));
      else this.#onFound(partitions);
    });
  }

  /** @param {number} partitions */
  #onFound(partitions) {
    if (this.queues.length > 0) return;
    this.reason = this.code = '';
    // A cluster that shows a topic may still refuse its records.
    if (this.troubleCode !== FORBIDDEN) this.#untroubled();
    if (partitions < this.before)
      this.parts.notice(
        'FEWER_PARTITIONS',
        `The topic "${this.name}" was created again with fewer partitions (${partitions} instead of ${this.before}). Its records go to these.`
      );
    this.before = 0;
    this.queues = Array.from({ length: partitions }, (_, i) => this.parts.queueFor(this.name, i));
    for (const item of this.waiting.splice(0)) this.#place(item);
  }

  /** The cluster has acknowledged records. */
  took() {
    this.mayLookAtOnce = true;
    this.#untroubled();
  }

  #untroubled() {
    this.troubledAt = -1;
    this.troubleCode = '';
    this.backoff.reset();
  }

  /** @param {Meaning} meaning @param {string} [sentence] for the kind 'topic' */
  #onError(meaning, sentence = topicSentence(this.name, meaning)) {
    const { parts } = this;
    if (meaning.kind === 'name') return this.#giveUp(meaning);
    if (meaning.kind === 'topic') {
      this.reason = sentence;
      this.code = meaning.code;
      if (this.troubledAt < 0 || this.troubleCode !== meaning.code) {
        this.troubledAt = parts.now();
        this.troubleCode = meaning.code;
      }
      // A missing permission is the operator's error, so its records wait. If other topics take records meanwhile, only
      // names that devices chose are forbidden.
      const isHeld =
        meaning.code === NOT_REPLICATED || (meaning.code === FORBIDDEN && parts.tookAt() <= this.troubledAt);
      const mayGiveUp = this.isOfRecord && !isHeld;
      if (mayGiveUp && parts.now() - this.troubledAt >= (parts.giveUpMs ?? GIVE_UP_MS)) this.#giveUp(meaning);
    }
    parts.onTrouble(meaning, this.reason);
    if (this.waiting.length > 0) parts.delay(() => this.look(), this.backoff.next());
  }

  /** @param {Meaning} meaning */
  #giveUp(meaning) {
    const reason =
      meaning.kind === 'name'
        ? `Kafka allows no topic with the name "${this.name}".`
        : `The topic "${this.name}" took no records for a minute (${meaning.code}).`;
    for (const item of this.waiting.splice(0)) this.parts.bury(item, meaning, reason);
    // troubledAt stays: the next records are given up at the next refusal.
    this.reason = this.code = '';
  }

  /** The session is up again: what waited may go. */
  resume() {
    this.isLooking = false;
    if (this.waiting.length > 0) this.look();
    for (const queue of this.queues) queue.retry();
  }

  /** The records are no longer ours. */
  forget() {
    this.waiting = [];
    for (const queue of this.queues) queue.clear();
    this.isForgotten = true;
  }

  /** True if no record waits here or is in flight. */
  get isIdle() {
    return (
      this.waiting.length === 0 && !this.isLooking && this.queues.every(({ items }) => items.length === 0)
    );
  }

  /**
   * A partition refused its records because of the topic: all records wait until it takes some.
   * @param {Meaning} meaning
   */
  refused(meaning) {
    const isUnknown = meaning.number === UNKNOWN && this.queues.length > 0;
    this.#takeBack();
    if (!isUnknown) return this.#onError(meaning);
    // The metadata is older than the answer: the topic was deleted, or created again with fewer partitions.
    if (this.mayLookAtOnce) {
      this.mayLookAtOnce = false;
      return this.look();
    }
    this.#onError(
      meaning,
      `A broker does not know a partition of the topic "${this.name}" that the cluster lists. The gateway asks for its partitions again; the records wait.`
    );
  }

  /** The topic was created again with fewer partitions: its records get new ones. */
  partitionGone() {
    if (this.queues.length === 0) return;
    this.#takeBack();
    // Not at once: brokers may disagree for a moment about the partitions.
    this.parts.delay(() => this.look(), this.backoff.next());
  }

  #takeBack() {
    this.before = Math.max(this.before, this.queues.length);
    // A partition keeps its order, and the order between partitions does not matter.
    for (const queue of this.queues) this.waiting.push(...queue.clear());
    this.queues = [];
  }
}

exports.Topic = Topic;

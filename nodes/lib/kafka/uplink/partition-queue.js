'use strict';

const { Backoff } = require('../../base/backoff');
const { meaningOf } = require('./errors');

/** @typedef {import('../../uplink/sending/taken-batch').TakenBatch} TakenBatch */
/**
 * A packet of a batch. isUntimed: its record has no timestamp of Kafka
 * @typedef {{ batch: TakenBatch, packet: number, bytes: number, wasSent?: boolean, isUntimed?: boolean }} Item
 */

const MAX_RECORDS = 5000;
const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 5000;
const WRONG_TIME = 'INVALID_TIMESTAMP';

/**
 * What a queue needs of its channel.
 * @typedef {object} QueueParts
 * @property {string} topic
 * @property {number} partition
 * @property {number} recordClass
 * @property {number} maxBytes of one request
 * @property {() => number} now ms, monotonic
 * @property {(fn: () => void, ms: number) => void} delay
 * @property {(items: Item[], topic: string, partition: number, done: (error: unknown) => void) => void} send
 * @property {(queue: PartitionQueue) => void} ready the queue may send
 * @property {(items: Item[], rttMs: number) => void} acknowledged
 * @property {(queue: PartitionQueue, meaning: import('./errors').Meaning) => void} refused the topic takes no records
 * @property {(queue: PartitionQueue) => void} gone the topic has no such partition any more
 * @property {(item: Item, meaning: import('./errors').Meaning) => Item[]} unfit a record can never be sent as it is;
 *   returns what takes its place
 * @property {(meaning: import('./errors').Meaning) => void} untimed the records are sent again without a timestamp
 * @property {(meaning: import('./errors').Meaning) => void} failed the request is sent again after a while
 */

/**
 * The records of one class for one partition, in order. At most one request is in flight: with two, the second could
 * succeed after the first one failed, and the records would be out of order. A request that failed is sent again
 * indefinitely, with the same records first.
 */
class PartitionQueue {
  /** @param {QueueParts} parts */
  constructor(parts) {
    this.parts = parts;
    this.topic = parts.topic;
    this.partition = parts.partition;
    this.recordClass = parts.recordClass;
    /** Requests to its leader that had no room for it since it last sent. */
    this.passed = 0;
    /** @type {Item[]} */
    this.items = [];
    /** Number of items at the head that are in flight. */
    this.sent = 0;
    this.maxBytes = parts.maxBytes;
    this.maxRecords = MAX_RECORDS;
    /** Until when the queue waits after a failure, ms. */
    this.waitsUntil = 0;
    this.backoff = new Backoff(RETRY_MIN_MS, RETRY_MAX_MS);
    /** Increases when requests in flight no longer count. */
    this.life = 0;
  }

  /** @param {Item} item */
  add(item) {
    this.items.push(item);
  }

  get isReady() {
    return this.sent === 0 && this.items.length > 0 && this.parts.now() >= this.waitsUntil;
  }

  /** Sends the next request. REQUIRES: isReady. */
  send() {
    const { items, maxBytes, maxRecords } = this;
    let bytes = 0;
    let count = 0;
    while (count < items.length && count < maxRecords) {
      bytes += items[count].bytes;
      if (count > 0 && bytes > maxBytes) break;
      count++;
    }
    this.sent = count;
    const { life } = this;
    const { now, send } = this.parts;
    const from = now();
    let isDone = false;
    send(items.slice(0, count), this.topic, this.partition, (error) => {
      if (isDone || life !== this.life) return;
      isDone = true;
      if (error) this.#onError(meaningOf(error));
      else this.#onSuccess(now() - from);
    });
  }

  /** The request cannot be made. REQUIRES: isReady. @param {unknown} error */
  fail(error) {
    this.#onError(meaningOf(error));
  }

  /** The topic has no such partition any more. REQUIRES: isReady. */
  gone() {
    this.parts.gone(this);
  }

  /** @param {number} rttMs */
  #onSuccess(rttMs) {
    const done = this.items.splice(0, this.sent);
    this.sent = 0;
    this.backoff.reset();
    this.maxRecords = Math.min(MAX_RECORDS, this.maxRecords * 2);
    this.parts.acknowledged(done, rttMs);
    if (this.items.length > 0) this.parts.ready(this);
  }

  /** @param {import('./errors').Meaning} meaning */
  #onError(meaning) {
    const { sent } = this;
    this.sent = 0;
    if (meaning.kind === 'topic' || meaning.kind === 'name') return this.parts.refused(this, meaning);
    if (meaning.code === WRONG_TIME && this.#dropTimes(sent)) {
      this.parts.untimed(meaning);
      return this.parts.ready(this);
    }
    if (meaning.kind === 'size' || meaning.kind === 'record') return this.#onUnfit(sent, meaning);
    const wait = this.backoff.next();
    const until = this.parts.now() + wait;
    this.waitsUntil = until;
    this.parts.failed(meaning);
    this.parts.delay(() => {
      // A timer may be called a little early. A later failure has a timer of its own.
      if (this.waitsUntil === until) this.waitsUntil = 0;
      this.parts.ready(this);
    }, wait);
  }

  /**
   * A topic may refuse records whose time is far from the broker's, but takes those without one.
   * @param {number} sent
   * @returns {boolean} false: they had none
   */
  #dropTimes(sent) {
    const timed = this.items.slice(0, sent).filter(({ isUntimed }) => !isUntimed);
    for (const item of timed) item.isUntimed = true;
    return timed.length > 0;
  }

  /**
   * Halves the request until the record is found that does not fit.
   * @param {number} sent
   * @param {import('./errors').Meaning} meaning
   */
  #onUnfit(sent, meaning) {
    if (sent === 1) {
      const [item] = this.items;
      this.items.splice(0, 1, ...this.parts.unfit(item, meaning));
    } else if (meaning.kind === 'record') this.maxRecords = sent >> 1;
    else {
      const bytes = this.items.slice(0, sent).reduce((sum, item) => sum + item.bytes, 0);
      this.maxBytes = Math.max(1, bytes >> 1);
    }
    if (this.items.length > 0) this.parts.ready(this);
  }

  /** The session is new: what was in flight on the old one is sent again at once. */
  retry() {
    if (this.sent > 0) this.life++;
    this.sent = 0;
    this.waitsUntil = 0;
    this.backoff.reset();
    if (this.items.length > 0) this.parts.ready(this);
  }

  /** Takes all records out of the queue. Answers to what is in flight no longer count. @returns {Item[]} in order */
  clear() {
    this.life++;
    this.sent = 0;
    return this.items.splice(0);
  }
}

exports.PartitionQueue = PartitionQueue;

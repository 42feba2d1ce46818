'use strict';

const { META } = require('../../uplink/sending/batch-meta');
const { DONE, SENT } = require('../../uplink/sending/taken-batch');
const { ChannelCounters } = require('./channel-counters');
const { accessSentence } = require('./errors');
const { PartitionQueue } = require('./partition-queue');
const { Topic } = require('./topic');

/** @typedef {import('../../uplink/sending/taken-batch').TakenBatch} TakenBatch */
/** @typedef {import('./partition-queue').Item} Item */
/** @typedef {import('./errors').Meaning} Meaning */
/** @typedef {import('./stage').Stage} Stage */

const MAX_TOPICS = 1000;
/** Kafka's INVALID_TOPIC_EXCEPTION, for a name that the gateway does not send. */
const INVALID_TOPIC = 17;
/** Kafka's, of a record without a timestamp. */
const NO_TIME = -1;

/**
 * The records of one class that were taken and not acknowledged yet: puts them into the queues of their topics and
 * partitions, and closes each one when the cluster has answered.
 */
class OpenRecords {
  /**
   * @param {import('./channel').ChannelParts} parts
   * @param {Map<number, Stage>} stages
   * @param {(batch: TakenBatch) => void} release gets a batch of which no record is open
   */
  constructor(parts, stages, release) {
    this.parts = parts;
    this.now = parts.now;
    this.stages = stages;
    this.release = release;
    /** @type {Map<string, Topic>} */
    this.topics = new Map();
    this.records = 0;
    this.bytes = 0;
    this.backlog = 0;
    /** When the cluster last acknowledged a record of this class, or the session began. */
    this.movedAt = 0;
    /** When the cluster last acknowledged a record of this class; -1 = never. */
    this.tookAt = -1;
    this.rttMs = 0;
    this.counters = new ChannelCounters();
  }

  /** The topic that takes no records, null = there is none. */
  get trouble() {
    for (const topic of this.topics.values()) if (topic.reason !== '') return topic;
    return null;
  }

  /** The session is up. */
  resume() {
    this.movedAt = this.now();
    for (const topic of this.topics.values()) topic.resume();
  }

  /** The records are no longer ours. */
  forget() {
    for (const topic of this.topics.values()) topic.forget();
    this.topics.clear();
    this.records = this.bytes = this.backlog = 0;
  }

  /** @param {TakenBatch} batch @param {Stage} stage of the batch */
  add(batch, stage) {
    const { writer } = this.parts;
    const { count } = batch;
    batch.pending = 0;
    this.counters.take(count, Boolean(batch.meta[META.wasSent]));
    for (let packet = 0; packet < count; packet++) {
      batch.states[packet] = SENT;
      const item = { batch, packet, bytes: writer.bytesOf(batch, packet), wasSent: false };
      this.#opened(item);
      const name = writer.topicOf(batch, packet, stage);
      if (name === '')
        this.#bury(
          item,
          INVALID_TOPIC,
          'NO_TOPIC_NAME',
          'A record was refused: its topic has more than 249 characters in Kafka.'
        );
      else this.#topicOf(name, stage).add(item);
    }
    if (batch.open === 0) this.release(batch);
  }

  /** @param {string} name @param {Stage} stage */
  #topicOf(name, stage) {
    const known = this.topics.get(name);
    if (known) return known;
    if (this.topics.size >= MAX_TOPICS) {
      for (const [each, { isIdle }] of this.topics) if (isIdle) this.topics.delete(each);
    }
    const topic = new Topic(name, stage.create, stage.isOfRecord, {
      look: (each, create, done) => this.parts.session.look(each, create, done),
      queueFor: (each, partition) => this.#queueFor(each, partition),
      keyOf: ({ batch, packet }) => this.parts.writer.keyOf(batch, packet),
      ready: (queue) => this.parts.requests.add(queue),
      bury: (item, { number, code }, reason) => {
        this.#bury(item, number, code, reason);
        if (item.batch.open === 0) this.release(item.batch);
      },
      onTrouble: (meaning, reason) => this.#onTrouble(meaning, reason),
      notice: this.parts.problem,
      tookAt: () => this.tookAt,
      now: this.now,
      delay: this.parts.delay
    });
    this.topics.set(name, topic);
    return topic;
  }

  /** @param {string} topic @param {number} partition */
  #queueFor(topic, partition) {
    return new PartitionQueue({
      topic,
      partition,
      recordClass: this.parts.recordClass,
      maxBytes: this.parts.requestBytes,
      now: this.now,
      delay: this.parts.delay,
      send: (items, name, number, done) => this.#send(items, name, number, done),
      ready: (queue) => this.parts.requests.add(queue),
      acknowledged: (items, rttMs) => {
        this.topics.get(topic)?.took();
        this.#acknowledged(items, rttMs);
      },
      refused: (queue, meaning) => this.topics.get(queue.topic)?.refused(meaning),
      gone: (queue) => this.topics.get(queue.topic)?.partitionGone(),
      unfit: (item, meaning) => this.#unfit(item, meaning),
      untimed: (meaning) => this.#untimed(meaning),
      failed: (meaning) => this.#failed(meaning)
    });
  }

  /**
   * @param {Item[]} items
   * @param {string} topic
   * @param {number} partition
   * @param {(error: unknown) => void} done
   */
  #send(items, topic, partition, done) {
    const { writer, requests } = this.parts;
    this.counters.send(items);
    const messages = items.map(({ batch, packet, isUntimed }) => {
      const message = writer.write(batch, packet, /** @type {Stage} */ (this.stages.get(batch.stage)));
      if (isUntimed) message.timestamp = NO_TIME;
      return message;
    });
    requests.put(messages, topic, partition, done);
  }

  /** @param {Item[]} items @param {number} rttMs */
  #acknowledged(items, rttMs) {
    this.movedAt = this.tookAt = this.now();
    this.rttMs = this.rttMs === 0 ? rttMs : this.rttMs + (rttMs - this.rttMs) / 8;
    for (const item of items) {
      const { batch, packet } = item;
      batch.states[packet] = DONE;
      batch.open--;
      this.counters.acknowledge(item);
      this.#closed(item);
      if (batch.open === 0) this.release(batch);
    }
    this.parts.schedule();
  }

  /** @param {Meaning} meaning */
  #untimed({ code, detail }) {
    this.counters.refusals++;
    this.parts.problem(
      code,
      `The Kafka cluster refuses the time of records (${detail}). They are written without a timestamp; their header "ts" has the time. Check the clocks of the gateway and its devices.`
    );
  }

  /** @param {Meaning} meaning */
  #failed(meaning) {
    this.counters.refusals++;
    if (meaning.kind === 'access') this.parts.problem(meaning.code, accessSentence(meaning));
    if (meaning.kind === 'connection' || meaning.kind === 'access') this.parts.session.suspect(meaning);
    else
      this.parts.problem(
        meaning.code,
        `The Kafka cluster refuses records for now (${meaning.code}: ${meaning.detail}). They are kept and sent again.`
      );
  }

  /** @param {Meaning} meaning @param {string} reason */
  #onTrouble(meaning, reason) {
    this.counters.refusals++;
    if (reason !== '') this.parts.problem(meaning.code, reason);
    else if (meaning.kind === 'connection' || meaning.kind === 'access') this.parts.session.suspect(meaning);
    this.parts.onStatus();
  }

  /**
   * Cuts an envelope that is too large; gives up any other record that is invalid or too large.
   * @param {Item} item
   * @param {Meaning} meaning
   * @returns {Item[]} in place of the record
   */
  #unfit(item, meaning) {
    const { batch, packet, bytes } = item;
    const { writer } = this.parts;
    this.counters.refusals++;
    if (meaning.kind === 'size' && batch.split(packet)) {
      batch.pending = 0;
      this.#closed(item);
      const halves = [packet, packet + 1].map((each) => ({
        batch,
        packet: each,
        bytes: writer.bytesOf(batch, each),
        wasSent: false
      }));
      for (const half of halves) {
        batch.states[half.packet] = SENT;
        this.#opened(half);
      }
      // The pieces behind it are in the same queue.
      this.#renumber(batch, packet);
      return halves;
    }
    const sentence =
      meaning.kind === 'size'
        ? `A record of ${bytes} bytes was refused: Kafka accepts no records of this size (${meaning.code}). Raise max.message.bytes of the topic.`
        : `A record was refused: Kafka cannot accept it (${meaning.code}: ${meaning.detail}).`;
    this.#bury(item, meaning.number, meaning.code, sentence);
    if (batch.open === 0) this.release(batch);
    return [];
  }

  /**
   * A piece of an envelope was cut: the later ones have moved by one.
   * @param {TakenBatch} batch
   * @param {number} packet
   */
  #renumber(batch, packet) {
    for (const topic of this.topics.values()) {
      for (const { items } of topic.queues) {
        for (const item of items) if (item.batch === batch && item.packet > packet) item.packet++;
      }
    }
  }

  /** @param {Item} item */
  #opened({ batch, bytes }) {
    this.records++;
    this.bytes += bytes;
    if (batch.isBacklog) this.backlog++;
  }

  /** @param {Item} item */
  #closed({ batch, bytes }) {
    this.records--;
    this.bytes -= bytes;
    if (batch.isBacklog) this.backlog--;
  }

  /**
   * Gives up a record. The caller releases the batch when none of its records is open.
   * @param {Item} item
   * @param {number} number Kafka's, of the error
   * @param {string} code
   * @param {string} reason
   */
  #bury(item, number, code, reason) {
    this.parts.problem(code, reason);
    this.#closed(item);
    this.counters.failed++;
    this.counters.deadLetters += item.batch.bury(item.packet, number, reason);
  }
}

exports.OpenRecords = OpenRecords;

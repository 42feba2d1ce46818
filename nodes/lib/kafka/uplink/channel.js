'use strict';

const { META } = require('../../uplink/sending/batch-meta');
const { ChannelCounters } = require('./channel-counters');
const { Demand } = require('../../uplink/sending/demand');
const { TakenBatches, TRY_AGAIN } = require('../../uplink/sending/taken-batches');
const { DONE, SENT } = require('../../uplink/sending/taken-batch');
const { accessSentence } = require('./errors');
const { PartitionQueue } = require('./partition-queue');
const { Topic } = require('./topic');

/** @typedef {import('../../uplink/sending/taken-batch').TakenBatch} TakenBatch */
/** @typedef {import('../../../../native').UplinkSource} UplinkSource */
/** @typedef {import('./partition-queue').Item} Item */
/** @typedef {import('./errors').Meaning} Meaning */
/** @typedef {import('./stage').Stage} Stage */

const TURN_MS = 4;
/** A class whose records are not acknowledged for this time is stalled. */
const STALLED_MS = 5000;
/** Most bytes of a class that are taken and not acknowledged; a batch may exceed it. */
const WINDOW_BYTES = 4 * 1024 * 1024;
/** Adaptive batches may become this large: a request holds several. */
const BATCH_BYTES = 65536;
const MAX_TOPICS = 1000;
/** Kafka's INVALID_TOPIC_EXCEPTION, for a name that the gateway does not send. */
const INVALID_TOPIC = 17;

/**
 * @typedef {object} ChannelParts
 * @property {number} recordClass
 * @property {number} window records that may be taken and not acknowledged
 * @property {number} requestBytes most bytes of one request
 * @property {import('../../uplink/sending/pacer').Pacer} pacer
 * @property {import('./record-writer').RecordWriter} writer
 * @property {InstanceType<typeof import('./cluster-session').ClusterSession>} session
 * @property {import('./leader-requests').LeaderRequests} requests
 * @property {() => void} schedule requests a pump() later in this turn of the loop
 * @property {(fn: () => void, ms: number) => void} delay
 * @property {() => number} now ms, monotonic
 * @property {(code: string, reason: string) => void} problem
 * @property {() => void} onStatus
 */

/**
 * The records of one class on their way to Kafka. A class has its own source, so that a class whose topic is missing
 * does not stop the others of the same connection.
 */
class Channel {
  /** @param {ChannelParts} parts */
  constructor(parts) {
    this.parts = parts;
    this.recordClass = parts.recordClass;
    this.now = parts.now;
    this.taken = new TakenBatches(parts.now);
    this.demand = new Demand(parts);
    /** @type {UplinkSource | null} */
    this.source = null;
    /** @type {Map<number, Stage>} */
    this.stages = new Map();
    /** @type {Map<string, Topic>} */
    this.topics = new Map();
    this.taking = true;
    /** A batch that waits for its stage. @type {TakenBatch | null} */
    this.unplaced = null;
    this.isUp = false;
    this.isPacing = false;
    this.openRecords = 0;
    this.openBytes = 0;
    this.openBacklog = 0;
    /** When the cluster last acknowledged a record of this class, or the session began. */
    this.movedAt = 0;
    /** When the cluster last acknowledged a record of this class; -1 = never. */
    this.tookAt = -1;
    this.wasStalled = false;
    this.rttMs = 0;
    this.counters = new ChannelCounters();
  }

  /** @param {UplinkSource} source */
  attach(source) {
    this.source = source;
    source.setBatchBytes(BATCH_BYTES);
    source.connected(this.isUp);
    this.doorbell();
  }

  doorbell() {
    this.demand.fed();
    this.parts.schedule();
  }

  /** Forgets the engine, which gives out un-released batches again. */
  detach() {
    for (const topic of this.topics.values()) topic.forget();
    this.topics.clear();
    this.taken.forget();
    this.unplaced = null;
    this.openRecords = this.openBytes = this.openBacklog = 0;
    this.source?.close();
    this.source = null;
  }

  /** @param {Map<number, Stage>} stages earlier ones are kept: their batches may still wait */
  setStages(stages) {
    for (const [id, stage] of stages) this.stages.set(id, stage);
    const batch = this.unplaced;
    this.unplaced = null;
    if (batch) this.#place(batch);
    this.parts.schedule();
  }

  stopTaking() {
    this.taking = false;
  }

  /** The session is up. */
  connected() {
    this.movedAt = this.now();
    for (const topic of this.topics.values()) topic.resume();
    this.parts.schedule();
  }

  /** Reports to the engine whether this class gets through. @param {boolean} isStopping */
  report(isStopping) {
    const isUp = this.parts.session.isConnected && !this.isStalled && this.trouble === null && !isStopping;
    this.source?.connected(isUp);
    if (isUp === this.isUp) return;
    this.isUp = isUp;
    this.doorbell();
  }

  /** The topic that takes no records, null = there is none. */
  get trouble() {
    for (const topic of this.topics.values()) if (topic.reason !== '') return topic;
    return null;
  }

  get isStalled() {
    return (
      this.parts.session.isConnected && this.dueMs > STALLED_MS && this.now() - this.movedAt > STALLED_MS
    );
  }

  /** Age of the oldest record without an acknowledgement, ms; -1 = none. */
  get oldestMs() {
    return Math.max(this.source ? this.source.oldestMs() : -1, this.taken.oldestMs());
  }

  /** The same without batches that the engine does not give out yet. */
  get dueMs() {
    const { oldestMs } = this;
    return oldestMs < 0 || this.taken.oldestMs() >= 0 || this.source?.best() !== 0 ? oldestMs : -1;
  }

  /** True if nothing live is taken or waits. */
  get isIdle() {
    const { source, taken } = this;
    if (taken.live > 0) return false;
    return !source || (source.best() === 0 && (source.retryMs() < 0 || source.oldestMs() < 0));
  }

  get isFull() {
    return this.openRecords >= this.parts.window || this.openBytes >= WINDOW_BYTES;
  }

  /**
   * Returns what waits although the session is up and nothing is taken; null = nothing.
   * @returns {import('../../uplink/sending/stall-watch').Waiting | null}
   */
  get waiting() {
    const { isUp, openRecords, parts, source, taken, taking } = this;
    if (!source || !isUp || !taking || openRecords > 0) return null;
    if (taken.size > 0) return 'taken';
    const places = source.waitingAt?.() ?? 0;
    if (places & 1) return 'live';
    if (places & 2) return parts.pacer.waitMs() > 0 ? null : 'backlog';
    return places & 4 ? 'log' : null;
  }

  /** Wakes everything that could move a record. */
  wakeAll() {
    this.source?.wakeAll?.();
    this.doorbell();
  }

  /** Takes what there is room for, for a few ms at most. */
  pump() {
    if (!this.parts.session.isConnected) return;
    const until = this.now() + TURN_MS;
    while (this.#takeNext()) {
      if (this.now() <= until) continue;
      this.parts.schedule();
      break;
    }
  }

  /** @returns {boolean} false when nothing may be taken now */
  #takeNext() {
    const { source } = this;
    if (!source || !this.taking || this.unplaced || this.isFull) return false;
    if (source.best() !== 0) return this.#take(source, false);
    this.demand.empty(source, this.isUp);
    if (source.bestBacklog() === 0) return false;
    if (this.openBacklog >= this.parts.pacer.places(this.parts.window)) return false;
    const wait = this.parts.pacer.waitMs();
    if (wait === 0) return this.#take(source, true);
    if (!this.isPacing) {
      this.isPacing = true;
      this.parts.delay(() => {
        this.isPacing = false;
        this.parts.schedule();
      }, wait);
    }
    return false;
  }

  /** @param {UplinkSource} source @param {boolean} backlog @returns {boolean} false when nothing was taken */
  #take(source, backlog) {
    const batch = this.taken.take(source, backlog, false);
    if (typeof batch === 'string') {
      if (batch === TRY_AGAIN) this.parts.schedule();
      return false;
    }
    this.parts.pacer.took(batch);
    if (!batch.isBacklog) this.demand.fed();
    this.#place(batch);
    return true;
  }

  /** @param {TakenBatch} batch */
  #place(batch) {
    const stage = this.stages.get(batch.stage);
    if (!stage) {
      this.unplaced = batch;
      this.parts.problem(
        'NO_STAGE',
        `A batch waits: the topic of its uplink node (stage ${batch.stage}) is not known yet.`
      );
      return;
    }
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
    if (batch.open === 0) this.#release(batch);
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
        if (item.batch.open === 0) this.#release(item.batch);
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
      recordClass: this.recordClass,
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
    const messages = items.map(({ batch, packet }) =>
      writer.write(batch, packet, /** @type {Stage} */ (this.stages.get(batch.stage)))
    );
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
      if (batch.open === 0) this.#release(batch);
    }
    this.parts.schedule();
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
    if (batch.open === 0) this.#release(batch);
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
    this.openRecords++;
    this.openBytes += bytes;
    if (batch.isBacklog) this.openBacklog++;
  }

  /** @param {Item} item */
  #closed({ batch, bytes }) {
    this.openRecords--;
    this.openBytes -= bytes;
    if (batch.isBacklog) this.openBacklog--;
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

  /** @param {TakenBatch} batch */
  #release(batch) {
    this.taken.release(/** @type {UplinkSource} */ (this.source), batch);
  }
}

exports.Channel = Channel;

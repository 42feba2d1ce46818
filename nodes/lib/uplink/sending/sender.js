'use strict';

const { SENT, DONE, AGAIN } = require('./taken-batch');
const { BatchRatio } = require('./batch-ratio');
const { Liveness } = require('./liveness');
const { PreparedPacket } = require('./prepared-packet');
const { DeadLetters } = require('./refused/dead-letters');
const { PoisonRecord } = require('./refused/poison-record');
const { PoisonTrial } = require('./refused/poison-trial');
const { UNMATCHED } = require('./refused/problem-sentences');
const { Resends } = require('./refused/resends');

/** @typedef {import('./taken-batch').TakenBatch} TakenBatch */
/** @typedef {import('./uplink-stage').Stage} Stage */
/** @typedef {import('./feeder-types').Link} Link */
/** @typedef {import('./feeder-types').SenderHandlers} SenderHandlers */

const NO_MATCHING_SUBSCRIBERS = 0x10;
const RETRY_MS = 1000;

/**
 * Handles one packet at a time: cuts or gives up packets that cannot be sent, writes the others, and handles
 * acknowledgements.
 */
class Sender {
  #prepared;
  #dead;

  /** @param {import('./feeder-types').FeederOptions} options @param {SenderHandlers} handlers */
  constructor(options, handlers) {
    const { window, delay, now, problem, retryMs = RETRY_MS } = options;
    this.window = window;
    this.output = options.output;
    this.now = now;
    this.problem = problem;
    this.handlers = handlers;
    this.liveness = new Liveness(window, now);
    this.#prepared = new PreparedPacket(options.native, handlers.stageOf);
    this.#dead = new DeadLetters(this.#prepared, problem);
    const shared = { window, delay, now, retryMs, problem, deadLetters: this.#dead };
    this.resends = new Resends({ ...shared, again: handlers.again, go: handlers.go });
    this.trial = new PoisonTrial({
      ...shared,
      prepared: this.#prepared,
      handlers,
      write: (batch, index) => this.#write(batch, index, /** @type {Stage} */ (handlers.stageOf(batch.stage)))
    });
    this.poison = this.trial.poison;
    /** Of the edge node, if the session is one. @type {import('../sparkplug/births').Births | null} */
    this.births = null;
    this.ratio = new BatchRatio();
    /** @type {Link | null} */
    this.link = null;
    this.published = 0;
    this.acknowledged = 0;
    this.redelivered = 0;
    /** Acknowledged packets that no client had subscribed to. */
    this.unmatched = 0;
  }

  /** Writes the packets; also the express path's. */
  get writer() {
    return this.#prepared.writer;
  }

  /** Number of packets that were given up. */
  get failed() {
    return this.#dead.packets;
  }

  /** Number of records in them. */
  get deadLetters() {
    return this.#dead.records;
  }

  /** @param {Link} link @param {import('./output').Write} write */
  connected(link, write) {
    this.link = link;
    this.window.setLimit(link.receiveMaximum);
    this.#prepared.connected(link);
    this.output.open(write);
    this.liveness.connected();
    this.trial.connected(link);
    this.resends.connected();
  }

  /**
   * @param {Iterable<TakenBatch>} taken
   * @param {boolean} byBroker see dropped() in poison-record.js
   * @param {number} code of its DISCONNECT, 0 = none
   * @returns {boolean} true: a poison record is convicted, see convict() of the trial
   */
  disconnected(taken, byBroker, code) {
    const isConvicted = this.trial.disconnected(taken, byBroker, code);
    this.link = null;
    this.resends.disconnected();
    this.liveness.disconnected();
    this.output.close();
    this.window.reset();
    for (const batch of taken) batch.rewind();
    this.trial.setAside();
    return isConvicted;
  }

  /** True if nothing is refused, suspected or waiting to be sent again. */
  get isCalm() {
    return this.resends.isCalm && !this.poison.isWatching;
  }

  /** The batches are no longer ours. */
  abandon() {
    this.resends.abandon();
    this.window.abandon();
    this.poison.clear();
  }

  /**
   * Sends a pending packet.
   * @param {TakenBatch} batch
   * @param {number} index pending
   * @param {Stage} stage
   * @returns {boolean} false: it was cut, call send() again
   */
  send(batch, index, stage) {
    const link = /** @type {Link} */ (this.link);
    const { poison, trial, writer } = this;
    // A message of an edge node has records of one device.
    if (stage.format === 'sparkplug' && batch.divide(index)) return false;
    if (!this.#prepared.prepare(batch, index)) {
      batch.pending--;
      this.#dead.badTopic(batch, index);
      return true;
    }
    // [MQTT-3.2.2-15] At most the broker's Maximum Packet Size.
    const limit = link.maximumPacketSize;
    const { size } = this.#prepared;
    const topic = poison.needsTopics ? writer.deviceTopic() : null;
    const isOverLimit = limit > 0 && size > limit;
    const proof = isOverLimit ? 'size' : poison.proofOf(size, topic);
    if (proof !== '') {
      if (trial.cut(batch, index)) return false;
      batch.pending--;
      if (isOverLimit) this.#dead.overLimit(batch, index, size, limit);
      else if (proof === 'size') this.#dead.closedOnSize(batch, index, size);
      else this.#dead.closedOn(batch, index, size, trial.closeCode);
      return true;
    }
    if (poison.mustHold(size, topic)) trial.hold(batch, index, size, topic);
    else this.#write(batch, index, stage);
    return true;
  }

  /**
   * Writes the prepared packet.
   * @param {TakenBatch} batch
   * @param {number} index pending
   * @param {Stage} stage
   */
  #write(batch, index, stage) {
    const { output } = this;
    const { size } = this.#prepared;
    const now = this.now();
    const isAgain = batch.states[index] === AGAIN;
    // [MQTT-3.3.1-2] For a broker that never had the packet it is a new one.
    const isDup = isAgain && !this.link?.isElsewhere;
    this.ratio.written(batch.payloadBytes(index) || size, size);
    batch.pending--;
    batch.states[index] = SENT;
    const id = this.window.open(batch, index, size, now);
    if (stage.qos && PoisonRecord.goesAlone(batch, index)) this.poison.wentAlone(id);
    if (stage.format === 'sparkplug') this.births?.writeBefore(batch.isUrgent);
    const out = output.reserve(size);
    output.filled(this.writer.write(out, output.end, id, isDup), batch.isUrgent);
    if (stage.qos) this.liveness.sent(id, now);
    else output.doneWhenWritten(id);
    if (isAgain || batch.tries[index] > 0) this.redelivered++;
    else this.published++;
  }

  /**
   * Handles a PUBACK.
   * @param {number} id packet identifier
   * @param {number} reasonCode 0 in MQTT 3.1.1
   */
  acknowledge(id, reasonCode) {
    if (!this.window.isOpen(id)) return;
    const isTaken = reasonCode < 0x80;
    this.liveness.acknowledged(id, isTaken);
    this.poison.taken(id, this.window.sizes[id]);
    if (isTaken) this.resends.taken();
    this.trial.taken();
    this.#close(id, reasonCode);
  }

  /** Counts packets that the broker accepted and that no client had subscribed to. @param {number} packets */
  countUnmatched(packets) {
    if (packets === 0) return;
    this.unmatched += packets;
    this.problem('PUBACK_16', UNMATCHED);
  }

  /** A chunk was given to the kernel; its QoS 0 packets are done. @param {number[]} ids */
  written(ids) {
    if (ids.length === 0) return;
    this.trial.taken();
    for (const id of ids) if (this.window.isOpen(id)) this.#close(id, 0);
    this.liveness.wrote();
  }

  /** @param {number} id open @param {number} reasonCode */
  #close(id, reasonCode) {
    const { window } = this;
    const batch = window.batches[id];
    const index = window.packets[id];
    const size = window.sizes[id];
    window.close(id);
    this.handlers.roomier(size);
    if (!batch) return;
    if (reasonCode >= 0x80 && this.handlers.refused) return this.handlers.refused(reasonCode);
    if (reasonCode >= 0x80) this.resends.refused(batch, index, reasonCode);
    else {
      this.acknowledged++;
      if (reasonCode === NO_MATCHING_SUBSCRIBERS) this.countUnmatched(1);
      batch.states[index] = DONE;
      batch.open--;
    }
    if (batch.open === 0) this.handlers.settled(batch);
  }
}

exports.Sender = Sender;

'use strict';

const { SENT, DONE, AGAIN, LATER } = require('./taken-batch');
const { BatchRatio } = require('./batch-ratio');
const { DetachedBatches } = require('./detached-batches');
const { Liveness } = require('./liveness');
const { Quota } = require('./broker-quota');
const { Refusals, isFinal } = require('./refusals');
const { CONVICTED, PoisonRecord } = require('./poison-record');
const { refusalName } = require('../session/reason-codes');
const {
  UNMATCHED,
  allRefused,
  closesOn,
  closesOnSize,
  recordName,
  refusedForGood,
  suspected,
  tooLarge
} = require('./problem-sentences');

/** @typedef {import('./taken-batch').TakenBatch} TakenBatch */
/** @typedef {import('./uplink-stage').Stage} Stage */
/** @typedef {import('./feeder').Link} Link */

/** @typedef {import('./feeder-types').SenderHandlers} SenderHandlers */

/** Reason codes of MQTT 5 for records that we refuse ourselves. */
const NO_MATCHING_SUBSCRIBERS = 0x10;
const UNSPECIFIED_ERROR = 0x80;
const TOPIC_NAME_INVALID = 0x90;
const PACKET_TOO_LARGE = 0x95;

/**
 * Handles one packet at a time: cuts or gives up packets that cannot be sent, writes the others, and handles
 * acknowledgements, refusals and retries.
 */
class Sender {
  /** @param {import('./feeder').FeederOptions} options @param {SenderHandlers} handlers */
  constructor(options, handlers) {
    const { retryMs = 1000 } = options;
    this.window = options.window;
    this.output = options.output;
    this.delay = options.delay;
    this.now = options.now;
    this.problem = options.problem;
    this.handlers = handlers;
    this.liveness = new Liveness(options.window, options.now);
    this.refusals = new Refusals(options.window, retryMs);
    this.quota = new Quota(options.window, options.now);
    /** Writes the packets; also the express path's. */
    this.writer = new options.native.PublishWriter();
    /** Of the edge node, if the session is one. @type {import('../sparkplug/births').Births | null} */
    this.births = null;
    /** Bytes of the prepared packet. */
    this.size = 0;
    this.ratio = new BatchRatio();
    this.poison = new PoisonRecord({
      now: options.now,
      trialMs: retryMs,
      topicOf: (batch, packet) => this.#topicOf(batch, packet)
    });
    /** @type {Link | null} */
    this.link = null;
    /** The present link, or else the last one. @type {Link | null} */
    this.lastLink = null;
    this.isAwaiting = false;
    /** Reason code of the DISCONNECT that ended the last connection, 0 = none. */
    this.closeCode = 0;
    /** Increases with every lost connection, and when the batches are no longer ours. Older timers then do nothing. */
    this.life = 0;

    /** Packets that wait for their next try without a place in the window. */
    this.outside = new DetachedBatches({ delay: options.delay, retryMs, again: handlers.again });
    /** When all temporarily refused packets will have been sent again. */
    this.quotaUntil = 0;
    this.published = 0;
    this.acknowledged = 0;
    this.redelivered = 0;
    /** Acknowledged packets that no client had subscribed to. */
    this.unmatched = 0;
    /** Packets that were given up, and the records in them. */
    this.failed = 0;
    this.deadLetters = 0;
  }

  /** @param {Link} link @param {import('./output').Write} write */
  connected(link, write) {
    this.link = this.lastLink = link;
    this.window.setLimit(link.receiveMaximum);
    this.writer.setLink(link.protocolVersion === 5, link.retainAvailable);
    this.output.open(write);
    this.liveness.connected();
    // A broker that gives its limit makes guesses unnecessary.
    this.#resume(this.poison.connected(link.maximumPacketSize > 0));
    this.outside.connected();
    this.#awaitTrial();
  }

  /**
   * @param {Iterable<TakenBatch>} taken
   * @param {boolean} byBroker see dropped() in poison-record.js
   * @param {number} code of its DISCONNECT, 0 = none
   * @returns {boolean} true: a poison record is convicted, see convict()
   */
  disconnected(taken, byBroker, code) {
    const { poison } = this;
    const before = poison.accused.length;
    const isConvicted = poison.dropped(this.window, taken, byBroker, code);
    this.closeCode = code;
    for (const accused of poison.accused.slice(before)) this.#name(accused);
    this.link = null;
    this.life++;
    this.outside.disconnected();
    this.quotaUntil = 0;
    this.quota.disconnected();
    this.liveness.disconnected();
    this.output.close();
    this.window.reset();
    for (const batch of taken) batch.rewind();
    for (const { batch, order, packet } of poison.accused) {
      if (batch.order === order && batch.states[packet] === AGAIN) batch.putAside(packet);
    }
    return isConvicted;
  }

  /** @param {import('./poison-record').Accused} accused */
  #name({ batch, packet, size }) {
    const record = this.#describe(batch, packet, size);
    this.problem('SUSPECT', suspected(record, this.closeCode));
  }

  /**
   * Returns the record's name for display.
   * @param {TakenBatch} batch
   * @param {number} packet
   * @param {number} size
   */
  #describe(batch, packet, size) {
    const isPrepared = this.#prepare(batch, packet);
    return recordName(batch.deviceOf(packet), isPrepared ? this.writer.topic() : '', size);
  }

  /**
   * Measures a packet.
   * @param {TakenBatch} batch
   * @param {number} packet
   * @returns {boolean} false: its topic is not valid in a PUBLISH, or its stage is not known
   */
  #prepare(batch, packet) {
    const isKnown = this.handlers.stageOf(batch.stage) !== undefined && this.lastLink !== null;
    this.size = isKnown ? batch.prepare(packet, this.writer) : 0;
    return this.size > 0;
  }

  /**
   * @param {TakenBatch} batch
   * @param {number} packet
   * @returns {string | null}
   */
  #topicOf(batch, packet) {
    return this.#prepare(batch, packet) ? this.writer.deviceTopic() : null;
  }

  /** True if nothing is refused, suspected or waiting to be sent again. */
  get isCalm() {
    return this.outside.count === 0 && this.quota.waitMs === 0 && !this.poison.isWatching;
  }

  /** Time in ms until all temporarily refused packets will have been sent again, 0 = there are none. */
  get quotaWait() {
    return Math.max(0, this.quotaUntil - this.now());
  }

  /** The batches are no longer ours. */
  abandon() {
    this.life++;
    this.outside.abandon();
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
    const { poison, writer } = this;
    // A message of an edge node has records of one device.
    if (stage.format === 'sparkplug' && batch.divide(index)) return false;
    if (!this.#prepare(batch, index)) {
      const reason = 'A record was refused: its topic is empty, too long or contains +, # or NUL.';
      batch.pending--;
      this.#bury(batch, index, 'BAD_TOPIC', TOPIC_NAME_INVALID, reason);
      return true;
    }
    // [MQTT-3.2.2-15] At most the broker's Maximum Packet Size.
    const limit = link.maximumPacketSize;
    const { size } = this;
    const topic = poison.needsTopics ? writer.deviceTopic() : null;
    const isOverLimit = limit > 0 && size > limit;
    const proof = isOverLimit ? 'size' : poison.proofOf(size, topic);
    if (proof !== '') {
      if (this.#cut(batch, index)) return false;
      batch.pending--;
      if (isOverLimit) this.#bury(batch, index, 'PACKET_TOO_LARGE', PACKET_TOO_LARGE, tooLarge(size, limit));
      else if (proof === 'size') this.#buryTooLarge(batch, index, size);
      else this.#buryUnwanted(batch, index, size);
      return true;
    }
    if (poison.mustHold(size, topic)) {
      poison.hold(batch, index, size, topic);
      if (poison.isFull) this.handlers.go();
      else this.#awaitTrial();
      return true;
    }
    this.#write(batch, index, stage);
    return true;
  }

  /** @param {TakenBatch} batch @param {number} index */
  #cut(batch, index) {
    if (!batch.split(index)) return false;
    this.poison.wasCut(batch, index);
    return true;
  }

  /**
   * Gives up a packet because the broker closes the connection on it, and on no smaller one.
   * @param {TakenBatch} batch
   * @param {number} index
   * @param {number} size
   */
  #buryTooLarge(batch, index, size) {
    const record = this.#describe(batch, index, size);
    this.#bury(batch, index, 'PACKET_TOO_LARGE', PACKET_TOO_LARGE, closesOnSize(record, size));
  }

  /**
   * Gives up a packet because the broker closes the connection on it.
   * @param {TakenBatch} batch
   * @param {number} index
   * @param {number} size
   */
  #buryUnwanted(batch, index, size) {
    const record = this.#describe(batch, index, size);
    const reason = closesOn(record, this.closeCode);
    this.#bury(batch, index, 'UNWANTED', this.closeCode || UNSPECIFIED_ERROR, reason);
  }

  /**
   * Writes the prepared packet.
   * @param {TakenBatch} batch
   * @param {number} index pending
   * @param {Stage} stage
   */
  #write(batch, index, stage) {
    const { output, size } = this;
    const now = this.now();
    const isAgain = batch.states[index] === AGAIN;
    this.ratio.written(batch.payloadBytes(index) || size, size);
    batch.pending--;
    batch.states[index] = SENT;
    const id = this.window.open(batch, index, size, now);
    if (stage.qos && PoisonRecord.goesAlone(batch, index)) this.poison.wentAlone(id);
    if (stage.format === 'sparkplug') this.births?.writeBefore(batch.isUrgent);
    const out = output.reserve(size);
    output.filled(this.writer.write(out, output.end, id, isAgain), batch.isUrgent);
    if (stage.qos) this.liveness.sent(id, now);
    else output.doneWhenWritten(id);
    if (isAgain) this.redelivered++;
    else this.published++;
  }

  /**
   * Gives up the records of a packet. The caller settles the batch when none of its packets is open.
   * @param {TakenBatch} batch
   * @param {number} index
   * @param {string} problem
   * @param {number} code
   * @param {string} reason
   */
  #bury(batch, index, problem, code, reason) {
    this.problem(problem, reason);
    this.failed++;
    this.deadLetters += batch.bury(index, code, reason);
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
    if (isTaken) {
      this.refusals.taken();
      this.quota.taken();
    }
    // The packet was alone in flight, so this is its answer.
    if (this.poison.isOnTrial) this.#resume(this.poison.acquit());
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
    if (ids.length > 0 && this.poison.isOnTrial) this.#resume(this.poison.acquit());
    for (const id of ids) if (this.window.isOpen(id)) this.#close(id, 0);
    if (ids.length > 0) this.liveness.wrote();
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
    if (reasonCode >= 0x80) this.#refused(batch, index, reasonCode);
    else {
      this.acknowledged++;
      if (reasonCode === NO_MATCHING_SUBSCRIBERS) this.countUnmatched(1);
      batch.states[index] = DONE;
      batch.open--;
    }
    if (batch.open === 0) this.handlers.settled(batch);
  }

  /**
   * Sends a refused packet again after a while. Until then, a packet that is kept holds its place in the window, so
   * that a broker that refuses everything slows the sender down instead of filling the memory. A packet that will be
   * given up soon holds no place.
   * @param {TakenBatch} batch
   * @param {number} index
   * @param {number} reasonCode
   */
  #refused(batch, index, reasonCode) {
    if (batch.tries[index] === 0) batch.takenBefore[index] = this.refusals.takenCount;
    batch.tries[index] = Math.min(255, batch.tries[index] + 1);
    if (Quota.is(reasonCode)) return this.#exceeded(batch, index, reasonCode);
    const wait = this.refusals.next(reasonCode, batch.tries[index], batch.takenBefore[index]);
    const code = `PUBACK_${reasonCode}`;
    const name = refusalName(reasonCode);
    if (wait < 0) {
      this.#bury(batch, index, code, reasonCode, refusedForGood(name));
      return;
    }
    if (this.refusals.allRefused !== 0) this.problem('ALL_REFUSED', allRefused(name));
    if (!isFinal(reasonCode)) {
      this.quotaUntil = Math.max(this.quotaUntil, this.now() + wait);
      this.problem(
        code,
        `The broker refuses records for now (${name}). They are kept and sent again at growing intervals.`
      );
    }
    if (isFinal(reasonCode) && !this.outside.isFull) {
      this.outside.add(batch, index, wait);
      return;
    }
    batch.states[index] = LATER;
    this.window.wait(batch);
    const { order } = batch;
    const { life } = this;
    this.delay(() => {
      if (this.life !== life || batch.order !== order || batch.states[index] !== LATER) return;
      this.window.endWait(batch);
      batch.sendAgain(index);
      this.handlers.again(batch);
    }, wait);
  }

  /**
   * @param {TakenBatch} batch
   * @param {number} index
   * @param {number} reasonCode
   */
  #exceeded(batch, index, reasonCode) {
    const wait = this.quota.exceeded();
    this.refusals.keep(reasonCode);
    this.quotaUntil = Math.max(this.quotaUntil, this.now() + wait);
    this.problem(
      `PUBACK_${reasonCode}`,
      `The broker refuses records for now (${refusalName(reasonCode)}). They are kept and sent again at growing intervals.`
    );
    batch.sendAgain(index);
    this.handlers.again(batch);
    this.delay(() => this.handlers.go(), wait);
  }

  /** Wakes the pump when the trial is due. */
  #awaitTrial() {
    const { poison } = this;
    if (!poison.isAside || this.isAwaiting) return;
    this.isAwaiting = true;
    this.delay(() => {
      this.isAwaiting = false;
      // Another connection began meanwhile.
      if (poison.waitMs() > 0) this.#awaitTrial();
      else this.handlers.go();
    }, poison.waitMs());
  }

  /** Sends the poison record alone. REQUIRES: it is set aside, nothing is in flight. */
  try() {
    const { poison, link } = this;
    const { batch, packet: index } = /** @type {import('./poison-record').Accused} */ (poison.first);
    if (!link || !this.#prepare(batch, index)) return;
    if (link.maximumPacketSize > 0 && this.size > link.maximumPacketSize) {
      this.#resume(poison.dismiss());
      return;
    }
    batch.sendAgain(index);
    poison.tried();
    this.#write(batch, index, /** @type {Stage} */ (this.handlers.stageOf(batch.stage)));
  }

  /** Drops all suspicions. */
  acquitAll() {
    this.#resume(this.poison.clear());
  }

  /** Sends packets that were set aside. @param {import('./poison-record').Aside[]} aside */
  #resume(aside) {
    for (const { batch, order, packet } of aside) {
      if (batch.order === order && batch.resume(packet)) this.handlers.again(batch);
    }
    this.#awaitTrial();
  }

  /** Cuts the poison record, or makes it a dead letter. REQUIRES: disconnected() returned true. */
  convict() {
    const { poison } = this;
    const { batch, packet, size } = /** @type {import('./poison-record').Accused} */ (poison.first);
    batch.sendAgain(packet);
    batch.drops[packet] = CONVICTED;
    if (this.#cut(batch, packet)) this.handlers.again(batch);
    else {
      const isNamed = this.closeCode > 0 && this.closeCode !== PACKET_TOO_LARGE;
      batch.pending--;
      if (size >= poison.limit && !isNamed) this.#buryTooLarge(batch, packet, size);
      else this.#buryUnwanted(batch, packet, size);
      if (batch.open === 0) this.handlers.settled(batch);
    }
    this.#resume(poison.dismiss());
  }
}

exports.Sender = Sender;

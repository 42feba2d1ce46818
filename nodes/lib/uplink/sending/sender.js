'use strict';

const { SENT, DONE, AGAIN, LATER } = require('./taken-batch');
const { Outside } = require('./detached-batches');
const { Publish } = require('./publish-packet');
const { Pulse } = require('./liveness');
const { Quota } = require('./broker-quota');
const { Refusals, isFinal } = require('./refusals');
const { CONVICTED, Suspect } = require('./poison-record');
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

/** @typedef {import('./taken-batch').Slot} Slot */
/** @typedef {import('./uplink-stage').Stage} Stage */
/** @typedef {import('./feeder').Link} Link */

/** @typedef {import('./feeder-types').SenderHandlers} SenderHandlers */

/** Reason codes of MQTT 5 for what we refuse ourselves. */
const NO_MATCHING_SUBSCRIBERS = 0x10;
const UNSPECIFIED_ERROR = 0x80;
const TOPIC_NAME_INVALID = 0x90;
const PACKET_TOO_LARGE = 0x95;

/** What becomes of one packet: cut or given up where it cannot go, written, acknowledged, refused, sent again. */
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
    this.pulse = new Pulse(options.window, options.now);
    this.refusals = new Refusals(options.window, retryMs);
    this.quota = new Quota(options.window, options.now);
    this.packet = new Publish();
    this.suspect = new Suspect({
      now: options.now,
      trialMs: retryMs,
      topicOf: (slot, packet) => this.#topicOf(slot, packet)
    });
    /** @type {Link | null} */
    this.link = null;
    /** The present one, or else that of before. @type {Link | null} */
    this.lastLink = null;
    this.isAwaiting = false;
    /** Of the DISCONNECT that ended the last connection, 0 = none. */
    this.closeCode = 0;
    /** Rises with every connection that is lost, and when the batches are no longer ours: timers of before do nothing. */
    this.life = 0;

    /** Of the packets that wait for their next try, those that hold no place in the window. */
    this.outside = new Outside({ delay: options.delay, retryMs, again: handlers.again });
    /** When all packets that are refused for now will have been sent again. */
    this.quotaUntil = 0;
    this.published = 0;
    this.acknowledged = 0;
    this.redelivered = 0;
    /** Of the acknowledged ones, those that no client had subscribed to. */
    this.unmatched = 0;
    /** Packets that were given up, and records in them. */
    this.failed = 0;
    this.deadLetters = 0;
  }

  /** @param {Link} link @param {import('./output').Write} write */
  connected(link, write) {
    this.link = this.lastLink = link;
    this.window.setLimit(link.receiveMaximum);
    this.output.open(write);
    this.pulse.connected();
    // A broker that tells its limit needs no guess.
    this.#resume(this.suspect.connected(link.maximumPacketSize > 0));
    this.outside.connected();
    this.#awaitTrial();
  }

  /**
   * @param {Iterable<Slot>} taken
   * @param {boolean} byBroker see dropped() of suspect.js @param {number} code of its DISCONNECT, 0 = none
   * @returns {boolean} true: a suspect is convicted, see convict()
   */
  disconnected(taken, byBroker, code) {
    const { suspect } = this;
    const before = suspect.accused.length;
    const isConvicted = suspect.dropped(this.window, taken, byBroker, code);
    this.closeCode = code;
    for (const accused of suspect.accused.slice(before)) this.#name(accused);
    this.link = null;
    this.life++;
    this.outside.disconnected();
    this.quotaUntil = 0;
    this.quota.disconnected();
    this.pulse.disconnected();
    this.output.close();
    this.window.reset();
    for (const slot of taken) slot.rewind();
    for (const { slot, order, packet } of suspect.accused) {
      if (slot.order === order && slot.states[packet] === AGAIN) slot.putAside(packet);
    }
    return isConvicted;
  }

  /** @param {import('./poison-record').Accused} accused */
  #name({ slot, packet, size }) {
    const record = this.#describe(slot, packet, size);
    this.problem('SUSPECT', suspected(record, this.closeCode));
  }

  /** For people. @param {Slot} slot @param {number} packet @param {number} size */
  #describe(slot, packet, size) {
    const isPrepared = this.#prepare(slot, packet);
    return recordName(slot, isPrepared ? this.packet.topicText() : '', size);
  }

  /** @param {Slot} slot @param {number} packet */
  #prepare(slot, packet) {
    const stage = this.handlers.stageOf(slot.stage);
    const { lastLink } = this;
    return stage !== undefined && lastLink !== null && this.packet.prepare(slot, packet, stage, lastLink);
  }

  /** @param {Slot} slot @param {number} packet @returns {string | null} */
  #topicOf(slot, packet) {
    return this.#prepare(slot, packet) ? this.packet.deviceTopic() : null;
  }

  /** Nothing is refused, suspected or waits to be sent again. */
  get isCalm() {
    return this.outside.count === 0 && this.quota.waitMs === 0 && !this.suspect.isWatching;
  }

  /** ms until all packets that the broker refuses for now will have been sent again, 0 = there are none. */
  get quotaWait() {
    return Math.max(0, this.quotaUntil - this.now());
  }

  /** The batches are no longer ours. */
  abandon() {
    this.life++;
    this.outside.abandon();
    this.window.abandon();
    this.suspect.clear();
  }

  /** @param {Slot} slot @param {number} index pending @param {Stage} stage @returns {boolean} false: it was cut into two, send again */
  send(slot, index, stage) {
    const link = /** @type {Link} */ (this.link);
    const { packet, suspect } = this;
    if (!packet.prepare(slot, index, stage, link)) {
      const reason = 'A record was refused: its topic is empty, too long or contains +, # or NUL.';
      slot.pending--;
      this.#bury(slot, index, 'BAD_TOPIC', TOPIC_NAME_INVALID, reason);
      return true;
    }
    // [MQTT-3.2.2-15] Not more than the broker's Maximum Packet Size.
    const told = link.maximumPacketSize;
    const { size } = packet;
    const topic = suspect.needsTopics ? packet.deviceTopic() : null;
    const isOverTold = told > 0 && size > told;
    const proof = isOverTold ? 'size' : suspect.proofOf(size, topic);
    if (proof !== '') {
      if (this.#cut(slot, index)) return false;
      slot.pending--;
      if (isOverTold) this.#bury(slot, index, 'PACKET_TOO_LARGE', PACKET_TOO_LARGE, tooLarge(size, told));
      else if (proof === 'size') this.#buryTooLarge(slot, index, size);
      else this.#buryUnwanted(slot, index, size);
      return true;
    }
    if (suspect.minds(size, topic)) {
      suspect.hold(slot, index, size, topic);
      if (suspect.isFull) this.handlers.go();
      else this.#awaitTrial();
      return true;
    }
    this.#write(slot, index, stage);
    return true;
  }

  /** @param {Slot} slot @param {number} index */
  #cut(slot, index) {
    if (!slot.split(index)) return false;
    this.suspect.wasCut(slot, index);
    return true;
  }

  /** The broker closes the connection on it, and on nothing smaller. @param {Slot} slot @param {number} index @param {number} size */
  #buryTooLarge(slot, index, size) {
    const record = this.#describe(slot, index, size);
    this.#bury(slot, index, 'PACKET_TOO_LARGE', PACKET_TOO_LARGE, closesOnSize(record, size));
  }

  /** The broker closes the connection on it. @param {Slot} slot @param {number} index @param {number} size */
  #buryUnwanted(slot, index, size) {
    const record = this.#describe(slot, index, size);
    const reason = closesOn(record, this.closeCode);
    this.#bury(slot, index, 'UNWANTED', this.closeCode || UNSPECIFIED_ERROR, reason);
  }

  /** The packet is prepared. @param {Slot} slot @param {number} index pending @param {Stage} stage */
  #write(slot, index, stage) {
    const { output, packet } = this;
    const now = this.now();
    const isAgain = slot.states[index] === AGAIN;
    slot.pending--;
    slot.states[index] = SENT;
    const id = this.window.open(slot, index, packet.size, now);
    if (stage.qos && Suspect.goesAlone(slot, index)) this.suspect.wentAlone(id);
    const out = output.reserve(packet.size);
    output.filled(packet.write(out, output.end, stage.qos ? id : 0, isAgain), slot.isUrgent);
    if (stage.qos) this.pulse.sent(id, now);
    else output.doneWhenWritten(id);
    if (isAgain) this.redelivered++;
    else this.published++;
  }

  /**
   * Gives the records of a packet up. The caller settles the batch when nothing of it is open.
   * @param {Slot} slot @param {number} index @param {string} problem @param {number} code @param {string} reason
   */
  #bury(slot, index, problem, code, reason) {
    this.problem(problem, reason);
    this.failed++;
    this.deadLetters += slot.bury(index, code, reason);
  }

  /** A PUBACK. @param {number} id packet identifier @param {number} reasonCode 0 in MQTT 3.1.1 */
  acknowledge(id, reasonCode) {
    if (!this.window.isOpen(id)) return;
    const isTaken = reasonCode < 0x80;
    this.pulse.acknowledged(id, isTaken);
    this.suspect.taken(id, this.window.sizes[id]);
    if (isTaken) {
      this.refusals.taken();
      this.quota.taken();
    }
    // Alone on its way, so this was its answer.
    if (this.suspect.isOnTrial) this.#resume(this.suspect.acquit());
    this.#close(id, reasonCode);
  }

  /** Packets that the broker took and that no client had subscribed to. @param {number} packets */
  countUnmatched(packets) {
    if (packets === 0) return;
    this.unmatched += packets;
    this.problem('PUBACK_16', UNMATCHED);
  }

  /** A chunk went to the kernel; its QoS 0 packets are done. @param {number[]} ids */
  written(ids) {
    if (ids.length > 0 && this.suspect.isOnTrial) this.#resume(this.suspect.acquit());
    for (const id of ids) if (this.window.isOpen(id)) this.#close(id, 0);
    if (ids.length > 0) this.pulse.wrote();
  }

  /** @param {number} id open @param {number} reasonCode */
  #close(id, reasonCode) {
    const { window } = this;
    const slot = window.slots[id];
    const index = window.packets[id];
    const size = window.sizes[id];
    window.close(id);
    this.handlers.roomier(size);
    if (!slot) return;
    if (reasonCode >= 0x80) this.#refused(slot, index, reasonCode);
    else {
      this.acknowledged++;
      if (reasonCode === NO_MATCHING_SUBSCRIBERS) this.countUnmatched(1);
      slot.states[index] = DONE;
      slot.open--;
    }
    if (slot.open === 0) this.handlers.settled(slot);
  }

  /**
   * Sends a refused packet again after a while. Until then one that is kept holds its place in the window, so that a broker that
   * refuses everything slows us down instead of filling the memory; one that will be given up soon does not.
   * @param {Slot} slot @param {number} index @param {number} reasonCode
   */
  #refused(slot, index, reasonCode) {
    if (slot.tries[index] === 0) slot.takenBefore[index] = this.refusals.takenCount;
    slot.tries[index] = Math.min(255, slot.tries[index] + 1);
    if (Quota.is(reasonCode)) return this.#exceeded(slot, index, reasonCode);
    const wait = this.refusals.next(reasonCode, slot.tries[index], slot.takenBefore[index]);
    const code = `PUBACK_${reasonCode}`;
    const name = refusalName(reasonCode);
    if (wait < 0) {
      this.#bury(slot, index, code, reasonCode, refusedForGood(name));
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
      this.outside.add(slot, index, wait);
      return;
    }
    slot.states[index] = LATER;
    this.window.wait(slot);
    const { order } = slot;
    const { life } = this;
    this.delay(() => {
      if (this.life !== life || slot.order !== order || slot.states[index] !== LATER) return;
      this.window.endWait(slot);
      slot.sendAgain(index);
      this.handlers.again(slot);
    }, wait);
  }

  /** @param {Slot} slot @param {number} index @param {number} reasonCode */
  #exceeded(slot, index, reasonCode) {
    const wait = this.quota.exceeded();
    this.refusals.keep(reasonCode);
    this.quotaUntil = Math.max(this.quotaUntil, this.now() + wait);
    this.problem(
      `PUBACK_${reasonCode}`,
      `The broker refuses records for now (${refusalName(reasonCode)}). They are kept and sent again at growing intervals.`
    );
    slot.sendAgain(index);
    this.handlers.again(slot);
    this.delay(() => this.handlers.go(), wait);
  }

  /** Wakes the pump when the trial is due. */
  #awaitTrial() {
    const { suspect } = this;
    if (!suspect.isAside || this.isAwaiting) return;
    this.isAwaiting = true;
    this.delay(() => {
      this.isAwaiting = false;
      // Another connection began meanwhile.
      if (suspect.waitMs() > 0) this.#awaitTrial();
      else this.handlers.go();
    }, suspect.waitMs());
  }

  /** The suspect goes alone. REQUIRES: it stands aside, nothing is in flight. */
  try() {
    const { suspect, packet, link } = this;
    const { slot, packet: index } = /** @type {import('./poison-record').Accused} */ (suspect.first);
    if (!link || !this.#prepare(slot, index)) return;
    if (link.maximumPacketSize > 0 && packet.size > link.maximumPacketSize) {
      this.#resume(suspect.dismiss());
      return;
    }
    slot.sendAgain(index);
    suspect.tried();
    this.#write(slot, index, packet.stage);
  }

  /** Nothing is suspected any more. */
  acquitAll() {
    this.#resume(this.suspect.clear());
  }

  /** What stood aside goes on. @param {import('./poison-record').Aside[]} aside */
  #resume(aside) {
    for (const { slot, order, packet } of aside) {
      if (slot.order === order && slot.resume(packet)) this.handlers.again(slot);
    }
    this.#awaitTrial();
  }

  /** The suspect is cut, or it is a dead letter. REQUIRES: disconnected() said so. */
  convict() {
    const { suspect } = this;
    const { slot, packet, size } = /** @type {import('./poison-record').Accused} */ (suspect.first);
    slot.sendAgain(packet);
    slot.drops[packet] = CONVICTED;
    if (this.#cut(slot, packet)) this.handlers.again(slot);
    else {
      const isNamed = this.closeCode > 0 && this.closeCode !== PACKET_TOO_LARGE;
      slot.pending--;
      if (size >= suspect.limit && !isNamed) this.#buryTooLarge(slot, packet, size);
      else this.#buryUnwanted(slot, packet, size);
      if (slot.open === 0) this.handlers.settled(slot);
    }
    this.#resume(suspect.dismiss());
  }
}

exports.Sender = Sender;

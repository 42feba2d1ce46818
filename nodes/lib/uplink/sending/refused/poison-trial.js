'use strict';

const { closeKind } = require('../../session/reason-codes');
const { CONVICTED, PoisonRecord } = require('./poison-record');
const { suspected } = require('./problem-sentences');

const PACKET_TOO_LARGE = 0x95;
const SESSION_TAKEN_OVER = 0x8e;

/** @typedef {import('../taken-batch').TakenBatch} TakenBatch */
/** @typedef {import('./poison-record').Accused} Accused */
/** @typedef {import('../feeder-types').Link} Link */

/**
 * @typedef {object} PoisonTrialParts
 * @property {import('../in-flight-window').InFlightWindow} window
 * @property {import('../prepared-packet').PreparedPacket} prepared
 * @property {import('./dead-letters').DeadLetters} deadLetters
 * @property {() => number} now ms, monotonic
 * @property {(fn: () => void, ms: number) => void} delay
 * @property {number} retryMs wait before the first trial
 * @property {(code: string, reason: string) => void} problem
 * @property {(batch: TakenBatch, index: number) => void} write writes the prepared packet
 * @property {import('../feeder-types').SenderHandlers} handlers
 */

/** Sets packets aside that may be poison records, tries them alone, and gives up those that are convicted. */
class PoisonTrial {
  #parts;
  /** @type {Link | null} */
  #link = null;
  #isAwaiting = false;
  /** Reason code of the DISCONNECT that ended the last connection, 0 = none. */
  closeCode = 0;

  /** @param {PoisonTrialParts} parts */
  constructor(parts) {
    this.#parts = parts;
    this.poison = new PoisonRecord({
      now: parts.now,
      trialMs: parts.retryMs,
      topicOf: (batch, packet) => parts.prepared.topicOf(batch, packet)
    });
  }

  /** @param {Link} link */
  connected(link) {
    this.#link = link;
    // A broker that gives its limit makes guesses unnecessary.
    this.#resume(this.poison.connected(link.maximumPacketSize > 0));
  }

  /**
   * Call it before the window forgets what was in flight.
   * @param {Iterable<TakenBatch>} taken
   * @param {boolean} byBroker see dropped() in poison-record.js
   * @param {number} code of its DISCONNECT, 0 = none
   * @returns {boolean} true: a poison record is convicted, see convict()
   */
  disconnected(taken, byBroker, code) {
    const { poison } = this;
    const { window, prepared, problem } = this.#parts;
    const before = poison.accused.length;
    const isConvicted = poison.dropped(window, taken, byBroker, code);
    this.#link = null;
    this.closeCode = code;
    // The session reports that another client has its client id, which is nearly always the reason.
    if (code === SESSION_TAKEN_OVER) return isConvicted;
    for (const { batch, packet, size } of poison.accused.slice(before))
      problem('SUSPECT', suspected(prepared.describe(batch, packet, size), code));
    return isConvicted;
  }

  /** Sets the accused packets aside that would be sent again. */
  setAside() {
    for (const { batch, order, packet } of this.poison.accused) {
      if (batch.order === order && batch.isAgain(packet)) batch.putAside(packet);
    }
  }

  /**
   * Holds back a packet that must not be sent with others.
   * @param {TakenBatch} batch
   * @param {number} index pending
   * @param {number} size
   * @param {string | null} topic
   */
  hold(batch, index, size, topic) {
    this.poison.hold(batch, index, size, topic);
    if (this.poison.isFull) this.#parts.handlers.go();
    else this.#await();
  }

  /**
   * Cuts a packet into two.
   * @param {TakenBatch} batch
   * @param {number} index
   * @returns {boolean} false: it is one record
   */
  cut(batch, index) {
    if (!batch.split(index)) return false;
    this.poison.wasCut(batch, index);
    return true;
  }

  /** Wakes the pump when the trial is due. */
  #await() {
    const { poison } = this;
    const { delay, handlers } = this.#parts;
    if (!poison.isAside || this.#isAwaiting) return;
    this.#isAwaiting = true;
    delay(() => {
      this.#isAwaiting = false;
      // Another connection began meanwhile.
      if (poison.waitMs() > 0) this.#await();
      else handlers.go();
    }, poison.waitMs());
  }

  /** Sends the poison record alone. REQUIRES: it is set aside, nothing is in flight. */
  try() {
    const { poison } = this;
    const { prepared, write } = this.#parts;
    const { batch, packet: index } = /** @type {Accused} */ (poison.first);
    const link = this.#link;
    if (!link || !prepared.prepare(batch, index)) return;
    if (link.maximumPacketSize > 0 && prepared.size > link.maximumPacketSize) {
      this.#resume(poison.dismiss());
      return;
    }
    batch.sendAgain(index);
    poison.tried();
    write(batch, index);
  }

  /** The broker took what is in flight. During a trial, that is only the poison record. */
  taken() {
    if (this.poison.isOnTrial) this.#resume(this.poison.acquit());
  }

  /** Drops all suspicions. */
  acquitAll() {
    this.#resume(this.poison.clear());
  }

  /** Sends packets that were set aside. @param {import('./poison-record').Aside[]} aside */
  #resume(aside) {
    for (const { batch, order, packet } of aside) {
      if (batch.order === order && batch.resume(packet)) this.#parts.handlers.again(batch);
    }
    this.#await();
  }

  /** Cuts the poison record, or makes it a dead letter. REQUIRES: disconnected() returned true. */
  convict() {
    const { poison, closeCode } = this;
    const { deadLetters, handlers } = this.#parts;
    const { batch, packet, size } = /** @type {Accused} */ (poison.first);
    batch.sendAgain(packet);
    batch.drops[packet] = CONVICTED;
    if (this.cut(batch, packet)) handlers.again(batch);
    else {
      const isNamed = closeKind(closeCode) !== 'none' && closeCode !== PACKET_TOO_LARGE;
      batch.pending--;
      if (size >= poison.limit && !isNamed) deadLetters.closedOnSize(batch, packet, size);
      else deadLetters.closedOn(batch, packet, size, closeCode);
      if (batch.open === 0) handlers.settled(batch);
    }
    this.#resume(poison.dismiss());
  }
}

exports.PoisonTrial = PoisonTrial;

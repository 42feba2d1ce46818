'use strict';
// What a broker's PUBLISH packets are owed: PUBACK or PUBREC when the record is safe, in the order of the packets
// [MQTT-4.6.0-2], [MQTT-4.6.0-3], and nothing that was handed over is handed over again while the broker remembers its identifier.
//
// After a new connection to the same session the broker sends again what it has no answer for [MQTT-4.4.0-1]. Some of that is in the
// engine already: such a packet takes the place of the old one, and is answered when that one's record is safe.

const zlib = require('node:zlib');

const PUBACK = 0x40;
const PUBREC = 0x50;
const PUBCOMP = 0x70;
const NOT_FOUND = 0x92;
/** Places of an old connection that the broker did not ask about again. */
const MAX_ORPHANS = 65535;

/**
 * @typedef {Pick<import('./packet-reader').Publish, 'qos' | 'id' | 'dup' | 'topic' | 'payload'>} Asked
 *
 * @typedef {object} Slot the place of one packet
 * @property {number} qos @property {number} id
 * @property {string} print of topic and payload
 * @property {boolean} settled
 * @property {number} code 0, or the reason code that MQTT 5 brokers are told
 */

class Ledger {
  /** @param {number} protocolVersion 4 or 5 */
  constructor(protocolVersion) {
    this.protocolVersion_ = protocolVersion;
    /** In the order of their packets. @type {Slot[]} */
    this.slots_ = [];
    /** Of earlier connections, by identifier. @type {Map<number, Slot>} */
    this.orphans_ = new Map();
    /** QoS 2: PUBREC is sent, PUBREL has not come. @type {Set<number>} */
    this.received_ = new Set();
    /** @type {((bytes: Buffer) => void) | null} */
    this.write_ = null;
    this.isReleasing_ = false;
  }

  /** @returns {number} packets without an answer */
  get size() {
    return this.slots_.length;
  }

  /**
   * @param {(bytes: Buffer) => void} write
   * @param {boolean} sessionPresent the broker remembers what it has sent
   */
  connected(write, sessionPresent) {
    this.write_ = write;
    if (sessionPresent) return;
    this.orphans_.clear();
    this.received_.clear();
  }

  disconnected() {
    this.write_ = null;
    for (const slot of this.slots_.splice(0)) this.orphans_.set(slot.id, slot);
    for (const id of this.orphans_.keys()) {
      if (this.orphans_.size <= MAX_ORPHANS) break;
      this.orphans_.delete(id);
    }
  }

  /**
   * @param {Asked} packet of QoS 1 or 2
   * @returns {Slot | null} its place, towards settle(); null when its record was handed over before
   */
  publish(packet) {
    const { qos, id, dup } = packet;
    // [MQTT-4.3.3-10] Until PUBREL comes the identifier stands for the same message.
    if (qos === 2 && this.received_.has(id)) {
      this.send_(PUBREC, id);
      return null;
    }
    const print = printOf(packet);
    // [MQTT-3.3.1-1] Without DUP it is another message, with an identifier that is free again.
    const before = dup ? this.find_(id) : null;
    const isOrphan = this.orphans_.delete(id);
    if (before && before.qos === qos && before.print === print) {
      if (isOrphan) this.slots_.push(before);
      this.release_();
      return null;
    }
    const slot = { qos, id, print, settled: false, code: 0 };
    this.slots_.push(slot);
    return slot;
  }

  /** @param {number} id */
  find_(id) {
    return this.orphans_.get(id) ?? this.slots_.find((slot) => slot.id === id);
  }

  /**
   * The record of a place is safe, or will never be one.
   * @param {Slot} slot
   * @param {number} [code] reason code for MQTT 5
   */
  settle(slot, code = 0) {
    slot.settled = true;
    slot.code = code;
    this.release_();
  }

  /**
   * The record of a place is lost, and its message is to come again: it will count as a new one.
   * @param {Slot} slot
   */
  abandon(slot) {
    slot.print = '';
  }

  /** @param {number} id [MQTT-4.3.3-11] */
  pubrel(id) {
    const isKnown = this.received_.delete(id);
    this.send_(PUBCOMP, id, isKnown ? 0 : NOT_FOUND);
  }

  /** What became safe in one turn is answered in one write. */
  release_() {
    if (this.isReleasing_ || !this.slots_[0]?.settled) return;
    this.isReleasing_ = true;
    queueMicrotask(() => {
      this.isReleasing_ = false;
      let count = 0;
      while (this.slots_[count]?.settled) count++;
      if (count === 0 || !this.write_) return;
      this.write_(Buffer.concat(this.slots_.splice(0, count).map((slot) => this.answer_(slot))));
      this.onReleased();
    });
  }

  /** For its owner: there is room again. */
  onReleased() {}

  /** @param {Slot} slot */
  answer_({ qos, id, code }) {
    if (qos === 1) return this.packet_(PUBACK, id, code);
    if (code < 0x80) this.received_.add(id);
    return this.packet_(PUBREC, id, code);
  }

  /** @param {number} type @param {number} id @param {number} [code] */
  send_(type, id, code = 0) {
    this.write_?.(this.packet_(type, id, code));
  }

  /**
   * [MQTT 3.4.2.1] Without a reason code it is 0.
   * @param {number} type @param {number} id @param {number} code
   */
  packet_(type, id, code) {
    return code > 0 && this.protocolVersion_ === 5
      ? Buffer.from([type, 3, id >> 8, id & 255, code])
      : Buffer.from([type, 2, id >> 8, id & 255]);
  }
}

/** Tells two messages apart that an identifier stood for, one after the other. @param {Asked} packet */
function printOf({ topic, payload }) {
  return `${payload.length} ${zlib.crc32(payload)} ${topic}`;
}

exports.Ledger = Ledger;

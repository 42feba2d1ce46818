'use strict';
// The acknowledgements for a broker's PUBLISH packets: PUBACK or PUBREC when the record is safe, in the order of the
// packets [MQTT-4.6.0-2], [MQTT-4.6.0-3]. A message is passed to the engine only once while the broker remembers its
// identifier.
//
// After a reconnect to the same session, the broker repeats packets without an acknowledgement [MQTT-4.4.0-1]. Some of
// their records are in the engine already. Such a packet replaces the old one, and is acknowledged when that record is
// safe.

const zlib = require('node:zlib');

const PUBACK = 0x40;
const PUBREC = 0x50;
const PUBCOMP = 0x70;
const NOT_FOUND = 0x92;
/** Most acknowledgements of an old connection whose packets the broker did not repeat. */
const MAX_ORPHANS = 65535;

/**
 * @typedef {Pick<import('./packet-reader').Publish, 'qos' | 'id' | 'dup' | 'topic' | 'payload'>} Asked
 *
 * @typedef {object} Acknowledgement of one packet
 * @property {number} qos
 * @property {number} id
 * @property {string} print hash of topic and payload
 * @property {boolean} settled
 * @property {number} code 0, or the reason code for MQTT 5 brokers
 */

class Acknowledgements {
  #protocolVersion;
  /** QoS 2: PUBREC was sent, and PUBREL has not arrived. @type {Set<number>} */
  #received;
  /** @type {((bytes: Buffer) => void) | null} */
  #write;
  #isReleasing;

  /** @param {number} protocolVersion 4 or 5 */
  constructor(protocolVersion) {
    this.#protocolVersion = protocolVersion;
    /** In the order of the packets. @type {Acknowledgement[]} */
    this.pending = [];
    /** Of earlier connections, by identifier. @type {Map<number, Acknowledgement>} */
    this.orphans = new Map();
    this.#received = new Set();
    this.#write = null;
    this.#isReleasing = false;
  }

  /** @returns {number} packets without an acknowledgement */
  get size() {
    return this.pending.length;
  }

  /**
   * @param {(bytes: Buffer) => void} write
   * @param {boolean} sessionPresent true: the broker remembers the packets that it has sent
   */
  connected(write, sessionPresent) {
    this.#write = write;
    if (sessionPresent) return;
    this.orphans.clear();
    this.#received.clear();
  }

  disconnected() {
    this.#write = null;
    for (const entry of this.pending.splice(0)) this.orphans.set(entry.id, entry);
    for (const id of this.orphans.keys()) {
      if (this.orphans.size <= MAX_ORPHANS) break;
      this.orphans.delete(id);
    }
  }

  /**
   * @param {Asked} packet of QoS 1 or 2
   * @returns {Acknowledgement | null} for settle(); null if its record was passed to the engine before
   */
  publish(packet) {
    const { qos, id, dup } = packet;
    // [MQTT-4.3.3-10] Until PUBREL arrives, the identifier denotes the same message.
    if (qos === 2 && this.#received.has(id)) {
      this.#send(PUBREC, id);
      return null;
    }
    const print = printOf(packet);
    // [MQTT-3.3.1-1] Without DUP it is another message that reuses the identifier.
    const before = dup ? this.#find(id) : null;
    const isOrphan = this.orphans.delete(id);
    if (before && before.qos === qos && before.print === print) {
      if (isOrphan) this.pending.push(before);
      this.#release();
      return null;
    }
    const entry = { qos, id, print, settled: false, code: 0 };
    this.pending.push(entry);
    return entry;
  }

  /** @param {number} id */
  #find(id) {
    return this.orphans.get(id) ?? this.pending.find((entry) => entry.id === id);
  }

  /**
   * Call it when the record is safe, or the message will never become a record.
   * @param {Acknowledgement} entry
   * @param {number} [code] reason code for MQTT 5
   */
  settle(entry, code = 0) {
    entry.settled = true;
    entry.code = code;
    this.#release();
  }

  /**
   * Call it when the record is lost and the broker must repeat the message, which then counts as a new one.
   * @param {Acknowledgement} entry
   */
  abandon(entry) {
    entry.print = '';
  }

  /** @param {number} id [MQTT-4.3.3-11] */
  pubrel(id) {
    const isKnown = this.#received.delete(id);
    this.#send(PUBCOMP, id, isKnown ? 0 : NOT_FOUND);
  }

  /** Acknowledges the records that became safe in one turn with one write. */
  #release() {
    if (this.#isReleasing || !this.pending[0]?.settled) return;
    this.#isReleasing = true;
    queueMicrotask(() => {
      this.#isReleasing = false;
      let count = 0;
      while (this.pending[count]?.settled) count++;
      if (count === 0 || !this.#write) return;
      this.#write(Buffer.concat(this.pending.splice(0, count).map((entry) => this.#answer(entry))));
      this.onReleased();
    });
  }

  /** The owner may replace it. Called when there is room again. */
  onReleased() {}

  /** @param {Acknowledgement} entry */
  #answer({ qos, id, code }) {
    if (qos === 1) return this.#packet(PUBACK, id, code);
    if (code < 0x80) this.#received.add(id);
    return this.#packet(PUBREC, id, code);
  }

  /** @param {number} type @param {number} id @param {number} [code] */
  #send(type, id, code = 0) {
    this.#write?.(this.#packet(type, id, code));
  }

  /**
   * [MQTT 3.4.2.1] A missing reason code means 0.
   * @param {number} type
   * @param {number} id
   * @param {number} code
   */
  #packet(type, id, code) {
    return code > 0 && this.#protocolVersion === 5
      ? Buffer.from([type, 3, id >> 8, id & 255, code])
      : Buffer.from([type, 2, id >> 8, id & 255]);
  }
}

/**
 * Returns a hash that distinguishes two messages with the same identifier.
 * @param {Asked} packet
 */
function printOf({ topic, payload }) {
  return `${payload.length} ${zlib.crc32(payload)} ${topic}`;
}

exports.Acknowledgements = Acknowledgements;

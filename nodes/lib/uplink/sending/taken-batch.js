'use strict';

const { META } = require('./batch-meta');
const { cut, divide, readPieces } = require('./envelope-pieces');

/** @typedef {import('./envelope-pieces').Piece} Piece */

/** States of a packet of a batch. */
const NEW = 0; // not sent yet, or refused and to be sent as another message
const SENT = 1; // in flight
const DONE = 2; // acknowledged, or permanently refused
const AGAIN = 3; // was sent, must be sent again
const LATER = 4; // was refused, waits for its next try on this connection
const REFUSED = 6; // was refused and looks permanently refused, waits for its next try, even across connections
const ASIDE = 5; // may be a poison record, waits for its trial

/** Value of `drops` that is no longer counted. */
const MAX_DROPS = 255;
const INITIAL_BYTES = 4096;
const KEPT_BYTES = 65536;
const ENVELOPE_KIND = 1;
const RECORDS_KIND = 2;
const ENVELOPE_FLAG = 4; // Flag.ENVELOPE of the engine
const MOST_URGENT = 1;
const META_FIELDS = 16;
/** Bytes before the strings of an entry of a batch of records. */
const ENTRY_HEAD = 8;
/** The packet is the whole batch. */
const WHOLE = -1;

/**
 * A batch taken from the engine and not released yet. Its bytes stay here until then, because they are sent again after
 * a reconnect. Objects are reused.
 *
 * A batch becomes one packet or more: one for each record of a batch of records, one for a single record or an
 * envelope, and as many as needed for an envelope that was cut.
 */
class TakenBatch {
  constructor() {
    this.buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
    /** The head, as take() of UplinkSource fills it. */
    this.meta = new Float64Array(META_FIELDS);
    /** Where the records of a batch of records begin, and where the last one ends. */
    this.starts = new Uint32Array(64);
    this.states = new Uint8Array(64);
    this.tries = new Uint8Array(64);
    /** Number of packets that the broker had accepted when this one was first refused; valid for packets with tries. */
    this.takenBefore = new Float64Array(64);
    /** Consecutive connections that the broker closed while the packet was in flight; see poison-record.js. */
    this.drops = new Uint8Array(64);
    this.id = 0;
    this.order = 0;
    this.takenAt = 0;
    this.class = 0;
    this.stage = 0;
    this.kind = 0;
    /** Read from the log and sent behind live batches, marked as historical. */
    this.isBacklog = false;
    /** Live and of class 1. */
    this.isUrgent = false;
    this.records = 0;
    /** Number of packets. */
    this.count = 0;
    /** Number of packets that must be sent (NEW or AGAIN). */
    this.pending = 0;
    /** Number of packets that are not DONE. */
    this.open = 0;
    /** No packet before this one is pending. */
    this.next = 0;
    this.queued = false;
    /** The pieces of an envelope that was cut; null = it is whole. @type {Piece[] | null} */
    this.parts = null;
    /**
     * The lines of the engine's envelope in the order of `buffer`, if a division changed it.
     * @type {number[] | null}
     */
    this.lines = null;

    /** Records that the cloud will never accept, and the reason. @type {number[] | null} */
    this.dead = null;
    this.deadCode = 0;
    this.deadReason = '';

    /** Where the payload of a single record or an envelope is. */
    this.payloadAt = 0;
    this.payloadEnd = 0;
  }

  /** Makes room for a batch of this many bytes. @param {number} bytes */
  grow(bytes) {
    let size = this.buffer.length;
    while (size < bytes) size *= 2;
    this.buffer = Buffer.allocUnsafeSlow(size);
  }

  /** Prevents a few large batches from keeping their memory indefinitely. */
  shrink() {
    if (this.buffer.length > KEPT_BYTES) this.buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
    this.parts = null;
  }

  /**
   * Finds the packets of the batch in `meta` and `buffer`.
   * @param {number} length bytes of the batch
   * @param {number} order increases with every batch
   * @param {number} now
   */
  load(length, order, now) {
    const { meta } = this;
    this.id = meta[META.id];
    this.class = meta[META.class];
    this.records = meta[META.records];
    this.stage = meta[META.stage];
    this.kind = meta[META.kind];
    this.isBacklog = meta[META.isBacklog] !== 0;
    this.isUrgent = this.class === MOST_URGENT && !this.isBacklog;
    this.order = order;
    this.takenAt = now;
    this.parts = this.lines = null;
    this.dead = null;
    if (this.kind === RECORDS_KIND) this.count = this.#findRecords(length);
    else {
      this.count = 1;
      // Only a single record has its strings before the payload.
      this.payloadAt = this.kind === 0 ? meta[META.topicBytes] + meta[META.deviceBytes] : 0;
      this.payloadEnd = length;
    }
    const first = meta[META.wasSent] ? AGAIN : NEW;
    for (let i = 0; i < this.count; i++) this.states[i] = first;
    this.tries.fill(0, 0, this.count);
    this.drops.fill(0, 0, this.count);
    this.pending = this.count;
    this.open = this.count;
    this.next = 0;
    this.queued = false;
  }

  /** True for lines of JSON whose first line contains the key. */
  get isEnvelope() {
    return this.kind === ENVELOPE_KIND || (this.kind === 0 && (this.meta[META.flags] & ENVELOPE_FLAG) !== 0);
  }

  /**
   * Finds the entries: u8 flags, u8 device length - 1, u16 topic length, u32 payload length, device, topic, payload.
   * @param {number} length
   * @returns {number} how many there are
   */
  #findRecords(length) {
    const { buffer } = this;
    let count = 0;
    for (let at = 0; at < length; count++) {
      if (count + 1 === this.starts.length) this.#widen();
      this.starts[count] = at;
      const strings = buffer[at + 1] + 1 + buffer.readUInt16LE(at + 2);
      at += ENTRY_HEAD + strings + buffer.readUInt32LE(at + 4);
    }
    this.starts[count] = length;
    return count;
  }

  #widen() {
    const { starts, states, tries, takenBefore, drops } = this;
    const wider = starts.length * 2;
    this.starts = new Uint32Array(wider);
    this.states = new Uint8Array(wider);
    this.tries = new Uint8Array(wider);
    this.takenBefore = new Float64Array(wider);
    this.drops = new Uint8Array(wider);
    this.starts.set(starts);
    this.states.set(states);
    this.tries.set(tries);
    this.takenBefore.set(takenBefore);
    this.drops.set(drops);
  }

  /** @param {number} packet @returns {string} the device whose record it is, '' = it may have several */
  deviceOf(packet) {
    const { buffer, kind, meta, starts } = this;
    const at = kind === RECORDS_KIND ? starts[packet] + ENTRY_HEAD : 0;
    const length =
      kind === RECORDS_KIND ? buffer[starts[packet] + 1] + 1 : kind === 0 ? meta[META.deviceBytes] : 0;
    return buffer.toString('utf8', at, at + length);
  }

  /**
   * Measures one packet.
   * @param {number} packet
   * @param {import('../../../../native').PublishWriter} writer
   * @returns {number} its size in bytes; 0: its topic is not valid in a PUBLISH
   */
  prepare(packet, writer) {
    const { stage, buffer, meta, starts } = this;
    if (this.kind === RECORDS_KIND)
      return writer.prepare(stage, buffer, meta, starts[packet], starts[packet + 1], packet);
    const part = this.parts?.[packet];
    if (part) return writer.prepare(stage, buffer, meta, part.from, part.to, part.number);
    return writer.prepare(stage, buffer, meta, this.payloadAt, this.payloadEnd, WHOLE);
  }

  /** Returns the bytes of an envelope's packet before compression, 0 for other batches. @param {number} packet */
  payloadBytes(packet) {
    if (!this.isEnvelope) return 0;
    const part = this.parts?.[packet];
    return part ? part.to - part.from : this.payloadEnd - this.payloadAt;
  }

  /**
   * Cuts an envelope's packet into two, which take its place. REQUIRES: the packet and all packets behind it are not in
   * flight.
   * @param {number} packet
   * @returns {boolean} false when it is one record, or not lines of JSON
   */
  split(packet) {
    if (!this.isEnvelope) return false;
    this.parts ??= readPieces(this.buffer, this.payloadAt, this.payloadEnd);
    const halves = cut(this.buffer, this.parts[packet]);
    if (!halves) {
      if (this.parts.length === 1) this.parts = null;
      return false;
    }
    this.#replace(packet, halves);
    return true;
  }

  /**
   * Divides an envelope's packet by devices, each of which gets a packet of its own. Lines of the same device become
   * neighbors. REQUIRES: as split().
   * @param {number} packet
   * @returns {boolean} false when it is of one device already, or not lines of JSON
   */
  divide(packet) {
    if (!this.isEnvelope) return false;
    this.parts ??= readPieces(this.buffer, this.payloadAt, this.payloadEnd);
    const part = this.parts[packet];
    if (part.isDivided) return false;
    this.lines ??= Array.from({ length: part.lines }, (_, line) => line);
    const pieces = divide(this.buffer, part, this.lines);
    this.#replace(packet, pieces);
    return pieces.length > 1;
  }

  /**
   * @param {number} packet of an envelope
   * @param {Piece[]} pieces that take its place
   */
  #replace(packet, pieces) {
    const more = pieces.length - 1;
    /** @type {Piece[]} */ (this.parts).splice(packet, 1, ...pieces);
    while (this.count + more > this.states.length) this.#widen();
    for (const list of [this.states, this.tries, this.takenBefore, this.drops]) {
      list.copyWithin(packet + 1 + more, packet + 1, this.count);
      list.fill(list[packet], packet + 1, packet + 1 + more);
    }
    this.count += more;
    this.pending += more;
    this.open += more;
  }

  /** Marks the only packet as in flight. */
  fly() {
    this.states[0] = SENT;
    this.pending = 0;
    this.next = 1;
  }

  /** The connection is gone: everything that was in flight is sent again. */
  rewind() {
    for (let i = 0; i < this.count; i++) {
      if (this.states[i] === SENT) this.sendAgain(i);
      else if (this.states[i] === LATER) this.sendAnew(i);
    }
  }

  /**
   * Counts a connection that ended, see poison-record.js. Call it before rewind().
   * @param {number} weight 0 = the packets in flight are not the reason
   */
  countDrop(weight) {
    const { states, drops } = this;
    for (let i = 0; i < this.count; i++) {
      if (drops[i] === MAX_DROPS || states[i] === ASIDE || states[i] === DONE) continue;
      drops[i] = states[i] === SENT && weight > 0 ? Math.min(MAX_DROPS - 1, drops[i] + weight) : 0;
    }
  }

  /** @param {number} packet */
  sendAgain(packet) {
    this.states[packet] = AGAIN;
    this.pending++;
    if (packet < this.next) this.next = packet;
  }

  /**
   * Sends a refused packet again. The broker ended the first exchange with its PUBACK, so that this is another message,
   * without DUP [MQTT-4.3.2-2].
   * @param {number} packet
   */
  sendAnew(packet) {
    this.sendAgain(packet);
    this.states[packet] = NEW;
  }

  /**
   * Sends a packet again that was set aside.
   * @param {number} packet
   * @returns {boolean} false when it was not set aside
   */
  resume(packet) {
    if (this.states[packet] !== ASIDE) return false;
    this.sendAgain(packet);
    return true;
  }

  /** Marks a refused packet that waits for its next try on this connection. @param {number} packet */
  putOff(packet) {
    this.states[packet] = LATER;
  }

  /** @param {number} packet */
  isPutOff(packet) {
    return this.states[packet] === LATER;
  }

  /** Marks a refused packet that waits outside the window for its next try. @param {number} packet */
  detach(packet) {
    this.states[packet] = REFUSED;
  }

  /** True if the packet was sent and must be sent again. @param {number} packet */
  isAgain(packet) {
    return this.states[packet] === AGAIN;
  }

  /** REQUIRES: the packet is pending. @param {number} packet */
  putAside(packet) {
    this.states[packet] = ASIDE;
    this.pending--;
  }

  /**
   * Marks the records of a packet as dead letters. The first reason of a batch applies to all of it.
   * @param {number} packet
   * @param {number} code
   * @param {string} reason
   * @returns {number} number of records
   */
  bury(packet, code, reason) {
    if (!this.dead) {
      this.dead = [];
      this.deadCode = code;
      this.deadReason = reason;
    }
    const { dead } = this;
    const before = dead.length;
    this.states[packet] = DONE;
    this.open--;
    const part = this.parts?.[packet];
    if (this.kind === RECORDS_KIND) dead.push(packet);
    else if (part && part.lines === this.records) {
      for (let line = part.first; line < part.end; line++) dead.push(this.lines?.[line] ?? line);
      // An envelope that a flow made is one record for the engine, regardless of its lines.
    } else if (before === 0) for (let i = 0; i < this.records; i++) dead.push(i);
    return dead.length - before;
  }
}

exports.TakenBatch = TakenBatch;
exports.NEW = NEW;
exports.SENT = SENT;
exports.DONE = DONE;
exports.AGAIN = AGAIN;

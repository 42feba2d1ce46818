'use strict';

/** Where a record of a batch stands. */
const NEW = 0; // not sent yet
const SENT = 1; // in flight
const DONE = 2; // acknowledged, or refused for good
const AGAIN = 3; // was sent, must be sent again
const LATER = 4; // was refused, waits for its next try

const INITIAL_BYTES = 4096;
const KEPT_BYTES = 65536;
const RECORDS_KIND = 2;

/**
 * One batch that was taken from the engine, until it is released. Its bytes stay here until then: they are what is sent
 * again after a reconnect. Slots are reused.
 *
 * locate(i) points the fields flags … payloadEnd at record i.
 */
class Slot {
  constructor() {
    this.buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
    this.starts = new Uint32Array(64);
    this.states = new Uint8Array(64);
    this.tries = new Uint8Array(64);
    this.id = 0;
    this.order = 0;
    this.class = 0;
    this.stage = 0;
    this.kind = 0;
    this.count = 0;
    /** Records that must be sent (NEW or AGAIN). */
    this.pending = 0;
    /** Records that are not DONE. */
    this.open = 0;
    /** Records that were refused for good. */
    this.refused = 0;
    /** No record before this one is pending. */
    this.next = 0;
    this.queued = false;

    this.flags = 0;
    this.deviceAt = 0;
    this.deviceLength = 0;
    this.topicAt = 0;
    this.topicLength = 0;
    this.payloadAt = 0;
    this.payloadEnd = 0;
  }

  /** Makes room for a batch of this many bytes. @param {number} bytes */
  grow(bytes) {
    let size = this.buffer.length;
    while (size < bytes) size *= 2;
    this.buffer = Buffer.allocUnsafeSlow(size);
  }

  /** A few large batches must not keep their memory for ever. */
  shrink() {
    if (this.buffer.length > KEPT_BYTES) this.buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  }

  /**
   * Reads the head and finds the records of the batch in `buffer`.
   * @param {number} length bytes of the batch @param {Float64Array} meta as take() of UplinkSource fills it
   * @param {number} order rises with every batch
   */
  load(length, meta, order) {
    this.id = meta[0];
    this.class = meta[1];
    this.stage = meta[3];
    this.kind = meta[4];
    this.order = order;
    if (this.kind === RECORDS_KIND) this.count = this.#findRecords(length);
    else {
      this.count = 1;
      this.flags = meta[5];
      // Only a single record has its strings before the payload.
      this.deviceAt = 0;
      this.deviceLength = this.kind === 0 ? meta[11] : 0;
      this.topicAt = this.deviceLength;
      this.topicLength = this.kind === 0 ? meta[10] : 0;
      this.payloadAt = this.topicAt + this.topicLength;
      this.payloadEnd = length;
    }
    const first = meta[9] ? AGAIN : NEW;
    for (let i = 0; i < this.count; i++) this.states[i] = first;
    this.tries.fill(0, 0, this.count);
    this.pending = this.count;
    this.open = this.count;
    this.refused = 0;
    this.next = 0;
    this.queued = false;
  }

  /** @param {number} length */
  #findRecords(length) {
    let count = 0;
    for (let at = 0; at < length; count++) {
      if (count === this.starts.length) this.#widen();
      this.starts[count] = at;
      this.#read(at);
      at = this.payloadEnd;
    }
    return count;
  }

  #widen() {
    const wider = this.starts.length * 2;
    const starts = new Uint32Array(wider);
    starts.set(this.starts);
    this.starts = starts;
    this.states = new Uint8Array(wider);
    this.tries = new Uint8Array(wider);
  }

  /** u8 flags, u8 device length - 1, u16 topic length, u32 payload length, device, topic, payload. @param {number} at */
  #read(at) {
    const b = this.buffer;
    this.flags = b[at];
    this.deviceLength = b[at + 1] + 1;
    this.topicLength = b[at + 2] | (b[at + 3] << 8);
    this.deviceAt = at + 8;
    this.topicAt = this.deviceAt + this.deviceLength;
    this.payloadAt = this.topicAt + this.topicLength;
    this.payloadEnd =
      this.payloadAt + ((b[at + 4] | (b[at + 5] << 8) | (b[at + 6] << 16) | (b[at + 7] << 24)) >>> 0);
  }

  /** @param {number} record */
  locate(record) {
    if (this.kind === RECORDS_KIND) this.#read(this.starts[record]);
  }

  /** The connection is gone: everything that was on the way is sent again. */
  rewind() {
    for (let i = 0; i < this.count; i++) {
      if (this.states[i] === SENT || this.states[i] === LATER) this.sendAgain(i);
    }
  }

  /** @param {number} record */
  sendAgain(record) {
    this.states[record] = AGAIN;
    this.pending++;
    if (record < this.next) this.next = record;
  }
}

exports.Slot = Slot;
exports.NEW = NEW;
exports.SENT = SENT;
exports.DONE = DONE;
exports.AGAIN = AGAIN;
exports.LATER = LATER;

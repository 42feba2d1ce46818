'use strict';

/** @typedef {import('./taken-batch').TakenBatch} TakenBatch */

const NO_BATCH = { isBacklog: false, isUrgent: false };

/**
 * The PUBLISH packets that are in flight: sent and not yet acknowledged.
 *
 * The room is min(configured, the broker's Receive Maximum) minus what is in flight and what waits to be sent again
 * after a refusal. A packet identifier is an index into flat arrays, so sending and acknowledging allocate nothing.
 *
 * If class 1 shares the session, its live records have a reserve: all other packets (also backlog of class 1) use only
 * the rest, so that an alarm finds a place no matter how slowly the broker answers. At least one place is always left
 * for the other packets, and a window of one has no reserve.
 */
class InFlightWindow {
  /**
   * @param {number} configured packets in flight at most, 1..1024
   * @param {number | null} [reserve] fraction of the window that only live records of class 1 may use, 0..1, at least
   *   one place; null = none
   */
  constructor(configured, reserve = null) {
    this.configured = configured;
    this.reserve = reserve;
    this.limit = configured;
    /** Limit while the broker refuses packets temporarily; see refusals.js. */
    this.ceiling = Infinity;
    this.inflight = 0;
    /** Refused packets that wait for their next try; they keep their place. */
    this.waiting = 0;
    /** Number of packets in flight or waiting that are backlog. */
    this.backlog = 0;
    /** Packets in flight, and packets waiting, that are not live records of class 1. */
    this.others = 0;
    this.othersWaiting = 0;
    /** @type {(TakenBatch | null)[]} */
    this.batches = new Array(configured + 1).fill(null);
    this.packets = new Uint32Array(configured + 1);
    this.sizes = new Uint32Array(configured + 1);
    this.isBacklog = new Uint8Array(configured + 1);
    this.isOther = new Uint8Array(configured + 1);
    this.sentAt = new Float64Array(configured + 1);
    this.serial = new Float64Array(configured + 1);
    this.busy = new Uint8Array(configured + 1);
    this.free = new Uint16Array(configured);
    /** Head of the ring of free identifiers. */
    this.firstFree = 0;
    this.lastSerial = 0;
    /** Highest serial number acknowledged on this connection. */
    this.ackedSerial = 0;
    this.reset();
  }

  /** [MQTT-3.3.4-9] At most the broker's Receive Maximum of QoS > 0 packets. @param {number} receiveMaximum */
  setLimit(receiveMaximum) {
    this.limit = Math.min(this.configured, receiveMaximum);
  }

  get room() {
    return Math.min(this.limit - this.waiting, this.ceiling) - this.inflight;
  }

  /** Returns the room for a live record of class 1, or for any other packet. @param {boolean} isUrgent */
  roomFor(isUrgent) {
    const { room, limit, ceiling } = this;
    if (isUrgent || this.reserve === null) return room;
    const places = Math.min(this.#placesOfOthers(limit) - this.othersWaiting, this.#placesOfOthers(ceiling));
    return Math.min(room, places - this.others);
  }

  /** @param {number} limit */
  #placesOfOthers(limit) {
    if (limit === Infinity) return limit;
    return Math.max(1, limit - Math.max(1, Math.floor(limit * /** @type {number} */ (this.reserve))));
  }

  /** Number of places that only live records of class 1 may use. */
  get reserved() {
    return this.reserve === null ? 0 : this.limit - this.#placesOfOthers(this.limit);
  }

  /** A refused packet starts waiting for its next try. @param {TakenBatch} batch */
  wait(batch) {
    this.waiting++;
    if (batch.isBacklog) this.backlog++;
    if (!batch.isUrgent) this.othersWaiting++;
  }

  /** A refused packet ends its wait. @param {TakenBatch} batch */
  endWait(batch) {
    this.waiting--;
    if (batch.isBacklog) this.backlog--;
    if (!batch.isUrgent) this.othersWaiting--;
  }

  /**
   * Takes a packet identifier. Identifiers rotate, which keeps a broker's log readable. REQUIRES: room > 0.
   * @param {TakenBatch} batch
   * @param {number} packet index in the batch
   * @param {number} size bytes
   * @param {number} now
   */
  open(batch, packet, size, now) {
    const id = this.free[this.firstFree];
    this.firstFree = (this.firstFree + 1) % this.configured;
    this.inflight++;
    this.busy[id] = 1;
    this.batches[id] = batch;
    this.packets[id] = packet;
    this.sizes[id] = size;
    this.isBacklog[id] = batch.isBacklog ? 1 : 0;
    this.backlog += this.isBacklog[id];
    this.isOther[id] = batch.isUrgent ? 0 : 1;
    this.others += this.isOther[id];
    this.sentAt[id] = now;
    this.serial[id] = ++this.lastSerial;
    return id;
  }

  /**
   * Adds a packet that is already in flight. Call it in the order of sending. REQUIRES: its identifier is free.
   * @param {number} id
   * @param {TakenBatch | null} batch of one packet; null: its batch is no longer ours
   * @param {number} size bytes
   * @param {number} sentAt
   */
  adopt(id, batch, size, sentAt) {
    const at = this.#placeOf(id);
    // An identifier in use is not in the ring, and the order of the free ones does not matter.
    this.free[at] = this.free[this.firstFree];
    this.free[this.firstFree] = id;
    this.open(/** @type {TakenBatch} */ (batch ?? NO_BATCH), 0, size, sentAt);
    this.batches[id] = batch;
  }

  /** @param {number} id free */
  #placeOf(id) {
    for (let i = 0; i < this.configured - this.inflight; i++) {
      const at = (this.firstFree + i) % this.configured;
      if (this.free[at] === id) return at;
    }
    throw new Error(`identifier ${id} is in flight already`);
  }

  /** True if the identifier is in flight. @param {number} id */
  isOpen(id) {
    return this.busy[id] === 1;
  }

  /** REQUIRES: isOpen(id). @param {number} id */
  close(id) {
    if (this.serial[id] > this.ackedSerial) this.ackedSerial = this.serial[id];
    this.busy[id] = 0;
    this.batches[id] = null;
    this.inflight--;
    this.backlog -= this.isBacklog[id];
    this.others -= this.isOther[id];
    this.free[(this.firstFree + this.configured - this.inflight - 1) % this.configured] = id;
  }

  /**
   * The batches are no longer ours, but their packets are still in flight: an identifier becomes free when it is
   * acknowledged.
   */
  abandon() {
    this.batches.fill(null);
    this.isBacklog.fill(0);
    this.waiting = 0;
    this.othersWaiting = 0;
    this.backlog = 0;
  }

  /** The connection is gone; all identifiers are free. */
  reset() {
    this.batches.fill(null);
    this.busy.fill(0);
    this.isBacklog.fill(0);
    this.isOther.fill(0);
    this.inflight = 0;
    this.waiting = 0;
    this.backlog = 0;
    this.others = 0;
    this.othersWaiting = 0;
    this.ackedSerial = 0;
    this.firstFree = 0;
    for (let i = 0; i < this.configured; i++) this.free[i] = i + 1;
  }

  /** Returns the packet that has been in flight longest, 0 = none. */
  oldest() {
    let oldest = 0;
    for (let id = 1; id <= this.configured; id++) {
      if (this.busy[id] && (oldest === 0 || this.serial[id] < this.serial[oldest])) oldest = id;
    }
    return oldest;
  }

  /** Returns the largest packet in flight, the one sent first if there are several; 0 = none. */
  largest() {
    let largest = 0;
    for (let id = 1; id <= this.configured; id++) {
      if (!this.busy[id]) continue;
      const more = largest === 0 ? 1 : this.sizes[id] - this.sizes[largest];
      if (more > 0 || (more === 0 && this.serial[id] < this.serial[largest])) largest = id;
    }
    return largest;
  }
}

exports.InFlightWindow = InFlightWindow;

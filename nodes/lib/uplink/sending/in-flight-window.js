'use strict';

/** @typedef {import('./taken-batch').Slot} Slot */

const NOBODY = { isBacklog: false, isUrgent: false };

/**
 * The PUBLISH packets that are in flight: sent and not yet acknowledged.
 *
 * Room is min(configured, the broker's Receive Maximum) less what is in flight and what waits to be sent again after a
 * refusal. A packet identifier is an index into flat arrays, so sending and acknowledging allocate nothing.
 *
 * Where class 1 shares the session, live records of it have a reserve: all others (its backlog too) fill what is left at most, so
 * that an alarm finds a place however slowly the broker answers. One place is for the others always, and a window of one has no reserve.
 */
class Window {
  /**
   * @param {number} configured packets in flight at most, 1..1024
   * @param {number | null} [reserve] part that only live records of class 1 may fill, 0..1, one place at least; null = none
   */
  constructor(configured, reserve = null) {
    this.configured = configured;
    this.reserve = reserve;
    this.limit = configured;
    /** What a broker that refuses for now is sent at once; see refusals.js. */
    this.ceiling = Infinity;
    this.inflight = 0;
    /** Packets that were refused and wait for their next try; they keep their place. */
    this.waiting = 0;
    /** Of those in flight and waiting, the ones that are backlog. */
    this.backlog = 0;
    /** Those in flight and those waiting that are not live records of class 1. */
    this.others = 0;
    this.othersWaiting = 0;
    /** @type {(Slot | null)[]} */
    this.slots = new Array(configured + 1).fill(null);
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
    /** Highest serial that was acknowledged on this connection. */
    this.ackedSerial = 0;
    this.reset();
  }

  /** [MQTT-3.3.4-9] Not more QoS > 0 packets than the broker's Receive Maximum. @param {number} receiveMaximum */
  setLimit(receiveMaximum) {
    this.limit = Math.min(this.configured, receiveMaximum);
  }

  get room() {
    return Math.min(this.limit - this.waiting, this.ceiling) - this.inflight;
  }

  /** Room for one that is a live record of class 1, or is not. @param {boolean} isUrgent */
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

  /** Places that only live records of class 1 may have. */
  get reserved() {
    return this.reserve === null ? 0 : this.limit - this.#placesOfOthers(this.limit);
  }

  /** A refused packet waits for its next try. @param {Slot} slot */
  wait(slot) {
    this.waiting++;
    if (slot.isBacklog) this.backlog++;
    if (!slot.isUrgent) this.othersWaiting++;
  }

  /** Its next try has come. @param {Slot} slot */
  endWait(slot) {
    this.waiting--;
    if (slot.isBacklog) this.backlog--;
    if (!slot.isUrgent) this.othersWaiting--;
  }

  /**
   * Takes a packet identifier. Identifiers rotate, which keeps a broker's log readable. REQUIRES: room > 0.
   * @param {Slot} slot @param {number} packet index in the slot @param {number} size bytes @param {number} now
   */
  open(slot, packet, size, now) {
    const id = this.free[this.firstFree];
    this.firstFree = (this.firstFree + 1) % this.configured;
    this.inflight++;
    this.busy[id] = 1;
    this.slots[id] = slot;
    this.packets[id] = packet;
    this.sizes[id] = size;
    this.isBacklog[id] = slot.isBacklog ? 1 : 0;
    this.backlog += this.isBacklog[id];
    this.isOther[id] = slot.isUrgent ? 0 : 1;
    this.others += this.isOther[id];
    this.sentAt[id] = now;
    this.serial[id] = ++this.lastSerial;
    return id;
  }

  /**
   * A packet that is in flight already, of those the one that was sent next. REQUIRES: its identifier is free.
   * @param {number} id @param {Slot | null} slot of one packet; null: its batch is no longer ours
   * @param {number} size bytes @param {number} sentAt
   */
  adopt(id, slot, size, sentAt) {
    const at = this.#placeOf(id);
    // Whoever holds an identifier is not in the ring, and the order of those that are does not matter.
    this.free[at] = this.free[this.firstFree];
    this.free[this.firstFree] = id;
    this.open(/** @type {Slot} */ (slot ?? NOBODY), 0, size, sentAt);
    this.slots[id] = slot;
  }

  /** @param {number} id free */
  #placeOf(id) {
    for (let i = 0; i < this.configured - this.inflight; i++) {
      const at = (this.firstFree + i) % this.configured;
      if (this.free[at] === id) return at;
    }
    throw new Error(`identifier ${id} is in flight already`);
  }

  /** False for an identifier that is not in flight. @param {number} id */
  isOpen(id) {
    return this.busy[id] === 1;
  }

  /** REQUIRES: isOpen(id). @param {number} id */
  close(id) {
    if (this.serial[id] > this.ackedSerial) this.ackedSerial = this.serial[id];
    this.busy[id] = 0;
    this.slots[id] = null;
    this.inflight--;
    this.backlog -= this.isBacklog[id];
    this.others -= this.isOther[id];
    this.free[(this.firstFree + this.configured - this.inflight - 1) % this.configured] = id;
  }

  /** The batches are no longer ours, but their packets are still on the way: an identifier is free when it is acknowledged. */
  abandon() {
    this.slots.fill(null);
    this.isBacklog.fill(0);
    this.waiting = 0;
    this.othersWaiting = 0;
    this.backlog = 0;
  }

  /** The connection is gone, and with it every identifier. */
  reset() {
    this.slots.fill(null);
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

  /** The packet that is longest in flight, 0 = none. */
  oldest() {
    let oldest = 0;
    for (let id = 1; id <= this.configured; id++) {
      if (this.busy[id] && (oldest === 0 || this.serial[id] < this.serial[oldest])) oldest = id;
    }
    return oldest;
  }

  /** The largest packet in flight, of several the one sent first; 0 = none. */
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

exports.Window = Window;

'use strict';

/** @typedef {import('./taken-batch').TakenBatch} TakenBatch */
/** @typedef {Pick<typeof import('../../../../native'), 'InFlightWindow'>} Native */

/**
 * The PUBLISH packets that are in flight: sent and not yet acknowledged. The engine keeps their places, which it also
 * uses on the express path; here are the batches that they belong to.
 *
 * The room is min(configured, the broker's Receive Maximum) minus what is in flight and what waits to be sent again
 * after a refusal.
 *
 * If class 1 shares the session, its live records have a reserve: all other packets (also backlog of class 1) use only
 * the rest, so that an alarm finds a place no matter how slowly the broker answers. At least one place is always left
 * for the other packets, and a window of one has no reserve.
 */
class InFlightWindow {
  #ceiling = Infinity;

  /**
   * @param {Native} native
   * @param {number} configured packets in flight at most, 1..1024
   * @param {number | null} [reserve] fraction of the window that only live records of class 1 may use, 0..1, at least
   *   one place; null = none
   */
  constructor(native, configured, reserve = null) {
    this.configured = configured;
    this.reserve = reserve;
    this.limit = configured;
    this.places = new native.InFlightWindow(configured, this.#reservedOf(configured));
    /** By packet identifier; null: no batch of ours. @type {(TakenBatch | null)[]} */
    this.batches = new Array(configured + 1).fill(null);
    /** Index of the packet in its batch. */
    this.packets = new Uint32Array(configured + 1);
    /** Bytes of the packet. */
    this.sizes = new Uint32Array(configured + 1);
  }

  /** @param {number} limit @returns {number} places of it that only live records of class 1 may use */
  #reservedOf(limit) {
    return this.reserve === null ? 0 : Math.max(1, Math.floor(limit * this.reserve));
  }

  /** [MQTT-3.3.4-9] At most the broker's Receive Maximum of QoS > 0 packets. @param {number} receiveMaximum */
  setLimit(receiveMaximum) {
    this.limit = Math.min(this.configured, receiveMaximum);
    this.places.setLimit(this.limit, this.#reservedOf(this.limit));
  }

  /** Places that packets other than live records of class 1 may use. */
  get othersLimit() {
    return Math.max(1, this.limit - this.#reservedOf(this.limit));
  }

  /** Limit while the broker refuses packets temporarily; Infinity = none. See refusals.js. */
  get ceiling() {
    return this.#ceiling;
  }

  set ceiling(ceiling) {
    this.#ceiling = ceiling;
    if (ceiling === Infinity) this.places.setCeiling(null, 0);
    else this.places.setCeiling(ceiling, this.#reservedOf(ceiling));
  }

  get room() {
    return this.places.room(true);
  }

  /** Returns the room for a live record of class 1, or for any other packet. @param {boolean} isUrgent */
  roomFor(isUrgent) {
    return this.places.room(isUrgent);
  }

  /** Number of packets in flight. */
  get inflight() {
    return this.places.inflight;
  }

  /** Number of refused packets that wait for their next try; they keep their place. */
  get waiting() {
    return this.places.waiting;
  }

  /** Number of packets in flight or waiting that are backlog. */
  get backlog() {
    return this.places.backlog;
  }

  /** A refused packet starts waiting for its next try. @param {TakenBatch} batch */
  wait(batch) {
    this.places.wait(batch.isUrgent, batch.isBacklog);
  }

  /** A refused packet ends its wait. @param {TakenBatch} batch */
  endWait(batch) {
    this.places.endWait(batch.isUrgent, batch.isBacklog);
  }

  /**
   * Takes a packet identifier. Identifiers rotate, which keeps a broker's log readable. Throws if there is no room.
   * @param {TakenBatch} batch
   * @param {number} packet index in the batch
   * @param {number} size bytes
   * @param {number} now
   * @returns {number}
   */
  open(batch, packet, size, now) {
    const id = this.places.open(batch.id, size, now, batch.isUrgent, batch.isBacklog);
    this.adopt(id, batch, packet, size);
    return id;
  }

  /**
   * Notes the batch of a packet that is in flight.
   * @param {number} id
   * @param {TakenBatch | null} batch null: it is no longer ours
   * @param {number} packet
   * @param {number} size bytes
   */
  adopt(id, batch, packet, size) {
    this.batches[id] = batch;
    this.packets[id] = packet;
    this.sizes[id] = size;
  }

  /** True if the identifier is in flight. @param {number} id */
  isOpen(id) {
    return this.places.isOpen(id);
  }

  /** REQUIRES: isOpen(id). @param {number} id */
  close(id) {
    this.places.close(id);
    this.batches[id] = null;
  }

  /**
   * The batches are no longer ours, but their packets are still in flight: an identifier becomes free when it is
   * acknowledged.
   */
  abandon() {
    this.batches.fill(null);
    this.places.abandon();
  }

  /** The connection is gone; all identifiers are free. */
  reset() {
    this.batches.fill(null);
    this.places.reset();
  }

  /** Returns the packet that has been in flight longest, 0 = none. */
  oldest() {
    return this.places.oldest();
  }

  /** Returns the largest packet in flight, the one sent first if there are several; 0 = none. */
  largest() {
    const { sizes } = this;
    let largest = 0;
    for (const id of this.places.ids()) if (largest === 0 || sizes[id] > sizes[largest]) largest = id;
    return largest;
  }
}

exports.InFlightWindow = InFlightWindow;

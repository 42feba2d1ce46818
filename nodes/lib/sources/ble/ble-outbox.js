'use strict';
// Records from the radio to the engine. The engine grants credit for a number of records. Others wait here, in order.
// An advertisement may be dropped for a newer one, as happens on the air, but a notification only as a last resort.

/** Records that may be in flight to the engine. */
const CREDIT = 256;
/**
 * Most waiting advertisements, and most waiting records. A busy radio sends 10,000 notifications of 20 bytes a minute.
 */
const MAX_ADVERTISEMENTS = 1000;
const MAX_WAITING = 10000;

/**
 * @typedef {object} BleRecord
 * @property {string} deviceId
 * @property {string} topic
 * @property {Buffer} payload
 * @property {number} ts ms since the epoch
 * @property {boolean} advertisement
 */

class Outbox {
  #send;
  #credit;
  #maxAdvertisements;
  #maxWaiting;
  /** @type {BleRecord[]} */
  #waiting;
  #advertisements;

  /**
   * @param {(records: BleRecord[]) => void} send
   * @param {{ credit?: number, maxAdvertisements?: number, maxWaiting?: number }} [limits]
   */
  constructor(send, limits = {}) {
    this.#send = send;
    this.#credit = limits.credit ?? CREDIT;
    this.#maxAdvertisements = limits.maxAdvertisements ?? MAX_ADVERTISEMENTS;
    this.#maxWaiting = limits.maxWaiting ?? MAX_WAITING;
    this.#waiting = [];
    this.#advertisements = 0;
    /** Advertisements dropped since the start. */
    this.advertisementsDropped = 0;
    this.valuesDropped = 0;
  }

  get size() {
    return this.#waiting.length;
  }

  /** @param {BleRecord} record */
  add(record) {
    if (this.#credit > 0 && this.#waiting.length === 0) {
      this.#credit--;
      this.#send([record]);
      return;
    }
    if (record.advertisement && this.#advertisements >= this.#maxAdvertisements) this.#dropAdvertisement();
    if (this.#waiting.length >= this.#maxWaiting) this.#makeRoom();
    this.#waiting.push(record);
    if (record.advertisement) this.#advertisements++;
  }

  /** @param {number} count records that the engine has accepted */
  give(count) {
    this.#credit += count;
    const records = this.#waiting.splice(0, this.#credit);
    if (records.length === 0) return;
    this.#credit -= records.length;
    for (const { advertisement } of records) if (advertisement) this.#advertisements--;
    this.#send(records);
  }

  #makeRoom() {
    if (this.#advertisements > 0) return this.#dropAdvertisement();
    this.#waiting.shift();
    this.valuesDropped++;
  }

  /** Drops the oldest one. */
  #dropAdvertisement() {
    const index = this.#waiting.findIndex(({ advertisement }) => advertisement);
    this.#waiting.splice(index, 1);
    this.#advertisements--;
    this.advertisementsDropped++;
  }
}

exports.Outbox = Outbox;

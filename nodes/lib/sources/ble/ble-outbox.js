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
  /**
   * @param {(records: BleRecord[]) => void} send
   * @param {{ credit?: number, maxAdvertisements?: number, maxWaiting?: number }} [limits]
   */
  constructor(send, limits = {}) {
    this.send_ = send;
    this.credit_ = limits.credit ?? CREDIT;
    this.maxAdvertisements_ = limits.maxAdvertisements ?? MAX_ADVERTISEMENTS;
    this.maxWaiting_ = limits.maxWaiting ?? MAX_WAITING;
    /** @type {BleRecord[]} */
    this.waiting_ = [];
    this.advertisements_ = 0;
    /** Advertisements dropped since the start. */
    this.advertisementsDropped = 0;
    this.valuesDropped = 0;
  }

  get size() {
    return this.waiting_.length;
  }

  /** @param {BleRecord} record */
  add(record) {
    if (this.credit_ > 0 && this.waiting_.length === 0) {
      this.credit_--;
      this.send_([record]);
      return;
    }
    if (record.advertisement && this.advertisements_ >= this.maxAdvertisements_) this.dropAdvertisement_();
    if (this.waiting_.length >= this.maxWaiting_) this.makeRoom_();
    this.waiting_.push(record);
    if (record.advertisement) this.advertisements_++;
  }

  /** @param {number} count records that the engine has accepted */
  give(count) {
    this.credit_ += count;
    const records = this.waiting_.splice(0, this.credit_);
    if (records.length === 0) return;
    this.credit_ -= records.length;
    for (const { advertisement } of records) if (advertisement) this.advertisements_--;
    this.send_(records);
  }

  makeRoom_() {
    if (this.advertisements_ > 0) return this.dropAdvertisement_();
    this.waiting_.shift();
    this.valuesDropped++;
  }

  /** Drops the oldest one. */
  dropAdvertisement_() {
    const index = this.waiting_.findIndex(({ advertisement }) => advertisement);
    this.waiting_.splice(index, 1);
    this.advertisements_--;
    this.advertisementsDropped++;
  }
}

exports.Outbox = Outbox;
exports.CREDIT = CREDIT;

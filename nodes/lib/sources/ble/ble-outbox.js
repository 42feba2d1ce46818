'use strict';
// Records on their way from the radio to the engine. The engine takes as many as it has given credit for; the others wait
// here, in order. An advertisement may be dropped for a newer one, as the air does; a notification only as the last resort.

/** Records that may be on their way to the engine. */
const CREDIT = 256;
/** Of advertisements that wait, and of everything. 10,000 notifications of 20 bytes are a minute of a busy radio. */
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
    /** Dropped since the start. */
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

  /** @param {number} count of records that the engine has taken */
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

  /** The oldest one. */
  dropAdvertisement_() {
    const index = this.waiting_.findIndex(({ advertisement }) => advertisement);
    this.waiting_.splice(index, 1);
    this.advertisements_--;
    this.advertisementsDropped++;
  }
}

exports.Outbox = Outbox;
exports.CREDIT = CREDIT;

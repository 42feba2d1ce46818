'use strict';

/** Sums of a class since the start of the thread. */
class ChannelCounters {
  constructor() {
    this.published = 0;
    /** Records in requests, and of these the records that an earlier request contained. */
    this.sent = 0;
    this.retried = 0;
    this.acknowledged = 0;
    this.bytesAcked = 0;
    this.redelivered = 0;
    this.failed = 0;
    this.deadLetters = 0;
    /** Times that a partition or topic refused its records. */
    this.refusals = 0;
  }

  /** Records go into a request. @param {import('./partition-queue').Item[]} items */
  send(items) {
    this.sent += items.length;
    for (const item of items) {
      if (item.wasSent) this.retried++;
      item.wasSent = true;
    }
  }

  /** Changes whenever a record is taken, sent, refused or acknowledged. */
  get moved() {
    return this.published + this.redelivered + this.sent + this.acknowledged + this.failed + this.refusals;
  }

  /** A batch was taken from the engine. @param {number} packets @param {boolean} wasGiven it was taken before */
  take(packets, wasGiven) {
    if (wasGiven) this.redelivered += packets;
    else this.published += packets;
  }

  /** @param {import('./partition-queue').Item} item */
  acknowledge({ bytes }) {
    this.acknowledged++;
    this.bytesAcked += bytes;
  }
}

exports.ChannelCounters = ChannelCounters;

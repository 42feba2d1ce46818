'use strict';

/** The bucket holds what may be sent in this time, so a late timer does not reduce the rate. */
const BURST_MS = 50;
/** Without a live batch for this long, the backlog need not leave more than one place for the next one. */
const STILL_MS = 5000;

/**
 * Limits the backlog's part of the uplink: a fraction of the window, and records per second. A batch is paid for when
 * it is taken. A batch that costs more than the bucket holds is taken too, and the next ones wait until the debt is
 * paid.
 */
class Pacer {
  /**
   * @param {{rate: number, share: number, now: () => number}} options records/s, 0 = no limit; share of the window
   *   0..1; ms
   */
  constructor({ rate, share, now }) {
    this.rate = rate;
    this.share = share;
    this.now = now;
    this.capacity = Math.max(1, (rate * BURST_MS) / 1000);
    this.tokens = this.capacity;
    this.at = now();
    this.liveAt = this.at;
  }

  /**
   * Returns how many backlog packets may be in flight: its share, or all but one if nothing live was sent lately. On a
   * link with a long round trip, a share of the window is a share of the time.
   * @param {number} limit of the window
   */
  places(limit) {
    const own = Math.max(1, Math.floor(limit * this.share));
    return this.now() - this.liveAt < STILL_MS ? own : Math.max(own, limit - 1);
  }

  /**
   * Call it for each batch that is taken. No timer ends the time without live batches, and none is needed: when the
   * backlog has used its share, packets are in flight, and each of their acknowledgements asks again.
   * @param {{ isBacklog: boolean, records: number }} batch
   */
  took({ isBacklog, records }) {
    if (isBacklog) this.spend(records);
    else this.liveAt = this.now();
  }

  /** Returns the time in ms that the next batch has to wait, 0 = it may be taken now. */
  waitMs() {
    if (this.rate === 0) return 0;
    const now = this.now();
    this.tokens = Math.min(this.capacity, this.tokens + ((now - this.at) * this.rate) / 1000);
    this.at = now;
    return this.tokens > 0 ? 0 : Math.max(1, Math.ceil((-this.tokens * 1000) / this.rate));
  }

  /** @param {number} records */
  spend(records) {
    this.tokens -= records;
  }
}

exports.Pacer = Pacer;

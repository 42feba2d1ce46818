'use strict';
// A token bucket for each device.

const MAX_DEVICES = 10000;

class RequestRates {
  #rate;
  #burst;

  /**
   * @param {number} rate records per second of one device, 0 = no limit
   * @param {number} burst records at one time, 0 = the records of one second
   */
  constructor(rate, burst) {
    this.#rate = rate;
    this.#burst = Math.max(1, burst || rate);
    /** Least recently used first. @type {Map<string, { tokens: number, at: number }>} */
    this.buckets = new Map();
  }

  /**
   * Takes tokens for all devices, or for none. A device with a full bucket may overdraw it, so that a large document
   * can pass.
   * @param {Map<string, number>} wanted records by device
   * @param {number} now ms
   * @returns {number} 0, or seconds until all devices may send
   */
  take(wanted, now) {
    if (this.#rate === 0) return 0;
    let waitS = 0;
    for (const device of wanted.keys())
      waitS = Math.max(waitS, (1 - this.#bucket(device, now).tokens) / this.#rate);
    if (waitS > 0) return waitS;
    for (const [device, count] of wanted) this.#bucket(device, now).tokens -= count;
    return 0;
  }

  /** @param {string} device @param {number} now */
  #bucket(device, now) {
    const bucket = this.buckets.get(device) ?? { tokens: this.#burst, at: now };
    bucket.tokens = Math.min(this.#burst, bucket.tokens + ((now - bucket.at) / 1000) * this.#rate);
    bucket.at = now;
    this.buckets.delete(device);
    this.buckets.set(device, bucket);
    for (const oldest of this.buckets.keys()) {
      if (this.buckets.size <= MAX_DEVICES) break;
      this.buckets.delete(oldest);
    }
    return bucket;
  }
}

exports.RequestRates = RequestRates;
exports.MAX_DEVICES = MAX_DEVICES;

'use strict';

/** How long the largest batch of a link may take on it. */
const BATCH_MS = 25;
const MIN_BATCH_BYTES = 1024;
const MAX_BATCH_BYTES = 65536;
/** Before anything is known of the link; the engine's own start is the same. */
const FIRST_BATCH_BYTES = 16384;
/** Of a batch with the broker's Maximum Packet Size, what topic, properties and key may take. */
const HEAD_BYTES = 512;
/** A sample has as much time and as many packets; a link that is slower than that has one packet and more time. */
const SAMPLE_MS = 500;
const SAMPLE_PACKETS = 4;
const SLOW_SAMPLE_MS = 5000;
const SMOOTHING = 4;
/** Shorter is the ebb and flow of a link that is fast enough. */
const LIMIT_MS = 100;
/** Nothing was held up by the link for so long: it may be faster now. */
const FREE_MS = 10000;

/**
 * How large the batches for a link should be: as many bytes as it carries in 25 ms, a power of two, so that what is urgent and
 * comes next does not wait long behind one. The rate is what is acknowledged while there is more to send than the link takes: at
 * any other time it would be the rate of the devices.
 */
class LinkRate {
  /** @param {() => number} now ms, monotonic */
  constructor(now) {
    this.now = now;
    /** m, in bytes, before the broker's limit. */
    this.bytes = FIRST_BATCH_BYTES;
    /** Bytes a second, smoothed; 0 = not known. */
    this.goodput = 0;
    this.isLimited = false;
    this.limitedSince = 0;
    /** When the link was last the limit. */
    this.limitedAt = now();
    this.sampleAt = 0;
    this.sampleBytes = 0;
    this.samplePackets = 0;
  }

  connected() {
    this.isLimited = false;
    this.limitedAt = this.now();
  }

  /** There is more to send than the link takes, or not: told at the end of each pump. @param {boolean} isLimited */
  limited(isLimited) {
    if (isLimited === this.isLimited) return;
    const now = this.now();
    if (isLimited) {
      this.limitedSince = now;
      this.#begin(now);
    } else {
      this.#sample(now);
      this.#note(now);
    }
    this.isLimited = isLimited;
  }

  /** A packet has arrived. @param {number} bytes */
  acknowledged(bytes) {
    if (!this.isLimited) return;
    this.sampleBytes += bytes;
    this.samplePackets++;
    this.#sample(this.now());
  }

  /** Call it each second while connected. @param {number} maximumPacketSize of the broker, 0 = none told @returns {number} m in bytes */
  update(maximumPacketSize) {
    const now = this.now();
    if (this.isLimited) this.#note(now);
    if (now - this.limitedAt >= FREE_MS) this.bytes = Math.min(MAX_BATCH_BYTES, this.bytes * 2);
    if (maximumPacketSize === 0) return this.bytes;
    return Math.max(MIN_BATCH_BYTES, Math.min(this.bytes, maximumPacketSize - HEAD_BYTES));
  }

  /** @param {number} now */
  #note(now) {
    if (now - this.limitedSince >= LIMIT_MS) this.limitedAt = now;
  }

  /** @param {number} now */
  #begin(now) {
    this.sampleAt = now;
    this.sampleBytes = 0;
    this.samplePackets = 0;
  }

  /** @param {number} now */
  #sample(now) {
    const ms = now - this.sampleAt;
    const isEnough = this.samplePackets >= SAMPLE_PACKETS ? ms >= SAMPLE_MS : ms >= SLOW_SAMPLE_MS;
    if (!isEnough || this.samplePackets === 0) return;
    const sample = (this.sampleBytes * 1000) / ms;
    this.goodput = this.goodput === 0 ? sample : this.goodput + (sample - this.goodput) / SMOOTHING;
    this.bytes = batchBytes(this.goodput);
    this.#begin(now);
  }
}

/** @param {number} goodput bytes a second */
function batchBytes(goodput) {
  const bytes = 2 ** Math.floor(Math.log2((goodput * BATCH_MS) / 1000));
  return Math.max(MIN_BATCH_BYTES, Math.min(MAX_BATCH_BYTES, bytes));
}

exports.LinkRate = LinkRate;

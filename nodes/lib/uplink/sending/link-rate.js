'use strict';

/** Time that the largest batch of a link may take on it. */
const BATCH_MS = 25;
const MIN_BATCH_BYTES = 1024;
const MAX_BATCH_BYTES = 65536;
/** Initial value; the engine starts with the same. */
const FIRST_BATCH_BYTES = 16384;
/** Bytes that topic, properties and key may take of a packet with the broker's Maximum Packet Size. */
const HEAD_BYTES = 512;
/** A sample covers this time and this many packets; on a slower link, one packet and more time. */
const SAMPLE_MS = 500;
const SAMPLE_PACKETS = 4;
const SLOW_SAMPLE_MS = 5000;
const SMOOTHING = 4;
/** Shorter periods are normal on a link that is fast enough. */
const LIMIT_MS = 100;
/** After this time without a limit by the link, the link may be faster now. */
const FREE_MS = 10000;

/**
 * The batch size for a link: the number of bytes that it carries in 25 ms, as a power of two, so that an urgent batch
 * does not wait long behind another. With compression, it is the size of the packet that counts. The rate is measured
 * from acknowledgements while there is more to send than the link carries: at any other time, it would be the rate of
 * the devices.
 */
class LinkRate {
  /** @param {() => number} now ms, monotonic */
  constructor(now) {
    this.now = now;
    /** What the link carries in 25 ms, before the broker's limit. */
    this.bytes = FIRST_BATCH_BYTES;
    /** The same, at most what the broker takes in a packet. */
    this.packetBytes = FIRST_BATCH_BYTES;
    /** Smoothed, in bytes per second; 0 = unknown. */
    this.goodput = 0;
    this.isLimited = false;
    this.limitedSince = 0;
    /** When the link was last the limit. */
    this.limitedAt = now();
    /** The same, of this object: -Infinity = never. */
    this.slowAt = -Infinity;
    /** Total time in which the link was the limit, ms, and what was acknowledged meanwhile, bytes. */
    this.busyMs = 0;
    this.busyBytes = 0;
    this.notedAt = 0;
    this.notedBytes = 0;
    this.sampleAt = 0;
    this.sampleBytes = 0;
    this.samplePackets = 0;
  }

  connected() {
    this.isLimited = false;
    this.limitedAt = this.now();
  }

  /** Call it at the end of each pump. @param {boolean} isLimited there is more to send than the link carries */
  limited(isLimited) {
    if (isLimited === this.isLimited) return;
    const now = this.now();
    if (isLimited) {
      this.limitedSince = this.notedAt = now;
      this.notedBytes = 0;
      this.#begin(now);
    } else {
      this.#sample(now);
      this.#note(now);
    }
    this.isLimited = isLimited;
  }

  /** A packet was acknowledged. @param {number} bytes */
  acknowledged(bytes) {
    if (!this.isLimited) return;
    this.notedBytes += bytes;
    this.sampleBytes += bytes;
    this.samplePackets++;
    this.#sample(this.now());
  }

  /**
   * Call it once a second while connected.
   * @param {number} maximumPacketSize of the broker, 0 = no limit
   * @param {number} [ratio] bytes of batches that a byte of their packets carries, at least 1
   * @returns {number} m in bytes, before compression. Compressed batches are larger only while the link is the limit:
   *   then records wait anyway. A batch that compresses less than expected is cut where its packet would be too large.
   */
  update(maximumPacketSize, ratio = 1) {
    const now = this.now();
    if (this.isLimited) this.#note(now);
    if (now - this.limitedAt >= FREE_MS) this.bytes = Math.min(MAX_BATCH_BYTES, this.bytes * 2);
    const most = maximumPacketSize === 0 ? MAX_BATCH_BYTES : maximumPacketSize - HEAD_BYTES;
    this.packetBytes = Math.max(MIN_BATCH_BYTES, Math.min(this.bytes, most));
    const isSlow = now - this.slowAt < FREE_MS;
    return isSlow ? Math.min(MAX_BATCH_BYTES, Math.floor(this.packetBytes * ratio)) : this.packetBytes;
  }

  /** @param {number} now */
  #note(now) {
    if (now - this.limitedSince < LIMIT_MS) return;
    this.limitedAt = this.slowAt = now;
    this.busyMs += now - this.notedAt;
    this.busyBytes += this.notedBytes;
    this.notedAt = now;
    this.notedBytes = 0;
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

/** @param {number} goodput bytes per second */
function batchBytes(goodput) {
  const bytes = 2 ** Math.floor(Math.log2((goodput * BATCH_MS) / 1000));
  return Math.max(MIN_BATCH_BYTES, Math.min(MAX_BATCH_BYTES, bytes));
}

exports.LinkRate = LinkRate;

'use strict';

const SMOOTHING = 4;
/** Fraction of the measured ratio that is used: the next batch may compress less. */
const MARGIN = 0.8;

/**
 * The bytes of batches that a byte of their packets carries: with compression several. Measured where the packets are
 * written, so it includes the batches that are not compressed, and topics and properties.
 */
class BatchRatio {
  #batches = 0;
  #packets = 0;
  #smoothed = 1;

  /** A packet was written. @param {number} batchBytes what it carries @param {number} packetBytes */
  written(batchBytes, packetBytes) {
    this.#batches += batchBytes;
    this.#packets += packetBytes;
  }

  /**
   * Call it once a second. The result falls at once and rises within seconds, because batches that are too large delay
   * others, and batches that are too small only cost bytes.
   * @returns {number} at least 1, in steps of a half
   */
  update() {
    if (this.#packets > 0) {
      const sample = this.#batches / this.#packets;
      const isWorse = sample < this.#smoothed;
      this.#smoothed = isWorse ? sample : this.#smoothed + (sample - this.#smoothed) / SMOOTHING;
      this.#batches = 0;
      this.#packets = 0;
    }
    return Math.max(1, Math.floor(this.#smoothed * MARGIN * 2) / 2);
  }
}

exports.BatchRatio = BatchRatio;

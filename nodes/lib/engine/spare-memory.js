'use strict';
// Decides when an engine returns memory that it no longer needs to the system. The C library keeps the memory of freed
// records for later ones. After an outage that is most of the memory budget.

/** Records of this many bytes must have left memory since the last release. */
const LEAST_BYTES = 4 * 2 ** 20;
/** Ticks without a backlog and without a large change: the load is steady again. */
const QUIET_TICKS = 10;

class SpareMemory {
  #release;
  /** Most bytes held since the last release. After the start, that of loading all modules counts as much. */
  #mostBytes = Infinity;
  #quietTicks = 0;

  /** @param {() => unknown} release returns free memory to the system; blocks for milliseconds */
  constructor(release) {
    this.#release = release;
  }

  /**
   * Call it once a second.
   * @param {{ heldBytes: number, backlogRecords: number[] }} stats of the engine
   */
  tick({ heldBytes, backlogRecords }) {
    this.#mostBytes = Math.max(this.#mostBytes, heldBytes);
    const isQuiet = backlogRecords.every((records) => records === 0) && heldBytes < LEAST_BYTES;
    this.#quietTicks = isQuiet ? this.#quietTicks + 1 : 0;
    if (this.#quietTicks < QUIET_TICKS || this.#mostBytes < 2 * LEAST_BYTES) return;
    this.#mostBytes = heldBytes;
    this.#quietTicks = 0;
    this.#release();
  }
}

exports.SpareMemory = SpareMemory;

'use strict';
// Decides when an engine returns memory that it no longer needs to the system. The C library keeps the memory of freed
// records for later ones. After an outage that is much of the memory budget, and what reading the backlog took.

/** Records of this many bytes must have left memory since the last release. */
const LEAST_BYTES = 4 * 2 ** 20;
/** Or a backlog of this many records must have been sent: they pass through memory in small parts. */
const LEAST_BACKLOG = 10000;
/** Ticks without a backlog and without a large change: the load is steady again. */
const QUIET_TICKS = 10;
/** While a backlog lasts, small lists of what is on disk stay between freed records: release this often. */
const BACKLOG_TICKS = 300;

class SpareMemory {
  #release;
  /** Most bytes held since the last release. After the start, that of loading all modules counts as much. */
  #mostBytes = Infinity;
  /** Longest backlog since the last release, records. */
  #mostBacklog = 0;
  #quietTicks = 0;
  /** Ticks with a long backlog since the last release. */
  #backlogTicks = 0;

  /**
   * @param {(hadBacklog: boolean) => unknown} release returns free memory to the system; blocks for milliseconds;
   *   hadBacklog: after an outage, and not in it or after a burst of records
   */
  constructor(release) {
    this.#release = release;
  }

  /** True if there is memory to return after some quiet seconds. */
  get isWaiting() {
    return this.#mostBytes >= 2 * LEAST_BYTES || this.#mostBacklog >= LEAST_BACKLOG;
  }

  /**
   * Call it once a second.
   * @param {{ heldBytes: number, backlogRecords: number[] }} stats of the engine
   */
  tick({ heldBytes, backlogRecords }) {
    const backlog = backlogRecords.reduce((sum, records) => sum + records, 0);
    this.#mostBytes = Math.max(this.#mostBytes, heldBytes);
    this.#mostBacklog = Math.max(this.#mostBacklog, backlog);
    this.#quietTicks = backlog === 0 && heldBytes < LEAST_BYTES ? this.#quietTicks + 1 : 0;
    this.#backlogTicks = backlog >= LEAST_BACKLOG ? this.#backlogTicks + 1 : 0;
    if (this.#backlogTicks >= BACKLOG_TICKS) {
      this.#backlogTicks = 0;
      this.#release(false);
    }
    if (this.#quietTicks < QUIET_TICKS || !this.isWaiting) return;
    const hadBacklog = this.#mostBacklog >= LEAST_BACKLOG;
    this.#mostBytes = heldBytes;
    this.#mostBacklog = 0;
    this.#quietTicks = 0;
    this.#release(hadBacklog);
  }
}

exports.SpareMemory = SpareMemory;

'use strict';
// Decides when an engine returns memory that it no longer needs to the system. The C library keeps the memory of freed
// records for later ones. After an outage that is much of the memory budget, and what reading the backlog took. A start
// and the end of an outage also use much of the program of Node.js that is not used afterwards.

/** Records of this many bytes must have left memory since the last release. */
const LEAST_BYTES = 4 * 2 ** 20;
/** Or a backlog of this many records must have been sent: they pass through memory in small parts. */
const LEAST_BACKLOG = 10000;
/** Ticks without a backlog and without a large change: the load is steady again. */
const QUIET_TICKS = 10;
/** More of them until the heaps were compacted, too, which uses pages of the program (compact-heap.js). */
const COMPACTED_TICKS = { start: 3, outage: 13 };
/** While a backlog lasts, small lists of what is on disk stay between freed records: release this often. */
const BACKLOG_TICKS = 300;

class SpareMemory {
  #release;
  #releaseProgram;
  /** Most bytes held since the last release. After the start, that of loading all modules counts as much. */
  #mostBytes = Infinity;
  /** Longest backlog since the last release, records. */
  #mostBacklog = 0;
  #quietTicks = 0;
  /** Ticks with a long backlog since the last release. */
  #backlogTicks = 0;
  /** Quiet ticks until pages of the program are released, 0 = they need not be. */
  #programTicks = QUIET_TICKS + COMPACTED_TICKS.start;

  /**
   * @param {(hadBacklog: boolean) => unknown} release returns free memory to the system; blocks for milliseconds;
   *   hadBacklog: after an outage, and not in it or after a burst of records
   * @param {() => unknown} releaseProgram takes the pages of the program out of memory that are not used again
   */
  constructor(release, releaseProgram) {
    this.#release = release;
    this.#releaseProgram = releaseProgram;
  }

  /** True if there is memory to return after some quiet seconds. */
  get isWaiting() {
    return this.#hasSpare || this.#programTicks > 0;
  }

  get #hasSpare() {
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
    if (this.#quietTicks > 0 && this.#programTicks > 0 && --this.#programTicks === 0) this.#releaseProgram();
    if (this.#quietTicks < QUIET_TICKS || !this.#hasSpare) return;
    const hadBacklog = this.#mostBacklog >= LEAST_BACKLOG;
    this.#mostBytes = heldBytes;
    this.#mostBacklog = 0;
    this.#quietTicks = 0;
    if (hadBacklog) this.#programTicks = COMPACTED_TICKS.outage;
    this.#release(hadBacklog);
  }
}

exports.SpareMemory = SpareMemory;

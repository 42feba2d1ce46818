'use strict';
// When the keeper looks at the size of the tenants' data. There is no quota of the file system, so a tenant can write
// more than its limit until the next look. The free space of the disk is read each second, which costs nothing: while
// it falls, the looks follow each other.

/** Time between two looks while nothing much is written. */
const DATA_MS = 30_000;
/** Time between two readings of the free space. */
const FREE_MS = 1000;
/** A look follows when the free space has fallen by this much since the last one. */
const STEP_BYTES = 4 << 20;
/** Pause after a look, in multiples of the time that it took. */
const PAUSE_FACTOR = 10;

class DataWatch {
  #clock;
  #look;
  #free;
  #cancel = () => {};
  #isClosed = false;
  /** Free space at the last look. */
  #freeBytes = NaN;
  #lookedAt;
  #mayLookAt = 0;

  /**
   * @param {object} parts
   * @param {import('../base/clock').Clock} parts.clock
   * @param {() => Promise<void>} parts.look compares the data of all running tenants with their limits; never rejects
   * @param {() => Promise<number>} [parts.free] bytes; without it, there are only the looks each 30 s
   */
  constructor({ clock, look, free }) {
    this.#clock = clock;
    this.#look = look;
    this.#free = free;
    this.#lookedAt = clock.now();
    this.#arm();
  }

  #arm() {
    this.#cancel = this.#clock.timer(this.#free ? FREE_MS : DATA_MS, async () => {
      await this.#tick();
      if (!this.#isClosed) this.#arm();
    });
  }

  async #tick() {
    const bytes = (await this.#free?.().catch(() => NaN)) ?? NaN;
    const now = this.#clock.now();
    // More space is free: others deleted something.
    if (!(bytes <= this.#freeBytes)) this.#freeBytes = bytes;
    const isWritten = this.#freeBytes - bytes >= STEP_BYTES && now >= this.#mayLookAt;
    if (!isWritten && now - this.#lookedAt < DATA_MS) return;
    this.#freeBytes = bytes;
    this.#lookedAt = now;
    await this.#look();
    const ended = this.#clock.now();
    this.#mayLookAt = ended + PAUSE_FACTOR * (ended - now);
  }

  close() {
    this.#isClosed = true;
    this.#cancel();
  }
}

exports.DataWatch = DataWatch;

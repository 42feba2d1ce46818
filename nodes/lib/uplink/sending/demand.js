'use strict';

/**
 * What a session that has room and nothing to send tells the engine: once, until something has come. Batches that wait for nothing
 * but their class's rate ring no doorbell when their time has come, so a timer looks for them.
 */
class Hunger {
  /** @param {{delay: (fn: () => void, ms: number) => void, now: () => number, schedule: () => void}} parts */
  constructor({ delay, now, schedule }) {
    this.delay = delay;
    this.now = now;
    this.schedule = schedule;
    this.isTold = false;
    /** When the next look is due. */
    this.lookAt = Infinity;
  }

  /** Something came, or may have come. */
  fed() {
    this.isTold = false;
  }

  /** Nothing live is ready. @param {import('./feeder').UplinkSource} source @param {boolean} isUp the engine was told so, and there is room */
  empty(source, isUp) {
    const wait = source.retryMs();
    if (wait >= 0) this.#lookIn(Math.max(1, wait));
    if (!isUp || this.isTold) return;
    this.isTold = true;
    source.hungry();
  }

  /** @param {number} ms */
  #lookIn(ms) {
    const at = this.now() + ms;
    // One that comes before is on its way; it looks again.
    if (at >= this.lookAt) return;
    this.lookAt = at;
    this.delay(() => {
      if (this.lookAt === at) this.lookAt = Infinity;
      this.schedule();
    }, ms);
  }
}

exports.Hunger = Hunger;

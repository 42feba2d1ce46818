'use strict';

/**
 * Tells the engine that a session has room and nothing to send. It does so once, until something arrives. Batches that
 * wait only for their class's rate ring no doorbell when they become ready, so a timer checks for them.
 */
class Demand {
  /** @param {{delay: (fn: () => void, ms: number) => void, now: () => number, schedule: () => void}} parts */
  constructor({ delay, now, schedule }) {
    this.delay = delay;
    this.now = now;
    this.schedule = schedule;
    this.isSent = false;
    /** When the next check is due. */
    this.checkAt = Infinity;
  }

  /** Something arrived, or may have arrived. */
  fed() {
    this.isSent = false;
  }

  /**
   * Call it when nothing live is ready.
   * @param {import('./feeder').UplinkSource} source
   * @param {boolean} isUp the engine knows that the session is up, and there is room
   */
  empty(source, isUp) {
    const wait = source.retryMs();
    if (wait >= 0) this.#checkIn(Math.max(1, wait));
    if (!isUp || this.isSent) return;
    this.isSent = true;
    source.demand();
  }

  /** @param {number} ms */
  #checkIn(ms) {
    const at = this.now() + ms;
    // An earlier check is pending; it checks again.
    if (at >= this.checkAt) return;
    this.checkAt = at;
    this.delay(() => {
      if (this.checkAt === at) this.checkAt = Infinity;
      this.schedule();
    }, ms);
  }
}

exports.Demand = Demand;

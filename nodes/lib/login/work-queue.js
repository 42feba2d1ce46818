'use strict';

/** Runs a limited number of jobs at a time, in order. A job that waited longer than its deadline is skipped. */
class WorkQueue {
  /**
   * @param {object} limits
   * @param {() => number} limits.atOnce called before each job
   * @param {number} limits.maxWaiting
   * @param {() => number} [limits.now] ms
   */
  constructor({ atOnce, maxWaiting, now = () => performance.now() }) {
    this.atOnce_ = atOnce;
    this.maxWaiting_ = maxWaiting;
    this.now_ = now;
    this.running_ = 0;
    /** @type {{ deadline: number, start: () => void, skip: () => void }[]} */
    this.waiting_ = [];
  }

  /**
   * @template T
   * @param {() => Promise<T>} work
   * @param {number} withinMs
   * @returns {Promise<T | undefined>} undefined: skipped, because there was no room or no time
   */
  run(work, withinMs) {
    if (this.waiting_.length >= this.maxWaiting_) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const start = () => {
        this.running_++;
        work()
          .finally(() => {
            this.running_--;
            this.next_();
          })
          .then(resolve, reject);
      };
      this.waiting_.push({ deadline: this.now_() + withinMs, start, skip: () => resolve(undefined) });
      this.next_();
    });
  }

  next_() {
    while (this.running_ < this.atOnce_()) {
      const first = this.waiting_.shift();
      if (!first) return;
      if (first.deadline < this.now_()) first.skip();
      else first.start();
    }
  }

  /** True if no job runs or waits. */
  get isIdle() {
    return this.running_ === 0 && this.waiting_.length === 0;
  }

  /** Skips all waiting jobs. */
  close() {
    for (const { skip } of this.waiting_.splice(0)) skip();
  }
}

exports.WorkQueue = WorkQueue;

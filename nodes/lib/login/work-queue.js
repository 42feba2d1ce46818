'use strict';

/** Runs a limited number of jobs at a time, in order. A job that waited longer than its deadline is skipped. */
class WorkQueue {
  #atOnce;
  #maxWaiting;
  #now;
  #running;
  /** @type {{ deadline: number, start: () => void, skip: () => void }[]} */
  #waiting;

  /**
   * @param {object} limits
   * @param {() => number} limits.atOnce called before each job
   * @param {number} limits.maxWaiting
   * @param {() => number} [limits.now] ms
   */
  constructor({ atOnce, maxWaiting, now = () => performance.now() }) {
    this.#atOnce = atOnce;
    this.#maxWaiting = maxWaiting;
    this.#now = now;
    this.#running = 0;
    this.#waiting = [];
  }

  /**
   * @template T
   * @param {() => Promise<T>} work
   * @param {number} withinMs
   * @returns {Promise<T | undefined>} undefined: skipped, because there was no room or no time
   */
  run(work, withinMs) {
    if (this.#waiting.length >= this.#maxWaiting) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const start = () => {
        this.#running++;
        work()
          .finally(() => {
            this.#running--;
            this.#next();
          })
          .then(resolve, reject);
      };
      this.#waiting.push({ deadline: this.#now() + withinMs, start, skip: () => resolve(undefined) });
      this.#next();
    });
  }

  #next() {
    while (this.#running < this.#atOnce()) {
      const first = this.#waiting.shift();
      if (!first) return;
      if (first.deadline < this.#now()) first.skip();
      else first.start();
    }
  }

  /** True if no job runs or waits. */
  get isIdle() {
    return this.#running === 0 && this.#waiting.length === 0;
  }

  /** Skips all waiting jobs. */
  close() {
    for (const { skip } of this.#waiting.splice(0)) skip();
  }
}

exports.WorkQueue = WorkQueue;

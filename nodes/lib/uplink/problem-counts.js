'use strict';

/** Counts the problems of an uplink thread by code, until it reports them. */
class ProblemCounts {
  /** @type {Map<string, { reason: string, count: number }>} */
  #problems = new Map();

  /** @param {string} code @param {string} reason the latest one is reported */
  add(code, reason) {
    this.#problems.set(code, { reason, count: (this.#problems.get(code)?.count ?? 0) + 1 });
  }

  get isEmpty() {
    return this.#problems.size === 0;
  }

  /** @returns {{ code: string, reason: string, count: number }[]} since the last call */
  take() {
    const all = [...this.#problems].map(([code, problem]) => ({ code, ...problem }));
    this.#problems.clear();
    return all;
  }
}

exports.ProblemCounts = ProblemCounts;

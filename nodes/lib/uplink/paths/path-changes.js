'use strict';

/** Records when each path last changed state, as seen by our own polling. Used where no watch reports it. */
class PathChanges {
  /** @param {() => number} [now] ms since 1970 */
  constructor(now = Date.now) {
    this.now = now;
    /** By name. @type {Map<string, {state: string, since: string}>} */
    this.last = new Map();
  }

  /**
   * @param {string} name
   * @param {string} state the present state
   * @returns {string} time of the last change, ISO 8601
   */
  since(name, state) {
    const before = this.last.get(name);
    if (before?.state === state) return before.since;
    const since = new Date(this.now()).toISOString();
    this.last.set(name, { state, since });
    return since;
  }
}

exports.PathChanges = PathChanges;

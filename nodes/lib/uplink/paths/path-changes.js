'use strict';

/** Since when each path is as it is, where nobody else tells: as far as it was looked at. */
class PathChanges {
  /** @param {() => number} [now] ms since 1970 */
  constructor(now = Date.now) {
    this.now = now;
    /** By name. @type {Map<string, {state: string, since: string}>} */
    this.last = new Map();
  }

  /** @param {string} name @param {string} state as it is now @returns {string} as in ISO 8601 */
  since(name, state) {
    const before = this.last.get(name);
    if (before?.state === state) return before.since;
    const since = new Date(this.now()).toISOString();
    this.last.set(name, { state, since });
    return since;
  }
}

exports.PathChanges = PathChanges;

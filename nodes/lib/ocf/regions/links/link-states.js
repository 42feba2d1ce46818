'use strict';
// What an operator wants to know of the links: since when each is up or down, and why it was last down.

/**
 * reason: why there was no link last, '' = there always was one. A word: what ended the link (see LinkHooks), timeout,
 * or a code of the system such as ECONNREFUSED; or a sentence.
 * @typedef {{ ci: string, isUp: boolean, since: number, reason: string }} LinkState since: ms since 1970
 */

const MOST_CHARACTERS = 200;

class LinkStates {
  #now;
  /** @type {Map<string, LinkState>} */
  #states = new Map();

  /** @param {() => number} [now] ms since 1970 */
  constructor(now = Date.now) {
    this.#now = now;
  }

  /** A link is wanted, and may be there already. @param {string} ci */
  wanted(ci) {
    if (!this.#states.has(ci)) this.#states.set(ci, { ci, isUp: false, since: this.#now(), reason: '' });
  }

  /** @param {string} ci */
  up(ci) {
    const { reason = '' } = this.#states.get(ci) ?? {};
    this.#states.set(ci, { ci, isUp: true, since: this.#now(), reason });
  }

  /** @param {string} ci @param {string} reason */
  lost(ci, reason) {
    this.#states.set(ci, { ci, isUp: false, since: this.#now(), reason });
  }

  /** An attempt to connect failed. @param {string} ci @param {Error | string} why */
  failed(ci, why) {
    const state = this.#states.get(ci);
    // The other side may have connected meanwhile.
    if (!state || state.isUp) return;
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (why);
    state.reason = (typeof why === 'string' ? why : (code ?? message)).slice(0, MOST_CHARACTERS);
  }

  /** There is no link, and none is wanted. @param {string} ci */
  forget(ci) {
    this.#states.delete(ci);
  }

  /** @returns {LinkState[]} by address */
  all() {
    return [...this.#states.values()].sort((a, b) => (a.ci < b.ci ? -1 : 1));
  }
}

exports.LinkStates = LinkStates;

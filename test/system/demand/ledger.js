'use strict';

/**
 * @typedef {{ device: string, by: string, forS: number }} Question
 * @typedef {{ sentAt: number, answeredAt: number, isAccepted: boolean, endsAt: number }} Entry endsAt: not before that
 */

/** What the gateway has promised: the questions that it accepted, until they end. Times are ms of one clock. */
class Ledger {
  /** By device and asker, whose newer question replaces the one before it. @type {Map<string, Entry[]>} */
  #entries = new Map();

  /**
   * Enters a question that is about to be sent: from now on it may replace the one before it.
   * @param {Question} question
   * @param {number} sentAt
   * @returns {(isAccepted: boolean) => void} to be called with the answer, or false if the gateway was killed: the
   *   question may be on disk then
   */
  enter({ device, by, forS }, sentAt) {
    const key = JSON.stringify([device, by]);
    /** @type {Entry} */
    const entry = { sentAt, answeredAt: Infinity, isAccepted: false, endsAt: sentAt + forS * 1000 };
    this.#entries.set(key, [...(this.#entries.get(key) ?? []), entry]);
    return (isAccepted) => {
      Object.assign(entry, { answeredAt: performance.now(), isAccepted });
      if (!isAccepted) return;
      // Questions that overlap may have been taken in any order.
      const others = (this.#entries.get(key) ?? []).filter(({ answeredAt }) => !(answeredAt < sentAt));
      this.#entries.set(key, others);
    };
  }

  /**
   * Returns the accepted questions that the gateway has lost.
   * @param {{ device: string, askers: string[] }[]} views of all devices, as the gateway shows them
   * @param {number} from before they were asked for
   * @param {number} at after that
   * @returns {string[]}
   */
  lost(views, from, at) {
    const askers = new Map(views.map((view) => [view.device, view.askers]));
    return this.#open(from, at).filter((key) => {
      const [device, by] = JSON.parse(key);
      return !askers.get(device)?.includes(by);
    });
  }

  /** Number of accepted questions that have not ended. @param {number} from @param {number} at as in lost() */
  open(from, at) {
    return this.#open(from, at).length;
  }

  /** @param {number} from @param {number} at */
  #open(from, at) {
    return [...this.#entries].flatMap(([key, entries]) => {
      const isOpen = entries.every(({ endsAt }) => endsAt > at);
      const isKept = entries.some(({ isAccepted, answeredAt }) => isAccepted && answeredAt < from);
      return isOpen && isKept ? [key] : [];
    });
  }
}

exports.Ledger = Ledger;

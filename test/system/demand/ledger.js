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
   * Enters a question whose asker has got an answer, or none because the gateway was killed: it may be on disk then.
   * @param {Question} question
   * @param {{ sentAt: number, answeredAt: number, isAccepted: boolean }} answer
   */
  enter({ device, by, forS }, { sentAt, answeredAt, isAccepted }) {
    const key = JSON.stringify([device, by]);
    const entry = { sentAt, answeredAt, isAccepted, endsAt: sentAt + forS * 1000 };
    // Questions that overlap may have been taken in any order.
    const others = (this.#entries.get(key) ?? []).filter(
      (other) => !isAccepted || !(other.answeredAt < sentAt)
    );
    this.#entries.set(key, [...others, entry]);
  }

  /**
   * Returns the accepted questions that the gateway has lost.
   * @param {{ device: string, askers: string[] }[]} views of all devices, as the gateway shows them
   * @param {number} at when they were asked for, at the latest
   * @returns {string[]}
   */
  lost(views, at) {
    const askers = new Map(views.map((view) => [view.device, view.askers]));
    return this.#open(at).filter((key) => {
      const [device, by] = JSON.parse(key);
      return !askers.get(device)?.includes(by);
    });
  }

  /** Number of accepted questions that cannot have ended. @param {number} at */
  open(at) {
    return this.#open(at).length;
  }

  /** @param {number} at */
  #open(at) {
    return [...this.#entries].flatMap(([key, entries]) => {
      const isOpen = entries.every(({ endsAt }) => endsAt > at);
      return isOpen && entries.some(({ isAccepted }) => isAccepted) ? [key] : [];
    });
  }
}

exports.Ledger = Ledger;

'use strict';

/** Lowest class, for starts without a waiting record. */
const LEAST_CLASS = 8;
/** This class has one additional start, because the others take about a second each and cannot be interrupted. */
const URGENT_CLASS = 1;

/**
 * @typedef {object} Turn a place in the line
 * @property {Promise<void>} granted rejects if it was given up first
 * @property {(priority: number) => void} urge moves it forward if this class is more urgent
 * @property {() => void} giveUp ends the wait; no effect once it is granted, because the start goes on until end()
 * @property {() => void} end gives it back, or gives it up
 */

/**
 * Lets a limited number of starts run at once, and one more of class 1. The others wait in order of their class, then
 * of their arrival.
 */
class Starts {
  #limit;
  #running = 0;
  /** @type {{ priority: number, order: number, grant: () => void }[]} */
  #waiting = [];
  #arrived = 0;

  /** @param {number} limit */
  constructor(limit) {
    this.#limit = limit;
  }

  get isBusy() {
    return this.#running + this.#waiting.length > 0;
  }

  get waiting() {
    return this.#waiting.length;
  }

  /** @param {number} priority class, 1 = the most urgent @returns {Turn} */
  take(priority) {
    let isHeld = false;
    let isOver = false;
    /** @type {() => void} */
    let refuse = () => {};
    const place = { priority, order: this.#arrived++, grant: () => {} };
    const granted = new Promise((/** @type {(value: void) => void} */ resolve, reject) => {
      place.grant = () => {
        isHeld = true;
        resolve();
      };
      refuse = () => reject(new Error('The start was given up.'));
    });
    granted.catch(() => {});
    this.#waiting.push(place);
    this.#next();
    const turn = {
      granted,
      urge: (/** @type {number} */ other) => {
        place.priority = Math.min(place.priority, other);
        this.#next();
      },
      end: () => {
        if (isOver) return;
        isOver = true;
        if (isHeld) this.#running--;
        else this.#waiting.splice(this.#waiting.indexOf(place), 1);
        refuse();
        this.#next();
      }
    };
    return { ...turn, giveUp: () => void (isHeld || turn.end()) };
  }

  #next() {
    while (this.#waiting.length > 0) {
      const best = this.#waiting.reduce((a, b) =>
        b.priority < a.priority || (b.priority === a.priority && b.order < a.order) ? b : a
      );
      if (this.#running >= this.#limit + (best.priority <= URGENT_CLASS ? 1 : 0)) return;
      this.#waiting.splice(this.#waiting.indexOf(best), 1);
      this.#running++;
      best.grant();
    }
  }
}

exports.Starts = Starts;
exports.LEAST_CLASS = LEAST_CLASS;

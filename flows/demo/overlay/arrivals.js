'use strict';
// The records that arrive at the broker: which, when, and how long none came.

class Arrivals {
  /** @type {Set<number>} */
  #numbers = new Set();
  /** Times of packets, ms since 1970. @type {number[]} */
  #times = [];
  #most = 0;
  repeated = 0;
  /** MQTT connections to the broker. */
  connections = 0;

  /** @param {{ numbers: number[], at: number }} packet */
  add({ numbers, at }) {
    this.#times.push(at);
    for (const number of numbers) {
      if (this.#numbers.has(number)) this.repeated++;
      this.#numbers.add(number);
      this.#most = Math.max(this.#most, number);
    }
  }

  get count() {
    return this.#numbers.size;
  }

  /** Records that are missing before the latest one. */
  get missing() {
    return this.#most - this.#numbers.size;
  }

  /** The time of the first packet, null = none. @returns {number | null} */
  get first() {
    return this.#times[0] ?? null;
  }

  /** @param {number} from ms since 1970 @param {number} to @returns {number} ms without a packet, the longest time */
  longestPause(from, to) {
    const times = [from, ...this.#times.filter((time) => time > from && time < to), to];
    return Math.max(...times.slice(1).map((time, index) => time - times[index]));
  }
}

exports.Arrivals = Arrivals;

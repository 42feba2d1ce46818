'use strict';
// Sources that can read a device at an interval on demand, beside what they do anyway. Each offers its devices here.

/**
 * @typedef {(everyMs: number) => () => void} StartReading begins to read the device; returns what ends it. Its values
 *   are ordinary records
 */

class DeviceReaders {
  /** @type {Map<string, Set<StartReading>>} by device */
  #offers = new Map();
  /** Gets a device whose readers have changed. @type {(device: string) => void} */
  onChange = () => {};

  /**
   * @param {string} device
   * @param {StartReading} start
   * @returns {() => void} withdraws the offer; what it has started must have ended
   */
  offer(device, start) {
    const offers = this.#offers.get(device) ?? new Set();
    this.#offers.set(device, offers.add(start));
    this.onChange(device);
    return () => {
      offers.delete(start);
      if (offers.size === 0 && this.#offers.get(device) === offers) this.#offers.delete(device);
      this.onChange(device);
    };
  }

  /** @param {string} device */
  has(device) {
    return this.#offers.has(device);
  }

  /**
   * @param {string} device
   * @param {number} everyMs
   * @returns {() => void} ends the reading
   */
  start(device, everyMs) {
    const ends = [...(this.#offers.get(device) ?? [])].map((start) => start(everyMs));
    return () => {
      for (const end of ends) end();
    };
  }
}

exports.DeviceReaders = DeviceReaders;

'use strict';
// The records still owed during a run: acknowledged to a device and not yet acknowledged by the cloud.

const { nameOf } = require('./history');

class Progress {
  /** @param {import('./history').History} history */
  constructor(history) {
    this.history = history;
    this.events = 0;
    this.arrivals = 0;
    /** Arrivals whose PUBACK had not been passed on at the last check. @type {import('./history').Arrival[]} */
    this.waiting = [];
    this.delivered = new Set();
    this.owed = new Set();
  }

  /** @returns {number} records that are owed now */
  look() {
    const { devices, arrivals } = this.history;
    const fresh = [...this.waiting, ...arrivals.slice(this.arrivals)];
    this.arrivals = arrivals.length;
    this.waiting = fresh.filter(({ passed }) => !passed);
    for (const arrival of fresh) {
      if (!arrival.passed) continue;
      this.delivered.add(nameOf(arrival));
      this.owed.delete(nameOf(arrival));
    }
    for (; this.events < devices.length; this.events += 1) {
      const event = devices[this.events];
      if (event.type === 'ack' && !this.delivered.has(nameOf(event))) this.owed.add(nameOf(event));
    }
    return this.owed.size;
  }
}

module.exports = { Progress };

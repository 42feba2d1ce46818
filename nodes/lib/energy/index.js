'use strict';

const { Machine } = require('./machine');
const { EnergyShare } = require('./share');

/** @typedef {import('./share').EnergyView} EnergyView */

/** The one that we run on. */
const machine = new Machine();

/** What the machine takes beside one uplink. */
class EnergyWatch {
  /** @param {Machine} [of] */
  constructor(of = machine) {
    this.machine = of;
    this.share = new EnergyShare();
    /** @type {(() => void) | null} */
    this.end = null;
  }

  /** About once a second. @param {number} bytes that the broker has confirmed so far @returns {EnergyView | null} */
  follow(bytes) {
    this.end ??= this.machine.use();
    return this.share.add(this.machine.taken, bytes);
  }

  stop() {
    this.end?.();
    this.end = null;
    this.share = new EnergyShare();
  }
}

module.exports = { EnergyWatch };

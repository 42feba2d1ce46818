'use strict';

const { Machine } = require('./machine');
const { EnergyShare } = require('./share');

/** @typedef {import('./share').EnergyView} EnergyView */

/** This machine. */
const machine = new Machine();

/** Measures the energy use of the machine in relation to one uplink. */
class EnergyWatch {
  /** @param {Machine} [measured] */
  constructor(measured = machine) {
    this.machine = measured;
    this.share = new EnergyShare();
    /** @type {(() => void) | null} */
    this.end = null;
  }

  /**
   * Call it about once a second.
   * @param {number} bytes that the broker has confirmed so far
   * @returns {EnergyView | null}
   */
  follow(bytes) {
    this.end ??= this.machine.use();
    return this.share.add(this.machine.consumption, bytes);
  }

  stop() {
    this.end?.();
    this.end = null;
    this.share = new EnergyShare();
  }
}

module.exports = { EnergyWatch };

'use strict';
// Devices that publish at a rate, each record once, repeated until it is acknowledged.

const { eventually } = require('../../../bench/harness/net');
const { seeded } = require('../../fixtures/random');
const { Device } = require('./devices/device');
const { hashOf, payloadOf } = require('./devices/payload');

const TICK_MS = 10;
/** The number of ten records with class 1, 2, 3, 4. */
const MIX = [1, 2, 2, 3, 3, 3, 3, 4, 4, 4];

class Fleet {
  /**
   * @param {object} options
   * @param {number} options.port
   * @param {number} options.devices
   * @param {number} options.rate records a second, all together
   * @param {import('./devices/payload').Shape} options.shape @param {import('./history').History} options.history
   * @param {() => number} options.clock
   */
  constructor({ port, devices, rate, shape, history, clock }) {
    this.rate = rate;
    const { integer } = seeded(shape.seed ^ 0x5e6a);
    this.integer = integer;
    /** @type {NodeJS.Timeout | undefined} */
    this.timer = undefined;
    this.devices = Array.from({ length: devices }, (_, i) => {
      const id = `dev-${String(i).padStart(3, '0')}`;
      return new Device({
        id,
        port,
        clock,
        maxUnacked: 200,
        payloadOf: (recordClass, n) => {
          const payload = payloadOf(shape, id, recordClass, n);
          return { payload, hash: hashOf(payload) };
        },
        log: (event) => history.devices.push(event),
        onProblem: (what, text) => history.findings.push({ what, text })
      });
    });
  }

  async connect() {
    for (const device of this.devices) device.connect();
    const what = 'every device connected';
    await eventually(() => this.devices.every(({ isConnected }) => isConnected), { timeoutMs: 15000, what });
  }

  /** Starts to publish. */
  start() {
    let due = 0;
    let last = performance.now();
    this.timer = setInterval(() => {
      const now = performance.now();
      // Devices that could not send for a while do not catch up.
      due = Math.min(due + ((now - last) / 1000) * this.rate, this.rate / 10 + 1);
      last = now;
      for (; due >= 1; due -= 1) {
        const device = this.devices[this.integer(this.devices.length)];
        device.publish(MIX[this.integer(MIX.length)]);
      }
    }, TICK_MS);
  }

  /** Stops new records; those without a PUBACK are still repeated. */
  quiet() {
    clearInterval(this.timer);
  }

  /** One record of each class. */
  nudge() {
    for (const recordClass of [1, 2, 3, 4]) this.devices[0].publish(recordClass);
  }

  get unacked() {
    return this.devices.reduce((total, { unacked }) => total + unacked.size, 0);
  }

  stop() {
    this.quiet();
    for (const device of this.devices) device.stop();
  }
}

module.exports = { Fleet };

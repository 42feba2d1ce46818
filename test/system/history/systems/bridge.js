'use strict';
// mosquitto as a store-and-forward gateway: its bridge to the cloud, with persistence. It shows whether the checker
// detects real losses.

const { startMosquitto } = require('../../../../bench/harness/cloud');
const { ProcessSystem } = require('./process');

class BridgeSystem extends ProcessSystem {
  /** @param {any} options @param {string[]} persistence lines of its configuration */
  constructor(options, persistence) {
    super(options);
    this.persistence = persistence;
  }

  prepare() {}

  spawn() {
    const lines = [
      'log_dest stderr',
      'log_type error',
      'log_type notice',
      'persistence true',
      `persistence_location ${this.home}/`,
      ...this.persistence,
      `listener ${this.devicePort} 127.0.0.1`,
      'connection cloud',
      `address 127.0.0.1:${this.uplinkPort}`,
      'remote_clientid bridge',
      'cleansession false',
      'restart_timeout 1 1',
      'notifications false',
      'topic d/# out 1'
    ];
    return [startMosquitto(this.home, 'bridge', lines)];
  }
}

module.exports = { BridgeSystem };

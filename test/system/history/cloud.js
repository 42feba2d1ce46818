'use strict';
// The cloud's broker: a mosquitto without persistence, so every restart has forgotten the gateway's session.

const { startMosquitto } = require('../../../bench/harness/cloud');
const { waitForPort } = require('../../../bench/harness/net');

class CloudBroker {
  /** @param {string} folder @param {number} port */
  constructor(folder, port) {
    this.folder = folder;
    this.port = port;
    this.output = '';
    /** @type {import('../../../bench/harness/child').Child | undefined} */
    this.child = undefined;
  }

  async start() {
    const lines = [
      'max_inflight_messages 0',
      'persistence false',
      'log_dest stderr',
      `listener ${this.port} 127.0.0.1`
    ];
    const child = startMosquitto(this.folder, 'cloud', lines);
    this.child = child;
    await waitForPort(this.port, '127.0.0.1', 10000, () => Boolean(child.exit));
    if (child.exit) throw new Error(`mosquitto ended at once: ${child.output}`);
  }

  /** @param {NodeJS.Signals} [signal] */
  async stop(signal = 'SIGTERM') {
    const { child } = this;
    this.child = undefined;
    if (!child) return;
    await child.stop(signal);
    this.output += child.output;
  }
}

module.exports = { CloudBroker };

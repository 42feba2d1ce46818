'use strict';
// A cloud that acknowledges a batch only when the test calls it. It reads an uplink of the engine in this thread.

const { EventEmitter } = require('node:events');
const native = require('../../../native');

class HeldCloud {
  constructor() {
    /** Payloads that arrived, as text. @type {string[]} */
    this.arrived = [];
    this.isOpen = true;
    /** @type {(() => void)[]} */
    this.held = [];
  }

  /** Acknowledges what arrived, and everything from now on. */
  open() {
    this.isOpen = true;
    for (const release of this.held.splice(0)) release();
  }

  /** The class that takes the place of the uplink thread. */
  get Thread() {
    const cloud = this;
    return class extends EventEmitter {
      setStages() {}
      attach(token, uplink) {
        this.source = new native.UplinkSource(token, uplink, () => this.pull());
        this.source.connected(true);
        this.pull();
      }
      pull() {
        const into = Buffer.alloc(65536);
        const meta = new Float64Array(16);
        for (let n = this.source.take(into, meta); n >= 0; n = this.source.take(into, meta)) {
          cloud.arrived.push(into.toString('utf8', meta[10] + meta[11], n));
          const id = meta[0];
          const release = () => this.source.release(id);
          if (cloud.isOpen) release();
          else cloud.held.push(release);
        }
      }
      async stop() {
        this.source.close();
      }
    };
  }
}

module.exports = { HeldCloud, native };

'use strict';
// An uplink thread that reads the real engine in this thread, so that the published data can be compared.

const { EventEmitter } = require('node:events');

// `npm install` builds the addon: where it cannot be loaded, these tests fail and report the reason.
const native = require('../../../native');

/** Lines of envelopes, as [class, device, topic, sequence, payload]; a test empties it. @type {any[][]} */
const lines = [];

/** Acknowledges at once all batches that the engine has ready. */
class Puller extends EventEmitter {
  setStages() {}
  attach(token, uplink) {
    this.source = new native.UplinkSource(token, uplink, () => this.pull());
    this.pull();
  }
  pull() {
    const into = Buffer.alloc(65536);
    const meta = new Float64Array(16);
    for (let length = this.source.take(into, meta); length >= 0; length = this.source.take(into, meta)) {
      const text = into.toString('utf8', meta[4] === 0 ? 0 : meta[10] + meta[11], length);
      for (const line of text.split('\n').filter(Boolean)) {
        const { c, d, t, s, p } = JSON.parse(line);
        lines.push([c, d, t, s, p]);
      }
      this.source.release(meta[0]);
    }
  }
  async stop() {
    this.source.close();
  }
}

module.exports = { native, Puller, lines };

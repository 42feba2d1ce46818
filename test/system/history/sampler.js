'use strict';
// Reads the gateway's memory, disk and counters every half second.

const fs = require('node:fs');
const path = require('node:path');

const EVERY_MS = 500;

/** @param {string} folder @returns {number} bytes of all files in it */
function bytesIn(folder) {
  let total = 0;
  let entries;
  try {
    entries = fs.readdirSync(folder, { withFileTypes: true });
  } catch {
    return 0;
  }
  for (const entry of entries) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) total += bytesIn(file);
    else total += fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  }
  return total;
}

class Sampler {
  /** @param {{system: any, logFolder: string, history: import('./history').History, clock: () => number}} options */
  constructor({ system, logFolder, history, clock }) {
    this.system = system;
    this.logFolder = logFolder;
    this.history = history;
    this.clock = clock;
    /** The latest counters of the present engine. @type {any} */
    this.latest = null;
    this.timer = setInterval(() => void this.look(), EVERY_MS);
  }

  async look() {
    const { history, system } = this;
    const { rssBytes } = system;
    if (rssBytes > 0)
      history.samples.push({ time: this.clock(), rssBytes, diskBytes: bytesIn(this.logFolder) });
    const incarnation = system.incarnation;
    const stats = await system.stats();
    if (!stats || incarnation !== system.incarnation) return null;
    // A deploy may have made another engine in the same process.
    if (this.latest && stats.counters.bytesReceived < this.latest.counters.bytesReceived) this.ended();
    this.latest = stats;
    return stats;
  }

  /** The engine is gone: its counters are kept. */
  ended() {
    if (this.latest) this.history.stats.push(this.latest);
    this.latest = null;
  }

  stop() {
    clearInterval(this.timer);
  }
}

module.exports = { Sampler };

'use strict';
// Runs in a tenant, behind unbatch: stores each record, and notes what arrived.

const fs = require('node:fs');

/** What is stored of a record. The file is short, so that only a filled volume is full. */
const BLOCK = Buffer.alloc(4096, 'x');
const MOST_BYTES = 256 * 1024;

/**
 * @param {{arrived: string, volume: string, delay: string}} places arrived: file of lines; volume: folder, which may be
 *   full; delay: file with the time that a record stays in the flow, ms
 * @returns {(msg: any) => Promise<void>} rejects if the record cannot be stored
 */
module.exports = function receiver({ arrived, volume, delay }) {
  const notes = fs.openSync(arrived, 'a');
  const store = fs.openSync(`${volume}/store`, 'w');
  let at = 0;
  return async ({ deviceId: d, topic: t, payload: p, priority: c, batch }) => {
    const line = { d, t, p, c, key: batch.key, i: batch.index, h: batch.historical, pid: process.pid };
    /** @type {Error | null} */
    let error = null;
    try {
      fs.writeSync(store, BLOCK, 0, BLOCK.length, at);
      at = (at + BLOCK.length) % MOST_BYTES;
      if (at === 0) fs.ftruncateSync(store, 0);
    } catch (problem) {
      error = /** @type {Error} */ (problem);
    }
    // One write a line: a process that is killed leaves whole lines.
    fs.writeSync(notes, `${JSON.stringify({ ...line, ...(error && { failed: error.message }) })}\n`);
    if (error) throw error;
    const ms = Number(fs.readFileSync(delay, 'utf8'));
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
  };
};

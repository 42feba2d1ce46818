'use strict';
// The end of an engine, first half: nothing new comes in, and what is held leaves while there is time.

const POLL_MS = 50;

/**
 * @param {Pick<import('../../native/index.js').Engine, 'flush' | 'stats'>} engine reading is stopped already
 * @param {{ size: number, run: () => void }} inbox
 * @param {number} timeoutMs
 * @param {number} [pollMs]
 * @returns {Promise<boolean>} true when nothing is held any more
 */
async function drain(engine, inbox, timeoutMs, pollMs = POLL_MS) {
  const until = performance.now() + timeoutMs;
  for (;;) {
    inbox.run();
    // Again at each turn: records that waited for room, or ran on message wires, open new batches.
    engine.flush(0);
    if (inbox.size === 0 && engine.stats().heldRecords.every((count) => !count)) return true;
    if (performance.now() >= until) return false;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

module.exports = { drain };

'use strict';

/**
 * Waits until a tenant accepts, or ends, or takes too long.
 * @param {object} parts
 * @param {(signal: AbortSignal) => Promise<void>} parts.accepts
 * @param {Promise<{ reason: string }>} parts.ended
 * @param {import('../../base/clock').Clock} parts.clock
 * @param {number} parts.limitMs
 * @param {AbortSignal} parts.signal gives up
 */
async function whenReady({ accepts, ended, clock, limitMs, signal }) {
  const over = new AbortController();
  let cancel = () => {};
  const late = new Promise((_, reject) => {
    cancel = clock.timer(limitMs, () => reject(new Error(`accepts no connection after ${limitMs / 1000} s`)));
    signal.addEventListener('abort', () => reject(new Error('was stopped')));
    if (signal.aborted) reject(new Error('was stopped'));
  });
  const end = ended.then(({ reason }) => Promise.reject(new Error(reason)));
  try {
    await Promise.race([accepts(over.signal), end, late]);
  } finally {
    // An unhandled rejection of this promise must not end the process.
    end.catch(() => {});
    over.abort();
    cancel();
  }
}

exports.whenReady = whenReady;

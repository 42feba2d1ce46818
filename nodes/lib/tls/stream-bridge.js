'use strict';
// Connects a device's stream and the engine's socket, with back-pressure in both directions.

/** Time for the remaining bytes after the other side has closed. */
const LINGER_MS = 10000;

/**
 * @param {import('node:stream').Duplex} far
 * @param {import('node:stream').Duplex} near
 * @param {number} [lingerMs]
 */
function bridge(far, near, lingerMs = LINGER_MS) {
  // pipe() passes on an end in each direction separately, so half-closed connections stay half-closed.
  far.pipe(near);
  near.pipe(far);
  follow(far, near, lingerMs);
  follow(near, far, lingerMs);
}

/**
 * Closes `other` after `one` has closed, once its pending bytes are written.
 * @param {import('node:stream').Duplex} one
 * @param {import('node:stream').Duplex} other
 * @param {number} lingerMs
 */
function follow(one, other, lingerMs) {
  // The 'close' event that follows is enough.
  one.on('error', () => {});
  one.on('close', () => {
    if (other.destroyed) return;
    other.unpipe(one);
    // Read and discard, because otherwise its end would never be detected.
    other.resume();
    other.end();
    const timer = setTimeout(() => other.destroy(), lingerMs);
    other.once('close', () => clearTimeout(timer));
  });
}

exports.bridge = bridge;

'use strict';
// Joins a device's stream and the engine's end of it, each with the back-pressure of the other.

/** What the slower side may take for the rest of the bytes once the other is gone. */
const LINGER_MS = 10000;

/**
 * @param {import('node:stream').Duplex} far
 * @param {import('node:stream').Duplex} near
 * @param {number} [lingerMs]
 */
function bridge(far, near, lingerMs = LINGER_MS) {
  // An end is passed on by pipe(), in either direction for itself: half-closed connections stay half-closed.
  far.pipe(near);
  near.pipe(far);
  follow(far, near, lingerMs);
  follow(near, far, lingerMs);
}

/**
 * When `one` is gone, `other` goes too, after what it has to write yet.
 * @param {import('node:stream').Duplex} one
 * @param {import('node:stream').Duplex} other
 * @param {number} lingerMs
 */
function follow(one, other, lingerMs) {
  // A reset has nothing to tell that the close does not.
  one.on('error', () => {});
  one.on('close', () => {
    if (other.destroyed) return;
    other.unpipe(one);
    // Read and thrown away, else its end would never be seen.
    other.resume();
    other.end();
    const timer = setTimeout(() => other.destroy(), lingerMs);
    other.once('close', () => clearTimeout(timer));
  });
}

exports.bridge = bridge;

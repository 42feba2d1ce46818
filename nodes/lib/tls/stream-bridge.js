'use strict';
// Connects a device's stream and the engine's socket, with back-pressure in both directions.

/** Time for the remaining bytes after the other side has closed. */
const LINGER_MS = 10000;
/**
 * A connection is closed when its device has taken nothing of what waits for it for this long, or up to twice as long:
 * while the engine's stream is paused, the end that follows would not be detected. A device that is only slow stays. It
 * must take one of the waiting chunks, of at most 64 KiB, in this time.
 */
const STALL_MS = 300000;

/**
 * @param {import('node:stream').Duplex} far of the device
 * @param {import('node:stream').Duplex} near of the engine
 * @param {{ lingerMs?: number, stallMs?: number }} [limits]
 */
function bridge(far, near, { lingerMs = LINGER_MS, stallMs = STALL_MS } = {}) {
  // pipe() passes on an end in each direction separately: a device may end its own and still receive.
  far.pipe(near);
  near.pipe(far);
  follow(far, near, lingerMs);
  follow(near, far, lingerMs);
  const close = () => {
    far.destroy();
    near.destroy();
  };
  // The engine ends only what it is done with, and has closed its side: a device that does not close its own must not
  // keep the connection.
  near.once('end', () => {
    if (far.destroyed) return;
    const timer = setTimeout(close, lingerMs);
    far.once('close', () => clearTimeout(timer));
  });
  limitStalls(far, near, close, stallMs);
}

/**
 * @param {import('node:stream').Duplex} far
 * @param {import('node:stream').Duplex} near paused until the device has taken all that waits in `far`
 * @param {() => void} close
 * @param {number} stallMs
 */
function limitStalls(far, near, close, stallMs) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const watch = () => {
    const waiting = far.writableLength;
    // Nothing is added meanwhile, so fewer bytes mean that the device takes them.
    timer = setTimeout(() => (far.writableLength < waiting ? watch() : close()), stallMs).unref();
  };
  near.on('pause', () => {
    // Its end pauses it, too.
    if (!near.destroyed && !near.readableEnded && !timer) watch();
  });
  for (const event of ['resume', 'close'])
    near.on(event, () => {
      clearTimeout(timer);
      timer = undefined;
    });
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

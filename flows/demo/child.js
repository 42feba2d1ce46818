'use strict';

// Common to the demo's child processes: they live exactly as long as the gateway that started them.

/**
 * Ends this process when the parent is gone for any reason: the channel to it closes even after kill -9. Signals of a
 * terminal or a service manager go to the whole group and are left to the parent, which needs the cloud until its last
 * record is delivered. Without a parent (run by hand), signals work as usual.
 * @param {() => void} [onGone]
 */
function liveWithParent(onGone = () => process.exit(0)) {
  if (!process.send) return;
  process.on('disconnect', onGone);
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']))
    process.on(signal, () => {});
}

/** @param {Record<string, unknown>} message */
function sendToParent(message) {
  if (process.connected) process.send?.(message);
}

module.exports = { liveWithParent, sendToParent };

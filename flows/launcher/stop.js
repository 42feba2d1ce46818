'use strict';

// Ends the gateway. Node-RED stops the nodes on a signal, which drains them. This module handles the other cases: an
// end before the start is complete, an end that hangs, and an end without a signal.

const { beginEnd } = require('../../nodes/lib/base/process-end');
const { say, sayLast } = require('./log');
const { SIGNALS } = require('./together');

/** Delivering and writing have their own, shorter limits; this one is for third-party nodes that never finish. */
const LIMIT_MS = 27000;
/**
 * One Ctrl-C arrives several times: from the terminal, from npm and from the launcher. Only a signal after this time is
 * a second request.
 */
const SAME_REQUEST_MS = 1000;

/** @param {string} why @param {number} code */
function leave(why, code) {
  sayLast(why);
  process.exit(code);
}

/**
 * Installs the signal handlers. Call it before Node-RED is loaded.
 * @param {() => void} onFirst called before anything stops
 */
function stopOnSignals(onFirst) {
  let firstAt = 0;
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (firstAt === 0) {
        firstAt = performance.now();
        // Node-RED adds its own listeners once it is loaded. Before that, there is nothing to drain.
        if (process.listenerCount('SIGTERM') === 1) process.exit(0);
        say(`stopping (${signal}): delivering held records`);
        beginEnd();
        onFirst();
        // Node-RED listens to the others.
        if (process.listenerCount(signal) === 1) process.emit('SIGTERM', 'SIGTERM');
        setTimeout(
          () => leave(`error: not stopped after ${LIMIT_MS / 1000} s; exiting now`, 1),
          LIMIT_MS
        ).unref();
      } else if (performance.now() - firstAt > SAME_REQUEST_MS) {
        leave(`stopping at once (${signal} again): records that are only in memory are lost`, 1);
      }
    });
  }
}

module.exports = { stopOnSignals };

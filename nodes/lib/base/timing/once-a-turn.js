'use strict';

/**
 * Limits doorbell work to one portion for each turn of the event loop. The first portion runs immediately, the rest in
 * the following turns, no matter how often the doorbell rings.
 * @param {() => boolean} work does one portion, and returns true if there may be more; it must not throw
 * @returns {() => void} the doorbell: call it when there is work
 */
function onceATurn(work) {
  /** @type {NodeJS.Immediate | null} */
  let next = null;
  const run = () => {
    next = work()
      ? setImmediate(() => {
          next = null;
          run();
        })
      : null;
  };
  return () => {
    if (!next) run();
  };
}

exports.onceATurn = onceATurn;

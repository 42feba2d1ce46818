'use strict';

/**
 * For work that a doorbell asks for and that may bring more than a turn of the event loop should take: it is done at once, then at most
 * once in each turn while there is more, however often the bell rings.
 * @param {() => boolean} work does a part; true: there may be more. It must not throw
 * @returns {() => void} call it when there is something to do
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

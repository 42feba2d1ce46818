'use strict';
// One timer of a thread for all that it does once a second: a wake-up costs more than most of that work.

const { guard } = require('../guard');

/** @type {Map<object, { run: () => void, onFault: (error: Error) => void }>} */
const calls = new Map();
/** @type {NodeJS.Timeout | null} */
let timer = null;

/**
 * Calls a function once a second, after those that were added before it. Does not keep the process alive.
 * @param {() => void} run
 * @param {(error: Error) => void} [onFault] gets what it throws; default: thrown as if by a timer of its own, after the
 *   other functions have run
 * @returns {() => void} ends the calls; idempotent
 */
function eachSecond(run, onFault = rethrow) {
  const key = {};
  calls.set(key, { run, onFault });
  timer ??= setInterval(runAll, 1000).unref();
  return () => {
    if (!calls.delete(key) || calls.size > 0 || !timer) return;
    clearInterval(timer);
    timer = null;
  };
}

function runAll() {
  for (const [key, { run, onFault }] of [...calls]) if (calls.has(key)) guard(run, onFault);
}

/** @param {Error} error */
function rethrow(error) {
  setImmediate(() => {
    throw error;
  });
}

exports.eachSecond = eachSecond;

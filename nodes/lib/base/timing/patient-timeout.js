'use strict';

/** A timer that is later than this, ms, has not judged its peer: the thread stood still. */
const LATE_MS = 1000;

/**
 * Calls a function after a time in which a peer had to answer. A thread that stood still, for example with its machine,
 * runs its timers before it reads what the peer has sent, so the time begins once more.
 * @param {() => void} run
 * @param {number} ms
 * @returns {() => void} ends the wait; idempotent
 */
function patientTimeout(run, ms) {
  const dueAt = performance.now() + ms;
  let timer = setTimeout(() => {
    if (performance.now() - dueAt > LATE_MS) timer = setTimeout(run, ms);
    else run();
  }, ms);
  return () => clearTimeout(timer);
}

exports.patientTimeout = patientTimeout;

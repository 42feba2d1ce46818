'use strict';
// Does the process make progress? If not, only a restart helps. An outage of the cloud or a full disk is no reason.

const { check, verdict } = require('./verdict');

/** A worker makes progress several times a second. */
const WORKER_MS = 10000;
/** The threads of uplinks and log report once a second; a slow disk may hold the log's thread for many seconds. */
const THREAD_MS = 60000;

/**
 * @param {import('./index').EngineHealth[]} engines
 * @param {number} loopDelayMs how late a timer was on Node-RED's event loop, the most in the last minute
 * @returns {import('./index').Verdict}
 */
function liveness(engines, loopDelayMs) {
  const running = engines.filter(({ isRunning }) => isRunning);
  const workers = silent(
    running.flatMap((engine) => engine.workers),
    WORKER_MS
  );
  const threads = silent(
    running.flatMap(({ uplinkThreads, logThread }) => [...uplinkThreads, logThread]),
    THREAD_MS
  );
  return verdict({
    // A blocked event loop gives no answer at all.
    eventLoop: check('', { delayMs: Math.round(loopDelayMs) }),
    workers: check(
      workers.count === 0
        ? ''
        : `${workers.count} of ${workers.total} worker threads made no progress for ${workers.seconds} s.`,
      { count: workers.total }
    ),
    threads: check(
      threads.count === 0
        ? ''
        : `${threads.count} of ${threads.total} threads of uplinks and logs made no progress for ${threads.seconds} s.`,
      { count: threads.total }
    )
  });
}

/**
 * @param {number[]} times ms; -1 = not running
 * @param {number} limitMs
 */
function silent(times, limitMs) {
  const running = times.filter((ms) => ms >= 0);
  const late = running.filter((ms) => ms > limitMs);
  return { total: running.length, count: late.length, seconds: Math.round(Math.max(0, ...late) / 1000) };
}

module.exports = { liveness };

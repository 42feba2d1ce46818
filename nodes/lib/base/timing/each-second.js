'use strict';
// One timer of a thread for all that it does once a second: a wake-up costs more than most of that work.

const { guard } = require('../guard');

/**
 * @callback Run
 * @returns {number | void} number of the next seconds that may skip the call, default 0
 *
 * @typedef {object} Call
 * @property {Run} run
 * @property {(error: Error) => void} onFault
 * @property {number} left seconds until it is due
 */

const SECOND_MS = 1000;

/** @type {Map<object, Call>} */
const calls = new Map();
/** @type {Set<(lateMs: number) => void>} */
const followers = new Set();
/** @type {NodeJS.Timeout | undefined} */
let timer;
/** When the timer is due, how long it waits, and whether it skips a function meanwhile. */
const due = { atMs: 0, seconds: 0, rests: false };

/**
 * Calls a function once a second, after those that were added before it, and less often if it asks for that. Does not
 * keep the process alive.
 * @param {Run} run
 * @param {(error: Error) => void} [onFault] gets what it throws; default: thrown as if by a timer of its own, after the
 *   other functions have run
 * @returns {() => void} ends the calls; idempotent
 */
function eachSecond(run, onFault = rethrow) {
  const key = {};
  calls.set(key, { run, onFault, left: 1 });
  if (timer) hurry();
  else wait(1);
  return () => {
    if (!calls.delete(key) || calls.size > 0) return;
    clearTimeout(timer);
    timer = undefined;
  };
}

/**
 * Adds a function that gets the delay of each wake-up. It causes no wake-up of its own.
 * @param {(lateMs: number) => void} follow must not throw
 * @returns {() => void} removes the function
 */
function onWake(follow) {
  followers.add(follow);
  return () => void followers.delete(follow);
}

/** Calls all functions within a second, also those that asked for a rest. */
function hurry() {
  if (!due.rests) return;
  due.rests = false;
  for (const call of calls.values()) call.left = 1;
  if (timer && due.seconds > 1) wait(1);
}

/** @returns {number} how long the timer of this thread is overdue, ms */
const latenessMs = () => (timer ? Math.max(0, performance.now() - due.atMs) : 0);

/** @param {number} seconds */
function wait(seconds) {
  clearTimeout(timer);
  due.seconds = seconds;
  due.atMs = performance.now() + seconds * SECOND_MS;
  timer = setTimeout(runAll, seconds * SECOND_MS).unref();
}

function runAll() {
  const [lateMs, passed] = [latenessMs(), due.seconds];
  // Before the functions, because each of them may call hurry().
  wait(1);
  for (const follow of followers) follow(lateMs);
  for (const [key, call] of [...calls]) {
    call.left -= passed;
    if (call.left > 0 || !calls.has(key)) continue;
    call.left = 1;
    guard(() => (call.left += call.run() ?? 0), call.onFault);
  }
  const left = [...calls.values()].map((call) => call.left);
  due.rests = Math.max(...left) > 1;
  const soonest = Math.min(...left);
  if (soonest > 1 && timer) wait(soonest);
}

/** @param {Error} error */
function rethrow(error) {
  setImmediate(() => {
    throw error;
  });
}

exports.eachSecond = eachSecond;
exports.hurry = hurry;
exports.latenessMs = latenessMs;
exports.onWake = onWake;

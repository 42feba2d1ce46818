'use strict';
// A thread's JavaScript heap after its start, and after an outage. Loading modules leaves a quarter of it unused, and a
// backlog some of it. V8 returns that memory to the system only with its next full garbage collection, which a thread
// that allocates little may never reach.

const v8 = require('node:v8');
const vm = require('node:vm');
const { getEnvironmentData, setEnvironmentData } = require('node:worker_threads');

/** Time between two looks at the load. */
const EVERY_MS = 10_000;
/**
 * A look that is this much late means that the process was stopped (SIGSTOP, a frozen container, a laptop's sleep), or
 * that the cores are busy.
 */
const LATE_MS = 250;
/** Fraction of a core that the whole process may take meanwhile, its native threads included. */
const IDLE_CORES = 0.05;
const KEY = 'seganet-compact-again';

/**
 * Calls of compactAgain() in all threads of this process. A BroadcastChannel would load undici for its first message:
 * 5.6 MB in each thread that gets it.
 */
const requests = requestsOfProcess();

function requestsOfProcess() {
  const known = /** @type {unknown} */ (getEnvironmentData(KEY));
  if (known) return /** @type {Int32Array<SharedArrayBuffer>} */ (known);
  const made = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  // Threads that start from now on share it.
  setEnvironmentData(KEY, /** @type {any} */ (made));
  return made;
}

/**
 * Collects all garbage of this thread once, as soon as the process has been idle for 10 s, and once more after each
 * compactAgain(). For some seconds afterwards V8 compiles code again and collects garbage more often, which delays
 * records that come then: with one core and 640 records/s, p99 was 6 ms instead of 1 ms. A gateway that is never idle
 * keeps the memory. Does not keep the process alive.
 * @param {() => void} [compact]
 */
function compactWhenIdle(compact = () => compactHeap()) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const watch = () => {
    clearInterval(timer);
    timer = setInterval(
      whenIdle(() => (clearInterval(timer), compact())),
      EVERY_MS
    ).unref();
  };
  void eachRequest(watch);
  watch();
}

/** @param {() => void} act */
async function eachRequest(act) {
  for (let seen = Atomics.load(requests, 0); ; seen = Atomics.load(requests, 0)) {
    await Atomics.waitAsync(requests, 0, seen).value;
    act();
  }
}

/** Lets all threads compact their heaps once more: much of their memory may be free again. */
function compactAgain() {
  Atomics.add(requests, 0, 1);
  Atomics.notify(requests, 0);
}

/** @param {() => void} act @returns {() => void} calls `act` if the process was idle since the last call */
function whenIdle(act) {
  let before = process.cpuUsage();
  let at = performance.now();
  return () => {
    const used = process.cpuUsage(before);
    const now = performance.now();
    const ms = now - at;
    const cores = (used.user + used.system) / 1000 / ms;
    before = process.cpuUsage();
    at = now;
    // What ended the stop, such as a request for a paused tenant, must not wait for the collection.
    if (cores < IDLE_CORES && ms <= EVERY_MS + LATE_MS) act();
  };
}

/**
 * Collects all garbage of this thread and returns free pages to the system. Takes 30 ms in a worker thread and 100 to
 * 300 ms in Node-RED's thread (x64, 2 GHz). Without the function `gc` it does nothing.
 * @param {() => unknown} [release] returns what the garbage held outside of the heap to the system
 */
function compactHeap(release) {
  try {
    // A context that is made while the flag is set has the function. Other contexts, such as those of function nodes,
    // do not get it.
    v8.setFlagsFromString('--expose-gc');
    const gc = vm.runInNewContext('globalThis.gc');
    v8.setFlagsFromString('--no-expose-gc');
    // This flavor also drops compiled code that is not running, and shrinks the space for new objects.
    gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    release?.();
  } catch {
    // This Node.js does not allow it: the memory stays until the next collection.
  }
}

exports.compactAgain = compactAgain;
exports.compactHeap = compactHeap;
exports.compactWhenIdle = compactWhenIdle;

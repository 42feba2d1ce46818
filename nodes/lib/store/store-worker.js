'use strict';

// Entry of the store thread: one folder, one engine.
// In:  {type: 'attach', token} · {type: 'holdings'} · {type: 'stop', timeoutMs}
//      {type: 'ask', id, what: 'backup' | 'deadLetters' | 'sendAgain', …}
// Out: {type: 'state', …} · {type: 'problem', …} · {type: 'holdings', holdings} · {type: 'stopped', inTime}
//      {type: 'answer', id, failure, value} · {type: 'sessions', restored}

const fs = require('node:fs');
const { parentPort, workerData } = require('node:worker_threads');
const { compactHeap, compactWhenIdle } = require('../base/compact-heap');
const { QuietTimer } = require('../base/timing/quiet-timer');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
/** @type {import('./log-options').CheckedOptions} */
const options = workerData.options;
/**
 * @type {{StoreSource: new (token: number, onDoorbell: () => void) => import('../../../native').StoreSource,
 *   SessionSource?: new (token: number, onDoorbell: () => void) => import('../../../native').SessionSource,
 *   releaseMemory?: () => boolean}}
 */
const native = require(options.nativePath);

/** Longest time for the last sessions. */
const SESSIONS_STOP_MS = 1500;
/** SQLite writes more bytes at once. A write that wakes up another thread has 8. */
const LEAST_WRITE = 512;

/** @type {Map<string, {reason: string, count: number}>} */
const problems = new Map();
const writtenBefore = threadWrites();
/** Bytes that count as written for the log. */
let written = 0;
/** The last reported condition. */
let reported = '';
/** The work of each second. @type {QuietTimer | null} */
let second = null;

/** @param {string} code @param {string} reason */
function problem(code, reason) {
  const known = problems.get(code);
  problems.set(code, { reason, count: (known?.count ?? 0) + 1 });
  second?.stir();
}

/** The log, the sessions and the dead letters, in SQLite or elsewhere. @type {import('./log-parts').LogParts} */
const { store, sessions, deadLetters, onMessage } = require(workerData.parts).makeParts({
  options,
  workerData,
  post: (/** @type {object} */ message) => port.postMessage(message),
  problem,
  changed() {
    const { state, code } = store.condition;
    if (`${state} ${code}` !== reported) report();
  },
  restored: (/** @type {number} */ restored) => port.postMessage({ type: 'sessions', restored })
});

/**
 * Returns the bytes that this thread passed to write calls, which are all that SQLite writes: chunks, WAL, checkpoints.
 * NaN = the system does not report them.
 */
function threadWrites() {
  try {
    // With any other encoding, Node.js allocates 64 KB for each read of a file without a size.
    return Number(/^wchar: (\d+)/m.exec(fs.readFileSync('/proc/thread-self/io', 'utf8'))?.[1]);
  } catch {
    return NaN;
  }
}

/** @returns {number} bytes of this thread's writes since its start, without those that wake up another thread */
function logWrites() {
  const all = threadWrites() - writtenBefore;
  if (Number.isNaN(all)) return store.bodyBytes;
  if (all - written >= LEAST_WRITE) written = all;
  return written;
}

function report() {
  const { usage, dead, quarantine, commits, commitMs, commitMaxMs, deadRemoved } = store;
  const condition = store.condition;
  reported = `${condition.state} ${condition.code}`;
  port.postMessage({
    type: 'state',
    ...condition,
    chunks: usage.totalChunks,
    records: usage.records,
    bytes: usage.totalBytes,
    limitBytes: store.limits.total,
    fileBytes: store.fileBytes,
    dead: dead.count,
    deadRemoved,
    quarantined: quarantine.count,
    commits,
    commitMs,
    commitMaxMs,
    bytesWritten: logWrites(),
    ...(store.pair && { pair: store.pair })
  });
}

/** @returns {string | number} changes with the log, NaN = something waits for the next second */
function activity() {
  return sessions.isWaiting || problems.size > 0 ? NaN : store.activity || NaN;
}

function everySecond() {
  store.tick();
  sessions.tick();
  report();
  for (const [code, { reason, count }] of problems)
    port.postMessage({ type: 'problem', code, reason, count });
  problems.clear();
}

/** @param {number} token */
function attach(token) {
  try {
    store.attach(new native.StoreSource(token, () => store.ring()));
    if (native.SessionSource) sessions.attach(new native.SessionSource(token, () => sessions.ring()));
    else port.postMessage({ type: 'sessions', restored: 0 });
  } catch (error) {
    problem('ENGINE', `The log cannot reach its engine: ${error}.`);
  }
}

/** @type {Record<string, (message: any) => unknown>} */
const ANSWERS = {
  backup: ({ file }) => store.backup(file),
  deadLetters: ({ page }) => deadLetters.list(page),
  sendAgain: ({ rows, nodes }) => deadLetters.sendAgain(rows, nodes)
};

/**
 * Answers a question; failure '' = there is a value.
 * @param {{ id: number, what: string } & Record<string, unknown>} message
 */
async function answer({ id, what, ...message }) {
  try {
    port.postMessage({ type: 'answer', id, failure: '', value: await ANSWERS[what](message) });
  } catch (error) {
    port.postMessage({ type: 'answer', id, failure: String(/** @type {any} */ (error)?.message ?? error) });
  }
}

async function holdings() {
  port.postMessage({ type: 'holdings', holdings: await store.holdings() });
}

let isStopping = false;

/** @param {number} timeoutMs */
async function stop(timeoutMs) {
  isStopping = true;
  await sessions.stop(Math.min(timeoutMs, SESSIONS_STOP_MS));
  store.stop(timeoutMs, (/** @type {boolean} */ inTime) => {
    second?.close();
    everySecond();
    port.postMessage({ type: 'stopped', inTime });
    port.close();
  });
}

port.on('message', (message) => {
  if (message.type === 'attach') attach(message.token);
  else if (message.type === 'holdings') void holdings();
  else if (message.type === 'ask') void answer(message);
  else if (message.type === 'stop' && !isStopping) void stop(message.timeoutMs);
  else onMessage?.(message);
});

second = new QuietTimer(activity, everySecond);

compactWhenIdle(() => {
  store.releaseMemory?.();
  compactHeap(native.releaseMemory);
});
report();
store.start();

'use strict';

// Entry of the thread with the shadows of one engine.
// In:  {type: 'ops', ops} · {type: 'list', id, after, limit} · {type: 'stop'}
// Out: {type: 'results', results} · {type: 'listed', id, text, status, message} · {type: 'state', …} ·
//      {type: 'opened'} the file, also again · {type: 'stopped'}

const { parentPort, workerData } = require('node:worker_threads');
const { Gate } = require('./gate');
const { ShadowDesk } = require('./shadow-desk');
const { ShadowFile } = require('./shadow-file');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
/** Least time between two commits, so that a disk has at most 20 a second. */
const COMMIT_MS = 50;
const STATE_MS = 1000;

const gate = new Gate(workerData.gate);
// A thread before this one may have ended with the file open.
gate.close();
const file = new ShadowFile(workerData.directory, undefined, (isOpen) => {
  if (!isOpen) return gate.close();
  gate.open();
  port.postMessage({ type: 'opened' });
});
const desk = new ShadowDesk(file);
/** @type {import('./shadow-desk').Op[]} */
let waiting = [];
/** @type {NodeJS.Timeout | null} */
let timer = null;
let committedAt = -Infinity;

/** Stores all changes that have arrived, in one commit. */
function commit() {
  if (timer) clearTimeout(timer);
  timer = null;
  if (waiting.length === 0) return;
  const ops = waiting;
  waiting = [];
  committedAt = performance.now();
  port.postMessage({ type: 'results', results: desk.change(ops) });
}

/** @param {import('./shadow-desk').Op[]} ops */
function take(ops) {
  const reads = ops.filter(({ kind }) => kind === 'get' || kind === 'delta');
  if (reads.length > 0) port.postMessage({ type: 'results', results: desk.read(reads) });
  if (reads.length === ops.length) return;
  waiting.push(...ops.filter(({ kind }) => kind === 'update' || kind === 'delete'));
  timer ??= setTimeout(commit, Math.max(0, COMMIT_MS - (performance.now() - committedAt)));
}

/** @param {{ id: number, after: string, limit: number }} page */
function list({ id, after, limit }) {
  try {
    port.postMessage({ type: 'listed', id, text: desk.list(after, limit), status: 200, message: '' });
  } catch (error) {
    const { status = 503, message } = /** @type {any} */ (error);
    port.postMessage({ type: 'listed', id, text: '', status, message });
  }
}

/** Opens the file, also again after a failure: there may be no request for days. */
function open() {
  try {
    file.use(() => {});
  } catch {
    // The reason is a part of the state.
  }
}

function report() {
  if (file.reason) open();
  const { reason, counts, bytes } = file;
  port.postMessage({ type: 'state', reason, ...counts, bytes, counters: { ...desk.counters } });
}

// Now, so that a damaged file is known before the first request.
open();
report();
const second = setInterval(report, STATE_MS);

port.on('message', (message) => {
  if (message.type === 'ops') take(message.ops);
  else if (message.type === 'list') list(message);
  else {
    clearInterval(second);
    commit();
    report();
    file.close();
    port.postMessage({ type: 'stopped' });
    port.close();
  }
});

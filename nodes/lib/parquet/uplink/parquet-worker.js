'use strict';

// Entry of the thread of a parquet uplink, which serves one engine. Compaction has a thread of its own.
// In:  {type: 'attach', token, uplink} · {type: 'stages', stages} · {type: 'drain', id} · {type: 'stop', timeoutMs}
// Out: {type: 'state', …} · {type: 'problem', …} · {type: 'drained', id} · {type: 'stopped', inTime}

const { parentPort, workerData } = require('node:worker_threads');
const { ProblemCounts } = require('../../uplink/problem-counts');
const { Turns } = require('../../uplink/turns');
const { overview } = require('../../uplink/uplink-overview');
const { loadLibrary } = require('../files/writer-package');
const { Archive } = require('../store/archive');
const { Compactor } = require('../store/compactor');
const { explain } = require('../store/store-error');
const { storeOf } = require('../store/store-of');
const { FileUplink } = require('./file-uplink');
const { compileStage } = require('./stage');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
/** @type {import('./options').CheckedOptions} */
const options = workerData.options;
/** @type {typeof import('../../../../native')} */
const native = require(options.nativePath);

const SECOND_MS = 1000;
const CHECK_MS = 100;
const POLL_MS = 20;

const problems = new ProblemCounts();
/** Pending drains. @type {number[]} */
const drains = [];
/** Monotonic end of the wait for the last files, 0 = not stopping. */
let stopBy = 0;
/** @type {NodeJS.Timeout | undefined} */
let poll;

const now = () => performance.now();
const store = storeOf(options);
const turns = new Turns({
  native,
  run,
  load: () => ({ records: uplink.records, isWaiting: uplink.isWaiting })
});
const compactor = new Compactor(options, {
  problem: (error, date) => {
    const { code, reason } = explain(error, options.url);
    problem(code, `Files of ${date || 'a day'} could not be merged; they stay as they are. ${reason}`);
  },
  now
});
const uplink = new FileUplink({
  options,
  native,
  open,
  wake: () => turns.wake(),
  now,
  problem,
  onStatus: () => setImmediate(report),
  onAdded: (date) => compactor.added(date)
});

/** @param {string} code @param {string} reason */
function problem(code, reason) {
  problems.add(code, reason);
}

async function open() {
  const library = loadLibrary();
  await store.open();
  const archive = new Archive(store, library);
  const { missing } = await archive.open();
  if (missing.length > 0)
    problem(
      'MISSING',
      `${missing.length} files that a manifest names are missing in ${options.url}, such as ${missing[0]}. Restore them from a backup.`
    );
  compactor.start(archive);
  return archive;
}

function report() {
  const view = uplink.view();
  const all = overview(/** @type {any} */ ([view]), { mayBeOne: false });
  const parquet = {
    ...uplink.figures,
    ...compactor.figures(),
    rowsOpen: view.inflight,
    writeMs: uplink.writeMs
  };
  port.postMessage({ type: 'state', ...all, parquet });
}

/** Runs a turn. @returns {boolean} false: the thread waits for an end, and must not rest */
function run() {
  uplink.turn();
  if (drains.length === 0 && stopBy === 0) return true;
  finishWaits();
  return false;
}

function finishWaits() {
  if (drains.length > 0 && uplink.isIdle)
    for (const id of drains.splice(0)) port.postMessage({ type: 'drained', id });
  if (stopBy > 0 && (uplink.isDone || now() >= stopBy)) void finish();
  else if (drains.length === 0 && stopBy === 0) stopPolling();
}

function startPolling() {
  poll ??= setInterval(finishWaits, POLL_MS);
  uplink.hurry(true);
}

function stopPolling() {
  clearInterval(poll);
  poll = undefined;
  uplink.hurry(false);
}

function everySecond() {
  uplink.everySecond();
  if (stopBy === 0) compactor.check();
  for (const each of problems.take()) port.postMessage({ type: 'problem', ...each });
}

/** @param {number} token @param {number} number of the uplink */
function attach(token, number) {
  uplink.detach();
  try {
    uplink.attach(token, number);
  } catch (error) {
    const reason = `The uplink cannot reach its engine: ${error}.`;
    port.postMessage({ type: 'problem', code: 'ENGINE', reason, count: 1 });
  }
}

let isFinishing = false;

async function finish() {
  if (isFinishing) return;
  isFinishing = true;
  const inTime = uplink.isDone;
  turns.stop();
  for (const timer of timers) clearInterval(timer);
  clearInterval(poll);
  uplink.stop();
  await compactor.stop();
  store.close();
  report();
  port.postMessage({ type: 'stopped', inTime });
  port.close();
}

port.on('message', (message) => {
  if (message.type === 'attach') attach(message.token, message.uplink);
  else if (message.type === 'stages') {
    const stages = Object.entries(message.stages).map(
      ([id, stage]) => /** @type {const} */ ([Number(id), compileStage(/** @type {any} */ (stage))])
    );
    uplink.setStages(new Map(stages));
  } else if (message.type === 'drain') {
    drains.push(message.id);
    startPolling();
  } else if (message.type === 'stop' && stopBy === 0) {
    uplink.stopTaking();
    stopBy = now() + message.timeoutMs;
    startPolling();
  }
});

const timers = [
  setInterval(everySecond, SECOND_MS),
  setInterval(report, options.stateMs),
  setInterval(() => uplink.check(), CHECK_MS)
];

uplink.start();

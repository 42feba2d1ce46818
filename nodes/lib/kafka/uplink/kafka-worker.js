'use strict';

// Entry of the thread of a kafka cluster: two producers, one for class 1 and one for all others, and one engine.
// In:  {type: 'attach', token, uplink} · {type: 'stages', stages} · {type: 'drain', id} · {type: 'stop', timeoutMs}
// Out: {type: 'state', …} · {type: 'problem', …} · {type: 'drained', id} · {type: 'stopped', inTime}

const { parentPort, workerData } = require('node:worker_threads');
const { KafkaGroup } = require('./kafka-group');
const { Pacer } = require('../../uplink/sending/pacer');
const { ProblemCounts } = require('../../uplink/problem-counts');
const { Turns } = require('../../uplink/turns');
const { overview } = require('../../uplink/uplink-overview');
const { compileStage } = require('./stage');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
/** @type {import('../settings/kafka-options').CheckedOptions} */
const options = workerData.options;
/** @type {typeof import('../../../../native')} */
const native = require(options.nativePath);

const SECOND_MS = 1000;
const HEALTH_MS = 250;
const POLL_MS = 20;

const problems = new ProblemCounts();
/** Pending drains. @type {number[]} */
const drains = [];
/** Monotonic end of the wait for the last acknowledgements, 0 = not stopping. */
let stopBy = 0;
/** @type {NodeJS.Timeout | undefined} */
let poll;

const turns = new Turns({ native, run, load });
const now = () => performance.now();
const pacer = new Pacer({ rate: options.backlogRate, share: options.backlogShare, now });
/** Groups are served in this order, the most urgent first. @type {KafkaGroup[]} */
const groups = options.groups.map(
  (_, i) =>
    new KafkaGroup(i, { options, native, pacer, wake: () => turns.wake(), now, problem, onStatus: report })
);

/** @param {string} code @param {string} reason */
function problem(code, reason) {
  problems.add(code, reason);
}

function report() {
  const views = groups.map((group) => group.view());
  const producers = groups.map((group) => group.figures());
  // Kafka does not limit client ids.
  const all = overview(/** @type {any} */ (views), { mayBeOne: false });
  port.postMessage({ type: 'state', ...all, producers });
}

/** Runs a turn of all groups. @returns {boolean} false: the thread waits for an end, and must not rest */
function run() {
  for (const group of groups) group.turn();
  if (drains.length === 0 && stopBy === 0) return true;
  finishWaits();
  return false;
}

function load() {
  return {
    records: groups.reduce((sum, group) => sum + group.records, 0),
    isWaiting: groups.some(({ isWaiting }) => isWaiting)
  };
}

function finishWaits() {
  if (drains.length > 0 && groups.every(({ isIdle }) => isIdle)) {
    for (const id of drains.splice(0)) port.postMessage({ type: 'drained', id });
  }
  if (stopBy > 0 && (groups.every(({ isDone }) => isDone) || now() >= stopBy)) void finish();
  else if (drains.length === 0 && stopBy === 0) stopPolling();
}

function startPolling() {
  poll ??= setInterval(finishWaits, POLL_MS);
  for (const group of groups) group.schedule();
}

function stopPolling() {
  clearInterval(poll);
  poll = undefined;
}

function everySecond() {
  for (const group of groups) group.everySecond();
  for (const each of problems.take()) port.postMessage({ type: 'problem', ...each });
}

/** @param {number} token @param {number} uplink */
function attach(token, uplink) {
  for (const group of groups) group.detach();
  try {
    for (const group of groups) group.attach(token, uplink);
  } catch (error) {
    const reason = `The uplink cannot reach its engine: ${error}.`;
    port.postMessage({ type: 'problem', code: 'ENGINE', reason, count: 1 });
  }
}

/** @param {Record<string, import('./stage').CheckedStage>} table */
function setStages(table) {
  const stages = new Map(
    Object.entries(table).map(([id, stage]) => [Number(id), compileStage(stage, options.gateway)])
  );
  for (const { channels } of groups) for (const channel of channels) channel.setStages(stages);
}

async function finish() {
  const inTime = groups.every(({ isDone }) => isDone);
  turns.stop();
  for (const timer of timers) clearInterval(timer);
  stopPolling();
  await Promise.all(groups.map((group) => group.stop()));
  report();
  port.postMessage({ type: 'stopped', inTime });
  port.close();
}

port.on('message', (message) => {
  if (message.type === 'attach') attach(message.token, message.uplink);
  else if (message.type === 'stages') setStages(message.stages);
  else if (message.type === 'drain') {
    drains.push(message.id);
    startPolling();
  } else if (message.type === 'stop' && stopBy === 0) {
    for (const group of groups) group.stopTaking();
    stopBy = now() + message.timeoutMs;
    startPolling();
  }
});

const timers = [
  setInterval(everySecond, SECOND_MS),
  setInterval(report, options.stateMs),
  setInterval(() => {
    for (const group of groups) group.checkHealth();
  }, HEALTH_MS)
];

for (const { session } of groups) session.start();

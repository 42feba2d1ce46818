'use strict';

// Entry of the uplink thread: one broker, a session for each group of classes, one engine.
// In:  {type: 'attach', token, uplink} · {type: 'stages', stages} · {type: 'drain', id} · {type: 'stop', timeoutMs}
//     {type: 'answer', ack} a command is safe · {type: 'report', report} the outcome of a command
// Out: {type: 'state', …} · {type: 'problem', …} · {type: 'drained', id} · {type: 'stopped', inTime}
//      {type: 'command', command}

const { parentPort, workerData } = require('node:worker_threads');
const { compactHeap, compactWhenIdle } = require('../base/compact-heap');
const { QuietTimer } = require('../base/timing/quiet-timer');
const { isIdle } = require('./sending/batch-ages');
const { CommandSession } = require('./commands/command-session');
const { Compression } = require('./compression');
const { Group } = require('./session-group');
const { Pacer } = require('./sending/pacer');
const { ProblemCounts } = require('./problem-counts');
const { Turns } = require('./turns');
const { overview } = require('./uplink-overview');
const { PathHints } = require('./paths/path-hints');
const { AlarmPaths } = require('./paths/alarm-paths');
const { Paths } = require('./paths/session-paths');
const { SecondSession } = require('./second-session');
const { hintSocket } = require('../network/paths/paths-state');
const { readStatus } = require('../network/paths/paths-status-file');
const { probeConnection } = require('./session/connection-test');
const { UplinkUrls } = require('./urls/uplink-urls');
const { compileStage } = require('./sending/uplink-stage');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
/** @type {import('../settings/uplink-options').CheckedOptions} */
const options = workerData.options;
/** @type {typeof import('../../../native')} */
const native = require(options.nativePath);

const SECOND_MS = 1000;
/** Packets a second, sent and acknowledged, up to which the work of each second may wait for the third one. */
const LIGHT_PER_S = 2000;
const HEALTH_MS = 250;
/** A check of the health after this time comes before what the broker sent while the thread stood still. */
const STANDSTILL_MS = 1000;
const FILES_MS = 5000;
const POLL_MS = 20;

const problems = new ProblemCounts();
/** Pending drains. @type {number[]} */
const drains = [];
/** Monotonic end of the wait for the last acknowledgements, 0 = not stopping. */
let stopBy = 0;
/**
 * Runs during a wait: for deadlines, and for a drain whose last batch left without an acknowledgement of ours.
 * @type {NodeJS.Timeout | undefined}
 */
let poll;
/** Checks the health four times a second. @type {NodeJS.Timeout | undefined} */
let health;
/** When it was checked last. */
let checkedAt = 0;
/** It is not judged before, because the thread reads what has come during a standstill. */
let readsUntil = 0;
/** The work of each second. @type {QuietTimer | null} */
let second = null;
/** Packets at the last look, and how many there were a second since the look before. */
const looked = { packets: 0, at: 0, perS: 0 };
/** The last reported state without changes is repeated only now and then. */
const reportsApart = options.stateMs !== SECOND_MS;

const turns = new Turns({ native, run, load });
const now = () => performance.now();
const pacer = new Pacer({ rate: options.backlogRate, share: options.backlogShare, now });
/** All sessions share the paths. */
const paths =
  options.paths &&
  new Paths(options.paths, {
    now,
    read: () => readStatus(options.pathsDir || undefined),
    hints: new PathHints({ file: hintSocket(options.pathsDir || undefined), now })
  });
/** Where the uplink is, if it has several URLs. */
const urls =
  options.addresses.length > 1
    ? new UplinkUrls({
        options,
        probe: (index) => probeConnection({ ...options, ...options.addresses[index] }),
        onChange: report
      })
    : null;
/** Groups are served in this order, the most urgent first. @type {Group[]} */
const groups = [];
for (const i of options.groups.keys()) {
  groups.push(
    new Group(i, {
      options,
      native,
      pacer,
      ...pathsOf(i),
      urls,
      wake: () => turns.wake(),
      now,
      problem,
      onStatus: report,
      mayPublishAside: () => compression.isUsed,
      onDisconnected: () => compression.disconnected()
    })
  );
}
/** All but the one that sends copies. */
const senders = groups.filter((group) => !group.second);
const compression = new Compression({
  sessions: groups.map((group) => ({
    writer: group.feeder.sender.writer,
    aside: group.aside,
    bytes: () => group.feeder.rate.packetBytes,
    limitedAt: () => group.feeder.rate.slowAt,
    isMetered: () => group.keeper?.isMetered ?? false,
    isSaving: () => group.isSaving
  })),
  now,
  problem
});
const commands = options.commands
  ? new CommandSession({
      options,
      native,
      paths,
      urls,
      generation: workerData.generation,
      handOver: (command) => port.postMessage({ type: 'command', command }),
      problem,
      onStatus: report,
      now
    })
  : null;

/** @param {number} i of a group @returns {Pick<import('./session-group').GroupParts, 'paths' | 'second'>} */
function pathsOf(i) {
  const { redundantAlarms } = options;
  if (!paths || redundantAlarms === 'off' || i > 1) return { paths };
  if (i === 0) return { paths: new AlarmPaths(paths) };
  const usesMetered = redundantAlarms === 'all-paths';
  const copies = new SecondSession(groups[0], paths, { usesMetered, problem });
  return { paths: copies.paths, second: copies };
}

/** @param {string} code @param {string} reason */
function problem(code, reason) {
  problems.add(code, reason);
  second?.stir();
}

function report() {
  const alarms = groups.find((group) => group.second)?.second?.view();
  port.postMessage({
    type: 'state',
    ...overview(
      senders.map((group) => group.view()),
      { alarms }
    ),
    ...compression.view(),
    savedBytes: groups.reduce((sum, { cost }) => sum + cost.savedBytes, 0),
    ...urls?.view(),
    ...(commands && { commands: commands.view() })
  });
}

function pumpAll() {
  for (const group of groups) group.schedule();
}

/** Runs a turn of all groups. @returns {boolean} false: the thread waits for an end, and must not rest */
function run() {
  for (const group of groups) group.turn();
  followHealth();
  if (drains.length === 0 && stopBy === 0) return true;
  finishWaits();
  return false;
}

function load() {
  let records = 0;
  let isWaiting = false;
  for (const { feeder } of groups) {
    records += feeder.taken.records;
    isWaiting ||= feeder.isWaiting;
  }
  return { records, isWaiting };
}

function finishWaits() {
  if (drains.length > 0 && senders.every(({ feeder }) => isIdle(feeder))) {
    for (const id of drains.splice(0)) port.postMessage({ type: 'drained', id });
  }
  const isDone = () => groups.every((group) => group.isDone) && (commands?.isDone ?? true);
  if (stopBy > 0 && (isDone() || now() >= stopBy)) void finish();
  else if (drains.length === 0 && stopBy === 0) stopPolling();
}

/** Polls only during a wait: fifty wake-ups a second would be most of the CPU time of an idle gateway. */
function startPolling() {
  poll ??= setInterval(finishWaits, POLL_MS);
  pumpAll();
}

function stopPolling() {
  clearInterval(poll);
  poll = undefined;
}

function everySecond() {
  for (const group of groups) group.everySecond();
  compression.everySecond();
  for (const each of problems.take()) port.postMessage({ type: 'problem', ...each });
  pumpAll();
  if (!reportsApart) report();
}

/** True if nothing waits for a time. */
function isStill() {
  const mayRest = !health && !poll && !compression.isUsed && problems.isEmpty;
  return mayRest && groups.every(({ feeder, isAlert }) => !isAlert && feeder.sender.resends.waitMs === 0);
}

/** @returns {number} changes when packets are sent, acknowledged or refused */
function activity() {
  checkHealth();
  let sum = commands?.activity ?? 0;
  for (const { feeder } of groups) sum += feeder.activity;
  looked.perS = ((sum - looked.packets) / (now() - looked.at)) * SECOND_MS;
  looked.packets = sum;
  looked.at = now();
  return isStill() ? sum : NaN;
}

/** @returns {boolean} true if few packets move; what waits for a time is not still */
function isLight() {
  return looked.perS <= LIGHT_PER_S;
}

function checkHealth() {
  const at = now();
  if (health && at - checkedAt > STANDSTILL_MS) readsUntil = at + HEALTH_MS;
  checkedAt = at;
  if (at >= readsUntil) {
    for (const group of groups) group.checkHealth();
    commands?.checkHealth();
  }
  followHealth();
}

/** Checks more often than once a second only while something may be overdue: wake-ups are most of the CPU of idling. */
function followHealth() {
  if (groups.some(({ isWatched }) => isWatched) || commands?.isWatched) {
    if (!health) checkedAt = now();
    health ??= setInterval(checkHealth, HEALTH_MS);
  } else if (health) {
    clearInterval(health);
    health = undefined;
  }
}

/** One after the other, so that not all sessions are without a connection at once. */
async function renewFiles() {
  for (const { renewal } of [...groups, ...(commands ? [commands] : [])]) await renewal.check();
}

/** @param {number} token @param {number} uplink */
function attach(token, uplink) {
  for (const { feeder } of groups) feeder.detach();
  try {
    for (const group of groups) group.attach(token, uplink);
  } catch (error) {
    const reason = `The uplink cannot reach its engine: ${error}.`;
    port.postMessage({ type: 'problem', code: 'ENGINE', reason, count: 1 });
  }
}

/** @param {Record<string, import('./sending/uplink-stage').CheckedStage>} table */
function setStages(table) {
  const stages = new Map(
    Object.entries(table).map(([id, stage]) => [
      Number(id),
      compileStage(stage, options.gateway, native.PublishWriter.compressions?.())
    ])
  );
  for (const group of groups) group.setStages(stages);
  compression.setStages(stages);
}

async function finish() {
  const inTime = groups.every(({ isDone }) => isDone);
  turns.stop();
  second?.close();
  for (const timer of [...timers, health]) clearInterval(timer);
  stopPolling();
  await Promise.all([...groups, ...(commands ? [commands] : [])].map((each) => each.stop()));
  for (const { status } of groups) status.end();
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
  } else if (message.type === 'answer') commands?.answer(message.ack);
  else if (message.type === 'report') commands?.report(message.report);
  else if (message.type === 'stop' && stopBy === 0) {
    for (const { feeder } of groups) feeder.stopTaking();
    commands?.pause();
    urls?.stop();
    stopBy = now() + message.timeoutMs;
    startPolling();
  }
});

second = new QuietTimer(activity, everySecond, isLight);
const timers = [
  setInterval(renewFiles, FILES_MS),
  ...(reportsApart ? [setInterval(report, options.stateMs)] : [])
];

compactWhenIdle(() => compactHeap(native.releaseMemory));
for (const { session } of groups) session.start();
commands?.start();

'use strict';

// Entry of the uplink thread: one broker, one session, one engine.
// In:  {type: 'attach', token, uplink} · {type: 'stages', stages} · {type: 'drain', id} · {type: 'stop', timeoutMs}
// Out: {type: 'state', …} · {type: 'problem', …} · {type: 'drained', id} · {type: 'stopped', inTime}

const { parentPort, workerData } = require('node:worker_threads');
const { Feeder } = require('./feeder');
const { Output } = require('./output');
const { Session } = require('./session');
const { Window } = require('./window');
const { compileTopic } = require('./topics');

/** @typedef {import('./reasons').Reason} Reason */
/** @typedef {import('./session').State} State */

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
/** @type {import('./options').CheckedOptions} */
const options = workerData.options;
/** @type {typeof import('../../../native')} */
const native = require(options.nativePath);

const STATE_MS = 1000;
const POLL_MS = 20;

/** @type {State} */
let state = 'connecting';
/** @type {Reason | null} */
let why = null;
let scheduled = false;
let acknowledgedBefore = 0;
/** @type {Map<string, {reason: string, count: number}>} */
const problems = new Map();
/** Drains that are not done. @type {number[]} */
const drains = [];
/** Monotonic end of the wait for the last acknowledgements, 0 = not stopping. */
let stopBy = 0;
let isStopped = false;

const window = new Window(options.inflight);
const output = new Output((ids) => feeder.written(ids));
const feeder = new Feeder({
  window,
  output,
  schedule,
  delay: (fn, ms) => setTimeout(fn, ms),
  now: () => performance.now(),
  problem(code, reason) {
    const known = problems.get(code);
    problems.set(code, { reason, count: (known?.count ?? 0) + 1 });
  },
  retryMs: options.retryMs
});

const session = new Session(options, {
  onState(next, reason) {
    state = next;
    why = reason;
    report();
  },
  onConnected(link) {
    if (link.maximumQos === 0 && feeder.needsQos1()) {
      session.kill({
        code: 'MAX_QOS_0',
        reason:
          'The broker takes QoS 0 only, which may lose records. Use another broker, or set QoS 0 in the uplink node.',
        refused: true
      });
      return;
    }
    feeder.connected(link, (bytes, done) => session.write(bytes, done));
  },
  onDisconnected: () => feeder.disconnected(),
  onPuback: (id, reasonCode) => feeder.acknowledge(id, reasonCode)
});

/**
 * All that happens in one turn of the loop (a doorbell, many PUBACKs of one read) leads to one pump, and so to one write.
 */
function schedule() {
  if (scheduled) return;
  scheduled = true;
  setImmediate(turn);
}

function turn() {
  scheduled = false;
  if (isStopped) return;
  feeder.pump();
  if (drains.length > 0 || stopBy > 0) finishWaits();
}

function finishWaits() {
  if (drains.length > 0 && feeder.idle()) {
    for (const id of drains.splice(0)) port.postMessage({ type: 'drained', id });
  }
  if (stopBy > 0 && (feeder.taken.size === 0 || performance.now() >= stopBy)) finish();
}

function report() {
  port.postMessage({
    type: 'state',
    state,
    code: why?.code ?? '',
    reason: why?.reason ?? '',
    rttMs: feeder.rttMs,
    inflight: window.inflight,
    published: feeder.published,
    acknowledged: feeder.acknowledged,
    redelivered: feeder.redelivered,
    failed: feeder.failed
  });
}

function everySecond() {
  report();
  for (const [code, { reason, count }] of problems)
    port.postMessage({ type: 'problem', code, reason, count });
  problems.clear();
  if (feeder.acknowledged !== acknowledgedBefore) session.alive();
  acknowledgedBefore = feeder.acknowledged;
  schedule();
  if (feeder.isStalled(options.ackTimeoutMs)) {
    session.kill({
      code: 'ACK_TIMEOUT',
      reason: `The broker acknowledged nothing for ${Math.round(options.ackTimeoutMs / 1000)} s. Connecting again.`,
      refused: false
    });
  }
}

/** @param {number} token @param {number} uplink */
function attach(token, uplink) {
  feeder.detach();
  try {
    feeder.attach(new native.UplinkSource(token, uplink, schedule));
  } catch (error) {
    port.postMessage({
      type: 'problem',
      code: 'ENGINE',
      reason: `The uplink cannot reach its engine: ${error}.`,
      count: 1
    });
  }
}

/** @param {Record<string, {topic: string, recordTopic: string, qos: 0 | 1, gateway?: string}>} table */
function setStages(table) {
  const stages = new Map();
  for (const [id, { topic, recordTopic, qos, gateway = options.gateway }] of Object.entries(table)) {
    stages.set(Number(id), {
      topic: compileTopic(topic, gateway),
      recordTopic: compileTopic(recordTopic, gateway),
      qos
    });
  }
  feeder.setStages(stages);
}

function finish() {
  const inTime = feeder.taken.size === 0;
  isStopped = true;
  clearInterval(second);
  clearInterval(poll);
  feeder.disconnected();
  feeder.detach();
  session.stop(() => {
    state = 'stopped';
    why = null;
    report();
    port.postMessage({ type: 'stopped', inTime });
    port.close();
  });
}

port.on('message', (message) => {
  if (message.type === 'attach') attach(message.token, message.uplink);
  else if (message.type === 'stages') setStages(message.stages);
  else if (message.type === 'drain') {
    drains.push(message.id);
    schedule();
  } else if (message.type === 'stop' && stopBy === 0) {
    feeder.taking = false;
    stopBy = performance.now() + message.timeoutMs;
    schedule();
  }
});

const second = setInterval(everySecond, STATE_MS);
// Deadlines, and a drain whose last batch left without an acknowledgement of ours.
const poll = setInterval(() => {
  if (drains.length > 0 || stopBy > 0) finishWaits();
}, POLL_MS);

session.start();

'use strict';

// Entry of the uplink thread: one broker, one session, one engine.
// In:  {type: 'attach', token, uplink} · {type: 'stages', stages} · {type: 'drain', id} · {type: 'stop', timeoutMs}
// Out: {type: 'state', …} · {type: 'problem', …} · {type: 'drained', id} · {type: 'stopped', inTime}

const { parentPort, workerData } = require('node:worker_threads');
const { Feeder } = require('./feeder');
const { Output } = require('./output');
const { Pacer } = require('./pacer');
const { Renewal } = require('./renewal');
const { Session } = require('./session');
const { Status } = require('./status');
const { Window } = require('./window');
const { compileStage } = require('./stage');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
/** @type {import('./options').CheckedOptions} */
const options = workerData.options;
/** @type {typeof import('../../../native')} */
const native = require(options.nativePath);

const STATE_MS = 1000;
const HEALTH_MS = 250;
const FILES_MS = 5000;
const POLL_MS = 20;

let scheduled = false;
let acknowledgedBefore = 0;
/** @type {Map<string, {reason: string, count: number}>} */
const problems = new Map();
/** Drains that are not done. @type {number[]} */
const drains = [];
/** Monotonic end of the wait for the last acknowledgements, 0 = not stopping. */
let stopBy = 0;
let isStopped = false;

const now = () => performance.now();
const window = new Window(options.inflight);
const output = new Output((ids) => feeder.sender.written(ids));
const feeder = new Feeder({
  window,
  output,
  pacer: new Pacer({ rate: options.backlogRate, share: options.backlogShare, now }),
  schedule,
  delay: (fn, ms) => setTimeout(fn, ms),
  now,
  problem,
  retryMs: options.retryMs
});
const status = new Status(feeder, (state) => port.postMessage({ type: 'state', ...state }));

const session = new Session(
  options,
  {
    onState: (state, reason) => status.set(state, reason),
    onConnected(link) {
      if (link.maximumQos === 0 && feeder.needsQos1()) {
        session.kill({
          code: 'MAX_QOS_0',
          reason:
            'The broker takes QoS 0 only, which may lose records. Use another broker, or set QoS 0 in the uplink node.',
          refused: true,
          slow: true
        });
        return;
      }
      feeder.connected(link, (bytes, done) => session.write(bytes, done));
    },
    onDisconnected: (byBroker) => feeder.disconnected(byBroker),
    onPuback: (id, reasonCode) => feeder.sender.acknowledge(id, reasonCode),
    onProblem: problem
  },
  native
);
const renewal = new Renewal({ files: session.files, session, feeder, problem });

/** @param {string} code @param {string} reason */
function problem(code, reason) {
  const known = problems.get(code);
  problems.set(code, { reason, count: (known?.count ?? 0) + 1 });
}

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
  if (stopBy > 0 && (feeder.taken.size === 0 || now() >= stopBy)) finish();
}

function everySecond() {
  status.report();
  for (const [code, { reason, count }] of problems)
    port.postMessage({ type: 'problem', code, reason, count });
  problems.clear();
  const { acknowledged } = feeder.sender;
  if (acknowledged !== acknowledgedBefore) session.alive();
  acknowledgedBefore = acknowledged;
  schedule();
}

function checkHealth() {
  status.check();
  const { pulse } = feeder.sender;
  const silentMs = pulse.deadMs(options.ackTimeoutMs);
  if (silentMs === 0) return;
  pulse.gaveUp();
  session.kill({
    code: 'ACK_TIMEOUT',
    reason: `The broker acknowledged nothing for ${Math.round(silentMs / 1000)} s. Connecting again.`,
    refused: false
  });
}

/** @param {number} token @param {number} uplink */
function attach(token, uplink) {
  feeder.detach();
  try {
    feeder.attach(new native.UplinkSource(token, uplink, schedule));
    status.tellSource();
  } catch (error) {
    port.postMessage({
      type: 'problem',
      code: 'ENGINE',
      reason: `The uplink cannot reach its engine: ${error}.`,
      count: 1
    });
  }
}

/** @param {Record<string, import('./stage').CheckedStage>} table */
function setStages(table) {
  const stages = Object.entries(table).map(
    ([id, stage]) => /** @type {const} */ ([Number(id), compileStage(stage, options.gateway)])
  );
  feeder.setStages(new Map(stages));
}

function finish() {
  const inTime = feeder.taken.size === 0;
  isStopped = true;
  for (const timer of timers) clearInterval(timer);
  status.stop();
  feeder.disconnected();
  feeder.detach();
  session.stop(() => {
    status.set('stopped', null);
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
    stopBy = now() + message.timeoutMs;
    schedule();
  }
});

const timers = [
  setInterval(everySecond, STATE_MS),
  setInterval(checkHealth, HEALTH_MS),
  setInterval(() => renewal.check(), FILES_MS),
  // Deadlines, and a drain whose last batch left without an acknowledgement of ours.
  setInterval(() => {
    if (drains.length > 0 || stopBy > 0) finishWaits();
  }, POLL_MS)
];

session.start();

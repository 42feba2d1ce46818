'use strict';

// Entry of the thread of the tenants: for each tenant that is awake an MQTT session, for each one that sleeps a bell.
// In:  {type: 'tenants', tenants} of the plan, more or the same · {type: 'want', names} records wait on disk
//      {type: 'part', id, names, timeoutMs} · {type: 'stop', timeoutMs}
//      {type: 'answer', name, ack, status} the first status of a command
// Out: {type: 'state', …} · {type: 'problem', …} · {type: 'parted', id} · {type: 'stopped'}
//      {type: 'command', name, command, ack} from a tenant

const { parentPort, threadId, workerData } = require('node:worker_threads');
const { KeeperClient } = require('../keeper/keeper-client');
const { KeeperEvents } = require('../keeper/keeper-events');
const { checkOptions } = require('../../settings/uplink-options');
const { ProblemCounts } = require('../../uplink/problem-counts');
const { Turns } = require('../../uplink/turns');
const { checkStage, compileStage } = require('../../uplink/sending/uplink-stage');
const { Roster } = require('./roster');
const { TenantSession } = require('./tenant-session');
const { Watchdog } = require('./watchdog');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
/** @type {import('./tenants-thread').CheckedOptions} */
const options = workerData.options;
/** @type {number} Engine.token */
const token = workerData.token;
/** @type {typeof import('../../../../native')} */
const native = require(options.nativePath);

const TICK_MS = 250;
const SECOND_MS = 1000;

const now = () => performance.now();
const problems = new ProblemCounts();
const turns = new Turns({ native, run, load });
// A tenant's device listener passes no user properties on, so the topic marks records from the log.
const stage = compileStage(checkStage({ topic: options.topic, history: 'suffix' }), options.gateway);
/** Of sessions that ended. @type {Record<string, number>} */
const past = {};
let isStopping = false;

const keeper = new KeeperClient({ socket: options.socket });
const roster = new Roster({
  keeper,
  // It takes no batches: a record waits until the tenant is awake, and is written at once.
  attach: (number, onBell) => new native.UplinkSource(token, number, onBell, undefined, true),
  connect: (tenant, lease, onState) =>
    new TenantSession({
      options: connectionTo(lease),
      native,
      engine: { token, number: tenant.number },
      stage: { id: tenant.stage, stage },
      wake: () => turns.wake(),
      now,
      problem: (code, reason) => problems.add(`${tenant.name} ${code}`, `Tenant ${tenant.name}: ${reason}`),
      onState,
      onCommand: (command, ack) =>
        port.postMessage({ type: 'command', name: tenant.name, command, ack: [threadId, ack] }),
      onEnd: (counts) => {
        for (const [name, count] of Object.entries(counts)) past[name] = (past[name] ?? 0) + count;
      }
    }),
  now,
  holder: `gateway ${options.gateway}`,
  mostAwake: options.mostAwake,
  idleMs: options.idleMs,
  connectMs: options.connectMs
});

const watchdog = new Watchdog({
  keeper,
  roster,
  now,
  found: (name, what) =>
    problems.add(`${name} WATCHDOG`, `Tenant ${name}: ${what}. It is tried again; please report this.`)
});
// Only the keeper knows that a tenant was mended and woken.
const events = new KeeperEvents(
  { socket: options.socket },
  {
    onEvent: (event) => roster.onKeeperEvent(event),
    onState: (problem) => {
      if (!problem) roster.retryAll();
    }
  }
);

/** @param {import('../keeper/keeper-client').Lease} lease */
function connectionTo({ host, port: tcpPort, user, password }) {
  const checked = checkOptions(
    {
      url: `mqtt://${host.includes(':') ? `[${host}]` : host}:${tcpPort}`,
      gateway: options.gateway,
      clientId: user || 'front',
      // The PUBACK of MQTT 3.1.1 cannot say that a command was not kept.
      protocolVersion: 5,
      groups: 'all',
      username: user,
      password,
      // The network between the two is this machine's, so there is nobody to make room for.
      backlogRate: 0,
      connectTimeoutMs: options.connectMs,
      nativePath: options.nativePath
    },
    options.nativePath
  );
  return { ...checked, maxPacketBytes: options.maxPacketBytes };
}

function* sessions() {
  for (const { session } of roster.slots.active) if (session) yield session;
}

/** Runs a turn of all sessions. @returns {boolean} false: the thread stops, and must not rest */
function run() {
  for (const session of sessions()) session.turn();
  return !isStopping;
}

function load() {
  let records = past.records ?? 0;
  let isWaiting = false;
  for (const session of sessions()) {
    const each = session.load;
    records += each.records;
    isWaiting ||= each.isWaiting;
  }
  return { records, isWaiting };
}

function report() {
  const totals = { ...past };
  for (const session of sessions())
    for (const [name, count] of Object.entries(session.counts())) totals[name] = (totals[name] ?? 0) + count;
  port.postMessage({
    type: 'state',
    counts: roster.counts(),
    keeperProblem: roster.outage.problem || events.problem || '',
    changes: roster.changes(),
    totals
  });
}

function everySecond() {
  for (const session of sessions()) session.everySecond();
  for (const each of problems.take()) port.postMessage({ type: 'problem', ...each });
  report();
}

/** @param {{ name: string, number: number, stage: number }[]} tenants */
function add(tenants) {
  try {
    for (const tenant of tenants) roster.add(tenant);
  } catch (error) {
    const reason = `The thread of the tenants cannot reach its engine: ${error}.`;
    port.postMessage({ type: 'problem', code: 'ENGINE', reason, count: 1 });
  }
}

/** @param {number} timeoutMs */
async function stop(timeoutMs) {
  isStopping = true;
  events.close();
  await roster.stop(timeoutMs);
  for (const timer of timers) clearInterval(timer);
  turns.stop();
  report();
  port.postMessage({ type: 'stopped' });
  port.close();
}

port.on('message', (message) => {
  if (message.type === 'tenants') add(message.tenants);
  else if (message.type === 'want') for (const name of message.names) roster.want(name);
  else if (message.type === 'part') {
    const { id, names, timeoutMs } = message;
    void Promise.all(names.map((/** @type {string} */ name) => roster.part(name, timeoutMs))).then(() =>
      port.postMessage({ type: 'parted', id })
    );
  } else if (message.type === 'answer') {
    const { name, ack, status } = message;
    const [thread, number] = ack;
    // The numbers of another thread are other commands. Those of another session are not open.
    if (thread === threadId) roster.tenants.get(name)?.session?.commands.answer(number, status);
  } else if (message.type === 'stop' && !isStopping) void stop(message.timeoutMs);
});

function tick() {
  roster.tick();
  void watchdog.tick();
}

events.open();
const timers = [setInterval(tick, TICK_MS), setInterval(everySecond, SECOND_MS)];

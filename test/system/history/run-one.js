'use strict';
// One run: the load, the faults of the schedule, the quiet end, and the verdict.

const fs = require('node:fs');
const path = require('node:path');
const { check } = require('./checker');
const { Context } = require('./context');
const { readDeadLetters } = require('./dead-letters');
const { COPY } = require('./faults/flow-edits');
const { faults } = require('./faults');
const { payloadOf } = require('./devices/payload');
const { Progress } = require('./progress');

/** @typedef {import('./schedule').Schedule} Schedule */

/** A fault of this length lasts for the whole run. */
const FOR_GOOD = 1e6;

/** After this time without progress nothing more is expected. A CONNECT without an answer is given up after 10 s. */
const QUIET_MS = 13000;
const QUIET_PEER_MS = 3000;
const LONGEST_MS = 60000;
/** Of the gateway, while there is progress: the link or the machine may be slow. */
const LONGEST_OURS_MS = 240000;
/** The gateway's own sentence about records that stood still although the way was free. */
const STALL = /did not move for \d+ s although/;
const NUDGE_MS = 2500;
/**
 * A line of an envelope without its payload: {"d":"dev-000","t":"d/dev-000/c1","ts":…,"s":0,"c":1,"p":} and a line
 * feed.
 */
const LINE_BYTES = 71;

/** @param {Context} context */
async function haveFaults(context) {
  const { history, schedule } = context;
  const start = context.clock();
  await Promise.all(
    schedule.faults.map(async (fault) => {
      await context.wait(start + fault.at - context.clock());
      const reported = { kind: fault.kind, time: context.clock(), until: Infinity };
      history.faults.push(reported);
      // Faults that last for the whole run end with it.
      const done = faults[fault.kind](context, fault);
      if (fault.for >= FOR_GOOD) return;
      await done;
      reported.until = context.clock();
    })
  );
  await context.wait(start + schedule.seconds * 1000 - context.clock());
}

/**
 * Waits until everything has arrived, or progress stops.
 * @param {Context} context
 * @returns {Promise<boolean>} true if the end is quiet: nothing is in flight
 */
async function settle(context) {
  const { history, fleet, schedule, system, isOurs } = context;
  const progress = new Progress(history);
  const start = performance.now();
  let moved = start;
  let last = '';
  let nudged = start;
  for (;;) {
    // A refused record is given up only when the broker takes another one meanwhile.
    if (schedule.allowedDrops.includes('deadLetter') && performance.now() - nudged > NUDGE_MS) {
      nudged = performance.now();
      fleet.nudge();
    }
    const owed = progress.look();
    const state = `${owed} ${fleet.unacked} ${history.arrivals.length}`;
    const now = performance.now();
    if (state !== last) moved = now;
    last = state;
    const stats = isOurs ? await context.sampler?.look() : null;
    const held = stats ? total(stats.heldRecords) + total(stats.backlogRecords) : NaN;
    const dead = [...history.stats, stats].reduce(
      (sum, each) => schedule.allowedDrops.reduce((most, reason) => most + total(each?.drops?.[reason]), sum),
      0
    );
    const isEmpty = isOurs ? held === 0 : true;
    if (owed <= dead && fleet.unacked === 0 && isEmpty && (isOurs || now - moved > 500)) return true;
    const patience = isOurs ? QUIET_MS : QUIET_PEER_MS;
    const longest = isOurs ? LONGEST_OURS_MS : LONGEST_MS;
    if (now - moved > patience || now - start > longest || !system.isAlive) {
      if (!system.isAlive) context.problem('exit', 'the gateway ended by itself');
      if (isOurs && !stats) context.problem('stats', 'the gateway does not answer');
      return fleet.unacked === 0 && isEmpty;
    }
    await context.wait(50);
  }
}

/** @param {number[] | undefined} byClass */
const total = (byClass) => (byClass || []).reduce((sum, each) => sum + each, 0);

/** @param {Context} context @param {boolean} settled @returns {import('./history').Settings} */
function settingsOf({ schedule, history, isUnordered }, settled) {
  const shortest = payloadOf(
    { ...schedule.shape, maxPad: schedule.shape.minPad, bigEvery: 0 },
    'dev-000',
    1,
    0
  ).length;
  const { batchMode, batchBytes, inflight, memoryMiB, logMiB } = schedule.gateway;
  const recordsPerPublish =
    batchMode === 'envelope' ? Math.max(1, Math.floor(batchBytes / (LINE_BYTES + shortest))) : 1;
  const [first] = history.samples;
  return {
    window: inflight,
    recordsPerPublish,
    // One a class that is partly delivered, and one a class that is delivered and not yet deleted.
    chunks: 8,
    chunkRecords: 256,
    rssLimitBytes: first ? first.rssBytes + (memoryMiB << 20) + (160 << 20) : 0,
    diskLimitBytes: (logMiB << 20) + (16 << 20),
    allowedDrops: schedule.allowedDrops,
    harmlessDrops: schedule.harmlessDrops,
    slackMs: 250 + queuedMs(schedule, history),
    isUnordered,
    oneBacklog: !schedule.faults.some(({ steps }) => steps?.some(({ edit }) => edit === COPY)),
    settled
  };
}

/**
 * @param {Schedule} schedule @param {import('./history').History} history
 * @returns {number} ms that a whole window takes to pass the slow link: so late the proxy reads what left the gateway
 */
function queuedMs({ faults: all, gateway }, { arrivals }) {
  const rate = Math.max(0, ...all.map(({ bytesPerSecond = 0 }) => bytesPerSecond));
  const largest = arrivals.reduce((most, { bytes }) => Math.max(most, bytes), 0);
  return rate > 0 ? (gateway.inflight * largest * 1000) / rate : 0;
}

/** Keeps the files that explain a run. @param {Context} context @param {any} result */
function keep({ folder, history, system, broker }, result) {
  const { verdict, settings, schedule } = result;
  const write = (/** @type {string} */ name, /** @type {string} */ text) =>
    fs.writeFileSync(path.join(folder, name), text);
  write('schedule.json', JSON.stringify(schedule, null, 1));
  write('history.json', JSON.stringify({ history, settings }));
  write('verdict.json', JSON.stringify(verdict, null, 1));
  const reported = verdict.violations.map(({ what, text, history: lines }) =>
    [`${what}: ${text}`, ...lines].join('\n  ')
  );
  write('violations.txt', `${reported.join('\n\n')}\n`);
  write('gateway.log', system.output);
  write('broker.log', broker.output);
}

/**
 * @param {Schedule} schedule
 * @param {{peer: string, folder: string}} options folder: exists, is empty, and stays if the run fails
 */
async function runOne(schedule, { peer, folder }) {
  const started = performance.now();
  const context = await Context.make(schedule, { peer, folder });
  const { history, isOurs } = context;
  try {
    await context.open();
    context.fleet.start();
    await haveFaults(context);
    context.fleet.quiet();
    const settled = await settle(context);
    const stats = await context.sampler?.look();
    if (stats) context.sampler?.ended();
    context.sampler?.stop();
    if (context.system.isAlive) {
      const codes = await context.system.stop();
      if (isOurs && codes.some((/** @type {number} */ code) => code !== 0))
        context.problem('exit', `exit codes ${codes} at the end`);
    }
    const letters = isOurs ? readDeadLetters(context.logFolder) : { dead: [], quarantined: 0, problems: [] };
    history.dead = letters.dead;
    for (const problem of letters.problems) context.problem('database', problem);
    // It heals by itself, and is a fault nevertheless.
    if (STALL.test(context.system.output))
      context.problem('stall', 'records stood still until the watch woke them');
    if (letters.quarantined > 0) context.problem('database', `${letters.quarantined} chunks in quarantine`);
    const settings = settingsOf(context, settled);
    const verdict = check(history, settings);
    const injected = context.ioShim?.get().injected ?? 0;
    const result = {
      peer,
      schedule,
      settings,
      verdict,
      injected,
      wallMs: performance.now() - started,
      folder
    };
    if (!verdict.valid) keep(context, result);
    return result;
  } catch (error) {
    fs.writeFileSync(path.join(folder, 'gateway.log'), context.system.output);
    throw error;
  } finally {
    await context.close();
  }
}

/** @typedef {Awaited<ReturnType<typeof runOne>>} Result */

module.exports = { runOne };

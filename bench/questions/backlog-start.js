'use strict';
// Starts the gateway with a large backlog on disk. Measures the time until a device connects, until an alarm arrives,
// and until the backlog has drained.  node bench/questions/backlog-start.js --help

const fs = require('node:fs');
const path = require('node:path');
const { makeLog } = require('../harness/make-log');
const { Stage, sleep } = require('../runs/stage');
const { readOptions, fail } = require('../options/options');
const { liveAlarms } = require('../stats/latency');
const { readGroups } = require('../harness/proc');
const { diskUsage } = require('../harness/volume');
const { conditions, markdown, list, save, fixed } = require('../report/report');

const intro = `Usage: node bench/questions/backlog-start.js [options]

Fills the log while the cloud is down (--devices together send --fill-rate messages per second until there are
--records), stops the gateway, starts the cloud and then the gateway. Meanwhile one device keeps trying to connect;
it then sends an alarm at once and ten per second until the backlog has drained.
--make writes the log directly, in its documented format: seconds instead of minutes.`;

/** The device that sends the alarms. It did not fill the log. */
const probeDevice = 40000;

/** @param {Stage} stage @param {number} records @param {number} total messages per second of all devices */
async function fill(stage, records, total) {
  const since = Date.now();
  const load = stage.startLoad({
    rate: total / stage.profile.devices,
    seconds: records / total,
    drain: 600, // for a log that is slower than the generator
    'late-ms': 60000
  });
  const sent = await load.result();
  return { acked: sent.acked, seconds: (Date.now() - since) / 1000 };
}

/** @param {Stage} stage @param {number} records */
function make(stage, records) {
  const since = Date.now();
  const { devices, payload, alarmEvery } = stage.profile;
  const folder = stage.profile.gatewayEnv.SEGANET_LOG_DIR;
  fs.rmSync(folder, { recursive: true, force: true });
  stage.made = makeLog(folder, { records, devices, payload, alarmEvery });
  return { acked: records, seconds: (Date.now() - since) / 1000 };
}

/**
 * Waits until all `expected` records of the backlog have arrived, or none has arrived for 20 s.
 * @param {Stage} stage @param {import('../runs/stage').Load} probe @param {number} expected @param {number} deadlineMs
 */
async function drained(stage, probe, expected, deadlineMs) {
  const slack = 20; // generator and sink do not report at the same moment
  let most = 0;
  let since = Date.now();
  const memory = [];
  while (Date.now() < deadlineMs && Date.now() - since < 20000) {
    const { sent } = probe.progress().pop() || { sent: 0 };
    const arrived = stage.arrivedSoFar().unique - sent;
    if (arrived > most + slack) {
      most = arrived;
      since = Date.now();
    }
    const { children } = /** @type {import('../options/systems').System} */ (stage.system);
    memory.push(readGroups(children.map(({ pid }) => pid)).rssBytes / 1e6);
    if (arrived >= expected - slack) break;
    await sleep(500);
  }
  return Math.max(...memory);
}

/** @param {import('../runs/measure').Profile} profile @param {Record<string, any>} own */
async function run(profile, own) {
  const stage = new Stage({ ...profile, statistics: true });
  stage.profile.gatewayEnv = {
    SEGANET_LOG_DIR: path.join(stage.folder, 'log'),
    ...profile.gatewayEnv
  };
  try {
    await stage.open({ 'skip-ms': 0 });
    const cloud = /** @type {import('../harness/cloud').Cloud} */ (stage.cloud);
    const system = await stage.startSystem('seganet');
    const gateway = /** @type {import('../harness/bench-gateway').BenchGateway} */ (system.gateway);
    await cloud.stop();
    let filled = own.make ? undefined : await fill(stage, own.records, own['fill-rate']);
    const stored = (await gateway.stats())?.storedRecords;
    await (own.ending === 'kill' ? gateway.kill() : gateway.stop());
    filled ??= make(stage, own.records);
    const logMB = diskUsage(gateway.logFolder) / 1e6;
    await cloud.start();
    await stage.sinkBack();

    const probe = stage.startLoad({
      devices: 1,
      'first-device': probeDevice,
      rate: 10,
      seconds: own['drain-seconds'],
      'alarm-every': 1,
      'connect-seconds': 120,
      'lead-ms': 0,
      'progress-ms': 200
    });
    const startedMs = Date.now();
    const listeningMs = await system.restart();
    await probe.started();
    const rssMB = await drained(stage, probe, filled.acked, startedMs + own['drain-seconds'] * 1000);
    probe.child.process.kill('SIGTERM'); // it still prints its result
    await stage.settle(Infinity, 2000);
    const ending = await stage.finish();
    return { filled, stored, logMB, startedMs, listeningMs, probeMs: probe.startMs, rssMB, ...ending };
  } finally {
    await stage.close();
  }
}

/** @param {Awaited<ReturnType<typeof run>>} result */
function describe({ samples, startedMs, probeMs, verdict, arrived, filled }) {
  const alarms = samples.filter(({ alarm, intendedMs }) => alarm && intendedMs >= probeMs);
  const backlog = samples.filter(
    ({ intendedMs, arrivedMs }) => intendedMs < startedMs && arrivedMs > startedMs
  );
  const lastMs = Math.max(...backlog.map(({ arrivedMs }) => arrivedMs));
  const drainS = (lastMs - startedMs) / 1000;
  return {
    connectedS: (probeMs - startedMs) / 1000,
    firstAlarmS: alarms.length ? (alarms[0].arrivedMs - startedMs) / 1000 : NaN,
    firstBacklogS: backlog.length ? (backlog[0].arrivedMs - startedMs) / 1000 : NaN,
    drainS,
    perSecond: filled.acked / drainS,
    live: liveAlarms(samples, probeMs, lastMs),
    lost: verdict ? verdict.lost : NaN,
    duplicates: arrived.duplicates
  };
}

const head = ['waiting records', 'log MB', 'listening after s', 'device connected after s'];
head.push('first alarm in the cloud after s', 'first backlog record after s', 'drained after s');
head.push('records/s', 'live alarms meanwhile: p50 / p99 ms (count)', 'RSS MB', 'lost', 'duplicates');
head.push('out of order', 'filled in s', 'clean exit');

/** @param {Awaited<ReturnType<typeof run>>} result */
function row(result) {
  const told = describe(result);
  return [
    result.filled.acked,
    fixed(result.logMB, 1),
    fixed(result.listeningMs / 1000, 2),
    fixed(told.connectedS, 2),
    `**${fixed(told.firstAlarmS, 2)}**`,
    fixed(told.firstBacklogS, 2),
    fixed(told.drainS, 1),
    fixed(told.perSecond),
    `${fixed(told.live.p50, 1)} / ${fixed(told.live.p99, 1)} (${told.live.count})`,
    fixed(result.rssMB),
    told.lost,
    told.duplicates,
    result.arrived.outOfOrder,
    fixed(result.filled.seconds, 1),
    result.cleanEnd ? 'yes' : 'NO'
  ];
}

async function main() {
  const { profile, repeat, out, own } = readOptions(intro, {
    defaults: { systems: '', devices: '200', payload: '300', repeat: '1' },
    numbers: {
      records: ['1000000', 100, 20000000, 'records in the backlog'],
      'fill-rate': ['20000', 10, 200000, 'messages per second of all devices while the log is filled'],
      'drain-seconds': ['900', 5, 3600, 'longest time for the backlog to drain']
    },
    texts: { ending: ['stop', 'how the first gateway ends: stop (SIGTERM) | kill (kill -9)'] },
    flags: { make: 'write the log directly instead of sending records' }
  });
  if (own.ending !== 'stop' && own.ending !== 'kill') fail('--ending must be stop or kill');
  const facts = conditions(profile, repeat);
  const how = own.make ? 'written directly' : `${own['fill-rate']} msg/s of`;
  facts.load = `${how} ${profile.devices} devices until ${own.records} records wait, ${profile.payload} B, every ${profile.alarmEvery}th an alarm; ended with ${own.ending}; then one device × 10 alarms/s`;
  const runs = [];
  for (let round = 0; round < repeat; round += 1) runs.push(await run(profile, own));
  console.log(`${list(facts)}\n\n${markdown(head, runs.map(row))}`);
  save(out, { conditions: facts, profile, runs: runs.map((each) => ({ ...each, told: describe(each) })) });
}

main();

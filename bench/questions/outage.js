'use strict';
// Stops the cloud under load and starts it again. Reports lost, repeated and reordered records, memory and disk use,
// and the effect of the backlog on live alarms.  node bench/questions/outage.js --help

const { measure, sleep } = require('../runs/measure');
const { readOptions } = require('../options/options');
const { describeOutage, thinned } = require('../stats/outage-summary');
const { diskUsage } = require('../harness/volume');
const { conditions, markdown, list, save, fixed } = require('../report/report');

const intro = `Usage: node bench/questions/outage.js [options]

The cloud broker stops under load and returns (its persistent sessions survive). 'lost' counts records whose device
has a PUBACK and that never arrived; 'redelivered' counts the cloud's own redeliveries to the sink. Resident memory
and the size of the log are sampled every second. The load continues while the backlog drains, so the latency of live
alarms (class 1) can be compared with that before the outage.
Ten minutes at 1,000 msg/s:
  node bench/questions/outage.js --outage 600 --devices 100 --rate 10 --alarm-every 10 --from 30`;

/** @typedef {import('../runs/stage').Stage} Stage */

/** @param {number} from second @param {number} length s */
function interrupt(from, length) {
  const times = { downMs: 0, upMs: 0 };
  /** @param {import('../harness/cloud').Cloud} cloud @param {number} startMs */
  const during = async (cloud, startMs) => {
    await sleep(startMs + from * 1000 - Date.now());
    times.downMs = Date.now();
    await cloud.stop();
    await sleep(startMs + (from + length) * 1000 - Date.now());
    await cloud.start();
    times.upMs = Date.now();
  };
  return { during, times };
}

/** Returns the additional values that are sampled every second. @param {Stage} stage */
async function observe({ system }) {
  if (!system || !system.gateway) return {};
  const stats = await system.gateway.stats();
  /** @param {number[] | undefined} values */
  const sum = (values) => (values ? values.reduce((a, b) => a + b, 0) : undefined);
  return {
    logMB: diskUsage(system.gateway.logFolder) / 1e6,
    heldMB: stats ? stats.heldBytes / 1e6 : undefined,
    stored: stats ? sum(stats.storedRecords) : undefined,
    log: stats && stats.log ? stats.log.state : undefined
  };
}

/** @param {import('../stats/outage-summary').Described} described */
function row({ result, summary }) {
  const { system, sent, arrived, verdict, cleanEnd } = result;
  const { normal } = arrived.latencyUs;
  return [
    system,
    sent.sent,
    sent.acked,
    verdict ? verdict.lost : '–',
    arrived.duplicates,
    arrived.outOfOrder,
    arrived.redelivered,
    arrived.historical,
    sent.connectionLosses,
    sent.late,
    sent.unsent,
    fixed(Math.max(normal.max, arrived.historicalLatencyUs.normal.max) / 1e6, 1),
    fixed(summary.uplinkBackS, 1),
    fixed(summary.drainS, 1),
    cleanEnd ? 'yes' : 'NO'
  ];
}

const head = ['system', 'sent', 'acked', 'lost', 'duplicates', 'out of order', 'redelivered', 'historical'];
head.push('device connections lost', 'late sends', 'never sent', 'max latency s');
head.push('first arrival after the return s', 'drained after s', 'clean exit');

/** @param {import('../stats/outage-summary').Described} described */
function limitsRow({ result, summary }) {
  const { before, draining } = summary;
  return [
    result.system,
    summary.rssBeforeMB,
    summary.rssMaxMB,
    summary.rssMaxMB - summary.rssBeforeMB,
    fixed(summary.budgetMB),
    fixed(summary.logMaxMB, 1),
    fixed(summary.logLimitMB),
    `${fixed(before.p50, 1)} / ${fixed(before.p99, 1)} (${before.count})`,
    `${fixed(draining.p50, 1)} / ${fixed(draining.p99, 1)} (${draining.count})`,
    fixed((draining.p99 ?? NaN) / (before.p99 ?? NaN), 2)
  ];
}

const limitsHead = ['system', 'RSS before MB', 'max RSS MB', 'growth MB', 'memory budget MB', 'max log MB'];
limitsHead.push('log limit MB', 'live alarms before: p50 / p99 ms (count)');
limitsHead.push('while draining: p50 / p99 ms (count)', 'p99 ratio');

async function main() {
  const { profile, names, repeat, out, own } = readOptions(intro, {
    defaults: { seconds: '3', warmup: '1', repeat: '1', systems: 'seganet' },
    numbers: {
      from: ['10', 2, 600, 'seconds of load before the outage'],
      outage: ['10', 1, 3600, 'length of the outage in seconds'],
      after: ['0', 0, 3600, 'least seconds of load after it; 0 = a third of its length, at least 20']
    },
    flags: { 'no-statistics': 'leave the admin API closed; the report then has less about the log' }
  });
  const after = own.after || Math.max(20, own.outage / 3);
  profile.seconds = Math.max(profile.seconds, own.from + own.outage + after);
  const facts = {
    ...conditions(profile, repeat),
    outage: `after ${own.from} s, for ${own.outage} s`
  };
  const described = [];
  for (let round = 0; round < repeat; round += 1) {
    for (const name of names) {
      const { during, times } = interrupt(own.from, own.outage);
      const result = await measure(name, {
        ...profile,
        during,
        observe,
        statistics: !own['no-statistics'],
        quietMs: 15000,
        drain: 60,
        settleMs: 120000 + own.outage * 2000
      });
      described.push({ result, summary: describeOutage(result, profile, times) });
    }
  }
  console.log(`${list(facts)}\n\n${markdown(head, described.map(row))}`);
  console.log(`\n${markdown(limitsHead, described.map(limitsRow))}`);
  for (const { result } of described) {
    const samples = thinned(result.memory, 40).map(({ second, rssMB, logMB, heldMB, stored, log }) => {
      return [second, rssMB, fixed(heldMB, 1), fixed(logMB, 1), fixed(stored), log ?? '–'];
    });
    const columns = ['second', 'RSS MB', 'records in memory MB', 'log MB', 'records on disk', 'log'];
    console.log(`\n${result.system}:\n\n${markdown(columns, samples)}`);
    console.log(`\narrivals per second ${result.arrived.arrivalsPerSecond.join(' ')}`);
  }
  save(out, { conditions: facts, profile, runs: described });
}

main();

'use strict';
// The cloud is stopped under load and started again: what is lost, repeated, out of order, and how much
// memory the wait takes.  node bench/outage.js --help

const fs = require('node:fs');
const { measure, sleep } = require('./lib/measure');
const { readOptions } = require('./lib/options');
const { conditions } = require('./lib/report');

const outage = { fromSecond: 10, seconds: 10 };

const intro = `Usage: node bench/outage.js [options]

The cloud broker stops ${outage.fromSecond} s after the start of the load for ${outage.seconds} s (its persistent sessions survive). Lost are records
whose device holds a PUBACK and that never arrived. 'redelivered' are the cloud's own repetitions to the sink.`;

/**
 * @param {import('../test/fixtures/cloud').Cloud} cloud
 * @param {number} startMs
 */
async function interrupt(cloud, startMs) {
  await sleep(startMs + outage.fromSecond * 1000 - Date.now());
  await cloud.stop();
  await sleep(startMs + (outage.fromSecond + outage.seconds) * 1000 - Date.now());
  await cloud.start();
}

/** @param {import('./lib/measure').Result} result */
function row(result) {
  const { sent, arrived, verdict } = result;
  return [
    result.system,
    sent.sent,
    sent.acked,
    verdict ? verdict.lost : '–',
    arrived.duplicates,
    arrived.outOfOrder,
    arrived.redelivered,
    sent.connectionLosses,
    sent.late,
    sent.unsent,
    (arrived.latencyUs.normal.max / 1e6).toFixed(1),
    result.rssMB,
    result.cleanEnd ? 'yes' : 'NO'
  ];
}

async function main() {
  const defaults = { seconds: '40', repeat: '1', systems: 'seganet' };
  const { profile, names, repeat, out } = readOptions(intro, defaults);
  const length = outage.fromSecond + outage.seconds + 5;
  if (profile.seconds < length) {
    console.error(`--seconds must be at least ${length}, so that the load goes on after the outage`);
    process.exit(2);
  }
  const results = [];
  for (let round = 0; round < repeat; round += 1) {
    for (const name of names) {
      results.push(await measure(name, { ...profile, quietMs: 15000, drain: 60, during: interrupt }));
    }
  }
  const facts = conditions(profile, repeat);
  console.log(
    Object.entries(facts)
      .map(([name, value]) => `- ${name}: ${value}`)
      .join('\n')
  );
  const head = ['system', 'sent', 'acked', 'lost', 'duplicates', 'out of order', 'redelivered'];
  head.push(
    'device connections lost',
    'late sends',
    'never sent',
    'max latency s',
    'max RSS MB',
    'clean end'
  );
  const rows = [head, head.map(() => '---'), ...results.map(row)];
  console.log(`\n${rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`);
  for (const result of results) {
    const samples = result.memory.map(({ second, rssMB }) => `${second}:${rssMB}`).join(' ');
    console.log(`${result.system}: RSS MB by second ${samples}`);
    console.log(`${result.system}: arrivals a second ${result.arrived.arrivalsPerSecond.join(' ')}`);
  }
  if (out) fs.writeFileSync(out, `${JSON.stringify({ conditions: facts, profile, results }, null, 1)}\n`);
}

main();

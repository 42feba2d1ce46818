'use strict';
// Seeded fail-overs of an uplink with several URLs.  node native/node/run.js test/system/uplink-urls/run.js --help

const { parseArgs } = require('node:util');
const { seeded } = require('../../fixtures/random');
const { FAULTS, runFailovers } = require('./scenario');

const HELP = `node native/node/run.js test/system/uplink-urls/run.js [--runs N] [--seed N]

The uplink has three URLs, of real mosquittos that share nothing. The broker where it is fails (${FAULTS.join(', ')};
with the last two it is killed, and the next one refuses the gateway), the uplink moves, and the brokers are repaired,
while records of two classes are sent in two sessions. The command fails if a record is lost, if the first copies of a
class arrive out of order, or if the number of fail-overs differs.

  --runs N      fail-overs (100)
  --seed N      (default: from the clock); it is printed
`;

async function main() {
  const { values } = parseArgs({
    options: { help: { type: 'boolean' }, runs: { type: 'string' }, seed: { type: 'string' } }
  });
  if (values.help) return process.stdout.write(HELP);
  const seed = Number(values.seed ?? Date.now() % 2 ** 31);
  const failovers = Number(values.runs ?? 100);
  const log = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);
  log(`seed ${seed}`);
  const { sent, lost, unanswered, disorder, copies, longestGapMs, gaps, ...outcome } = await runFailovers({
    failovers,
    random: seeded(seed),
    log
  });
  log(
    `${outcome.failovers} fail-overs, ${sent} records: ${lost} lost, ${disorder} out of order, ${copies} copies, ` +
      `longest gap ${longestGapMs} ms ${JSON.stringify(gaps)}`
  );
  process.exitCode = lost + unanswered + disorder > 0 || outcome.failovers !== failovers ? 1 : 0;
}

void main();

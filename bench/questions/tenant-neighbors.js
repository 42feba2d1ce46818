'use strict';
// Measures what a hostile tenant in a container costs its neighbor.
//   node native/node/run.js bench/questions/tenant-neighbors.js --help

const { parseArgs } = require('node:util');
const { lackingEngine } = require('../harness/containers');
const { fail } = require('../harness/arguments');
const { killAll } = require('../harness/child');
const { percentile } = require('../stats/latency');
const { runInside } = require('../tenants/containers/inside');
const { ATTACKS } = require('../tenants/containers/neighbors');

const USAGE = `Usage: node native/node/run.js bench/questions/tenant-neighbors.js [options]

Measures how long a record of one tenant takes to its flow, and to the PUBACK, which the front sends when the tenant has
acknowledged it: alone, and beside an endless loop, memory eaters, a fork bomb, a writer and a flood of output in another
tenant. Seconds with and without the attack take turns. Needs root; nothing of it stays behind.

Options (defaults in parentheses):
  --engine   docker | podman (docker)
  --rounds   rounds (1)
  --seconds  seconds with each attack, and as many without it (10)
  --cpus     processors that the hostile tenant may use (1)
  --cgroup   control group of the tenants, as SEGANET_TENANTS_CGROUP; engine: that of their engine (beside other programs)
  --attacks  some of ${ATTACKS.join(', ')}, with commas between them (all)`;

const TIMES = /** @type {const} */ ([
  ['puback', 'PUBACK'],
  ['arrived', 'in the tenant']
]);
/** Of criterion 14. */
const LIMIT = 2;

/** @param {number | undefined} value */
const ms = (value) => (value ?? NaN).toFixed(2);

/**
 * A p99 of some hundred records is that of a few, so a single round says little: the median of five or more counts.
 * @param {Map<string, number[]>} ratios of the rounds, by attack and time
 */
function summary(ratios) {
  const rows = [...ratios].map(([attack, values]) => {
    const median = percentile(values, 0.5) ?? NaN;
    const range = `${ms(Math.min(...values))} to ${ms(Math.max(...values))}`;
    return `| ${attack} | ${ms(median)} | ${range} | ${median <= LIMIT ? 'yes' : 'no'} |`;
  });
  return [
    '',
    `| attack | median p99 ratio | rounds | at most ${LIMIT} |`,
    '| --- | --- | --- | --- |',
    ...rows
  ].join('\n');
}

async function main() {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      engine: { type: 'string', default: 'docker' },
      rounds: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '10' },
      cpus: { type: 'string', default: '1' },
      cgroup: { type: 'string', default: '' },
      attacks: { type: 'string', default: ATTACKS.join(',') }
    }
  });
  if (values.help) return console.log(USAGE);
  const { engine, cgroup } = values;
  if (engine !== 'docker' && engine !== 'podman') return fail('--engine is docker or podman.');
  const [rounds, seconds, cpus] = [values.rounds, values.seconds, values.cpus].map(Number);
  if (!(rounds >= 1 && seconds >= 1 && cpus > 0)) return fail('--rounds, --seconds and --cpus take numbers.');
  const attacks = values.attacks.split(',');
  if (!attacks.every((each) => ATTACKS.includes(each))) return fail(`--attacks are ${ATTACKS.join(', ')}.`);
  const lacks = lackingEngine(engine);
  if (lacks) return fail(lacks);
  console.log('| round | attack | records | until | alone p50 | p99 ms | beside p50 | p99 ms | p99 ratio |');
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- | --- |');
  /** @type {Map<string, number[]>} by attack and time */
  const ratios = new Map();
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.once(signal, () => {
      killAll(); // and with it all that runs inside
      console.log(summary(ratios));
      process.exit(130);
    });
  }
  for (let round = 1; round <= rounds; round++) {
    const results = await runInside(engine, 'neighbors', { seconds, cpus, cgroup, attacks });
    for (const { attack, alone, beside } of results) {
      for (const [time, words] of TIMES) {
        const [quiet, busy] = [alone[time], beside[time]];
        const ratio = (busy.p99 ?? NaN) / (quiet.p99 ?? NaN);
        const figures = [quiet.p50, quiet.p99, busy.p50, busy.p99, ratio].map(ms);
        console.log(`| ${[round, attack, busy.count, words, ...figures].join(' | ')} |`);
        const key = `${attack}, ${words}`;
        ratios.set(key, [...(ratios.get(key) ?? []), ratio]);
      }
    }
  }
  console.log(summary(ratios));
}

main().catch((error) => fail(error.message));

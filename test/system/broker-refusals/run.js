'use strict';
// Random brokers that refuse and close with every reason code, and the real engine and uplink thread.
// node native/node/run.js test/system/broker-refusals/run.js --help

const { parseArgs } = require('node:util');
const { seeded } = require('../../fixtures/random');
const { runScenario } = require('./scenario');

const HELP = `node native/node/run.js test/system/broker-refusals/run.js [--runs N] [--seed N] [--parallel N]

Each run has a broker of its own (MQTT 3.1.1 or 5, on loopback) that refuses some CONNECTs, closes connections at random or
after a number of acknowledgements, and refuses packets, with any reason code. It never takes one kind of record: it closes
on its topic or its size, or refuses it each time. A run fails if

  - a record that the broker takes does not arrive, or becomes a dead letter,
  - a record that it never takes does not become a dead letter, or holds up the others,
  - something waits after the last record, without a new record and without a deploy,
  - a packet is sent again with DUP after a PUBACK that refused it.

  --runs N      number of brokers (40)
  --parallel N  how many at once (4)
  --seed N      of the first run; run N has the seed plus N (default: from the clock); the seeds are printed
`;

/**
 * @param {{ runs: number, seed: number, parallel?: number, log?: (line: string) => void }} options
 * @returns {Promise<string[]>} findings
 */
async function runAll({ runs, seed, parallel = 4, log = () => {} }) {
  /** @type {string[]} */
  const all = [];
  let next = seed;
  const work = async () => {
    while (next < seed + runs) {
      const own = next++;
      const begun = Date.now();
      const { findings, what } = await runScenario(seeded(own));
      const result = findings.length === 0 ? 'ok' : findings.slice(0, 5).join('; ');
      log(`seed ${own}, ${((Date.now() - begun) / 1000).toFixed(1)} s: ${result} ${what}`);
      if (findings.length > 0) all.push(`seed ${own}: ${result} ${what}`);
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  return all;
}

async function main() {
  /** @type {Record<string, { type: 'string' | 'boolean' }>} */
  const options = { help: { type: 'boolean' }, ...Object.fromEntries(['runs', 'seed', 'parallel'].map((name) => [name, { type: 'string' }])) }; // prettier-ignore
  const { values } = parseArgs({ options });
  if (values.help) return process.stdout.write(HELP);
  const seed = Number(values.seed ?? Date.now() % 2 ** 31);
  const findings = await runAll({
    runs: Number(values.runs ?? 40),
    seed,
    parallel: Number(values.parallel ?? 4),
    log: (line) => process.stdout.write(`${line}\n`)
  });
  process.stdout.write(`seed ${seed}: ${findings.length} failed\n`);
  process.exitCode = findings.length > 0 ? 1 : 0;
}

if (require.main === module) void main();

exports.runAll = runAll;

'use strict';
// What a hostile tenant in a container costs its neighbor: time from a record to its acknowledgement, alone and beside
// an endless loop, memory eaters, a fork bomb, a writer and a flood of output. Needs root; nothing of it stays behind.
//
//   node flows/launcher/run.js bench/questions/tenant-neighbors.js [--engine docker|podman] [--rounds 1] [--seconds 10]
//     [--cpus 1]

const { parseArgs } = require('node:util');
const { lackingEngine } = require('../harness/containers');
const { fail } = require('../harness/arguments');
const { runInside } = require('../tenants/containers/inside');

/** @param {number | undefined} value */
const ms = (value) => (value ?? NaN).toFixed(2);

async function main() {
  const { values } = parseArgs({
    options: {
      engine: { type: 'string', default: 'docker' },
      rounds: { type: 'string', default: '1' },
      seconds: { type: 'string', default: '10' },
      cpus: { type: 'string', default: '1' }
    }
  });
  const { engine } = values;
  if (engine !== 'docker' && engine !== 'podman') return fail('--engine is docker or podman.');
  const [rounds, seconds, cpus] = [values.rounds, values.seconds, values.cpus].map(Number);
  if (!(rounds >= 1 && seconds >= 1 && cpus > 0)) return fail('--rounds, --seconds and --cpus take numbers.');
  const lacks = lackingEngine(engine);
  if (lacks) return fail(lacks);
  console.log('| round | attack | records | alone p50 | p99 ms | beside p50 | p99 ms | p99 ratio |');
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- |');
  for (let round = 1; round <= rounds; round++) {
    const results = await runInside(engine, 'neighbors', { seconds, cpus });
    for (const { attack, alone, beside } of results) {
      const cells = [
        round,
        attack,
        beside.count,
        ms(alone.p50),
        ms(alone.p99),
        ms(beside.p50),
        ms(beside.p99)
      ];
      console.log(`| ${[...cells, ms(beside.p99 / alone.p99)].join(' | ')} |`);
    }
  }
}

main().catch((error) => fail(error.message));

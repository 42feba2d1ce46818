'use strict';
// Random flows with and without native wires. node native/node/run.js test/system/plan/run.js --help

const { parseArgs } = require('node:util');
const { FlowRuntime } = require('../../fixtures/plan/flow-runtime');
const { compareCase } = require('../../fixtures/plan/comparison');

const HELP = `npm run test:plan -- [--cases N] [--seed N]

Draws random flows between ingest and uplink nodes and sends random records through each of them: over messages (fast
path off), over native wires, and while wires change between both. It fails if the records of a device and class at an
uplink node differ in content, number or order. Real engine, Node-RED's own flow runtime.

  --cases N   number of flows (1000)
  --seed N    seed of the first flow; the next ones follow (1)
`;

async function main() {
  const { values } = parseArgs({
    options: { cases: { type: 'string' }, seed: { type: 'string' }, help: { type: 'boolean' } }
  });
  if (values.help) return console.log(HELP);
  const first = Number(values.seed ?? 1);
  const cases = Number(values.cases ?? 1000);
  if (!Number.isInteger(first) || !Number.isInteger(cases) || cases < 1) throw new Error(HELP);
  const runtime = new FlowRuntime();
  await runtime.start();
  const total = { records: 0, natives: 0, strict: 0 };
  const began = performance.now();
  for (let seed = first; seed < first + cases; seed++) {
    const { records, natives, strict } = await compareCase(runtime, seed).catch((error) => {
      console.error(`Repeat it with: npm run test:plan -- --cases 1 --seed ${seed}`);
      throw error;
    });
    total.records += records;
    total.natives += natives;
    total.strict += strict;
    const done = seed - first + 1;
    if (done % 100 === 0 || done === cases) {
      const seconds = Math.round((performance.now() - began) / 1000);
      console.log(
        `${done} of ${cases} flows, ${total.records} records, ${total.natives} native wires, ${total.strict} lanes in order, ${seconds} s`
      );
    }
  }
  await runtime.end();
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  }
);

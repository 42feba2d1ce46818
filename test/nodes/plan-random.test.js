'use strict';
// Random flows deliver the same records over messages and over native wires. `npm run test:plan` runs more of them.

const { FlowRuntime } = require('../fixtures/plan/flow-runtime');
const { compareCase } = require('../fixtures/plan/comparison');

/** As many as fit into the time on a busy machine. */
const MOST = 300;
const LEAST = 30;
const TIME_MS = 15000;

const runtime = new FlowRuntime();
beforeAll(() => runtime.start());
afterAll(() => runtime.end());

test('delivers the same records, in order per device and class, whichever way wires carry them', async () => {
  const first = 1 + Math.floor(Math.random() * 1e9);
  const until = performance.now() + TIME_MS;
  const total = { records: 0, natives: 0, strict: 0 };
  let cases = 0;
  for (; cases < MOST && (cases < LEAST || performance.now() < until); cases++) {
    // The error has the seed of the flow: npm run test:plan -- --cases 1 --seed N
    const { records, natives, strict } = await compareCase(runtime, first + cases);
    total.records += records;
    total.natives += natives;
    total.strict += strict;
  }
  // The flows are worth comparing.
  expect(total.records).toBeGreaterThan(5 * cases);
  expect(total.natives).toBeGreaterThan(cases);
  expect(total.strict).toBeGreaterThan(cases);
}, 120000);

'use strict';
// Processes are found by a variable that they started with.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const { eventually } = require('../../../bench/harness/net');
const { variables } = require('../../../docker/tenants/lib/base/processes');

const NAME = 'SEGANET_TEST_PROCESSES';

/** @type {import('node:child_process').ChildProcess[]} */
let children = [];
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children = [];
});

/** @param {Record<string, string>} env @returns {Promise<number>} a process that has started with it */
async function processWith(env) {
  const child = spawn('/bin/sleep', ['600'], { env, stdio: 'ignore' });
  children.push(child);
  await eventually(() => fs.readFileSync(`/proc/${child.pid}/comm`, 'utf8') === 'sleep\n');
  return Number(child.pid);
}

test('finds processes by the whole name and value of a variable', async () => {
  const [first, second] = [
    await processWith({ A: 'b', [NAME]: 'x=y' }),
    await processWith({ [NAME]: 'x=y' })
  ];
  await processWith({ [`MY_${NAME}`]: 'other', B: `${NAME}=text` });
  await processWith({});
  expect([...variables(NAME)]).toEqual([['x=y', [first, second].sort((a, b) => a - b)]]);
});

test('reads nothing of a process for the one after it, which has a shorter environment', async () => {
  const long = await processWith({ LONG: 'l'.repeat(64 << 10), [NAME]: 'long' });
  const short = await processWith({ [NAME]: 's' });
  await processWith({ SHORT: 's' });
  expect(Object.fromEntries(variables(NAME))).toEqual({ long: [long], s: [short] });
});

'use strict';
// The short form of test/system/soak/run.js: a slow cloud, a quick one, small faults, and a silent end.

const { spawnSync } = require('node:child_process');
const { Child } = require('../../../bench/harness/child');
const { root } = require('../../../bench/harness/gateway');
const { needs } = require('../../../bench/harness/tools');

const { test } = needs('mosquitto');

jest.setTimeout(180000);

const RUN = 'test/system/soak/run.js';

test('delivers everything through small faults, and no record stands still', async () => {
  const args = ['--minutes', '0.4', '--every', '0.2', '--devices', '40', '--backlog', '2000', '--seed', '5'];
  const child = new Child(process.execPath, [RUN, ...args], { name: 'soak', cwd: root });
  const { code } = await child.exited;
  if (code !== 0) throw new Error(child.output);
  expect(child.output).toMatch(/Missing: 0\. Stalls: 0\./);
});

test('prints help, and rejects wrong options', () => {
  const run = (/** @type {string[]} */ ...args) =>
    spawnSync(process.execPath, [RUN, ...args], { cwd: root, encoding: 'utf8' });
  expect(run('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('--backlog') });
  expect(run('--minutes', 'long')).toMatchObject({ status: 2, stderr: expect.stringContaining('--minutes') });
  expect(run('--hours', '2')).toMatchObject({ status: 2 });
});

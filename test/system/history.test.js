'use strict';
// Every kind of fault once, from fixed seeds; the long form is test/system/history/run.js. It includes a bridge whose
// losses the checker must find because a check that has never detected a loss proves nothing.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../bench/harness/child');
const { root } = require('../../bench/harness/gateway');
const { needs } = require('../../bench/harness/tools');
const { isInside, mayUnshare } = require('./history/namespace');
const { KINDS } = require('./history/schedule');

const { describe, test } = needs('mosquitto', 'c++', 'unshare', 'ip', 'nft', 'mount', 'mkfs.ext4', 'findmnt');

jest.setTimeout(480000);

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-history-test-'));
/** The files of an invalid run that should be valid are kept. */
let isKept = false;
afterAll(() => {
  if (!isKept) fs.rmSync(folder, { recursive: true });
});

/** @param {...string} options */
async function history(...options) {
  options.push('--out', folder);
  const child = new Child(process.execPath, ['test/system/history/run.js', ...options], {
    name: 'history',
    cwd: root
  });
  const { code } = await child.exited;
  return { code, output: child.output };
}

const ordinary = KINDS.filter((kind) => !['drop', 'disk-full', 'power-cut'].includes(kind));
const kinds = isInside() || mayUnshare() ? KINDS : ordinary;

describe('a gateway with every fault once', () => {
  test('loses, swaps, changes or repeats too often nothing acknowledged', async () => {
    const runs = String(kinds.length);
    const { code, output } = await history(
      '--runs',
      runs,
      '--seed',
      '0',
      '--seconds',
      '3',
      '--parallel',
      '4',
      '--faults',
      kinds.join(',')
    );
    // The whole table, not only that it failed.
    isKept ||= code !== 0;
    if (code !== 0) throw new Error(output);
    expect(output).toContain(`${runs} runs in`);
  });
});

test('delivers bursts over slow links in silence, without another record', async () => {
  const { code, output } = await history('--mode', 'links', '--runs', '4', '--seed', '3', '--parallel', '4');
  isKept ||= code !== 0;
  if (code !== 0) throw new Error(output);
  expect(output).toContain('4 runs in');
});

test('finds the records that a mosquitto bridge loses when killed in an outage', async () => {
  const options = [
    '--peer',
    'mosquitto-bridge',
    '--faults',
    'kill-in-outage',
    '--runs',
    '1',
    '--seconds',
    '2'
  ];
  const { code, output } = await history(...options);
  expect(code).toBe(1);
  const [, lost] = output.match(/lost (\d+)/) || [];
  expect(Number(lost)).toBeGreaterThan(10);
  expect(output).toMatch(/lost: \S+ c\d n\d+ was acknowledged and not delivered/);
});

test('finds no loss in the same bridge without faults', async () => {
  const { code, output } = await history(
    '--peer',
    'mosquitto-bridge',
    '--faults',
    'none',
    '--runs',
    '1',
    '--seconds',
    '2'
  );
  expect(output).toContain('0 not valid, 0 failed');
  expect(code).toBe(0);
});

test('prints help, and rejects unknown options', () => {
  const run = (/** @type {string[]} */ ...args) =>
    spawnSync(process.execPath, ['test/system/history/run.js', ...args], { cwd: root, encoding: 'utf8' });
  expect(run('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('--faults') });
  expect(run('--faults', 'flood')).toMatchObject({ status: 2, stderr: expect.stringContaining('power-cut') });
  expect(run('--runs', 'many')).toMatchObject({ status: 2 });
});

'use strict';
// bench/questions/falls.js in short, on a real link that becomes slow at the same time of each season.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { LEARNED_SEASONS, stepAt } = require('../../../bench/questions/falls');
const { Child } = require('../../../bench/harness/child');
const { root } = require('../../../bench/harness/gateway');
const { needs } = require('../../../bench/harness/tools');

jest.setTimeout(400000);

const command = path.join(root, 'bench', 'questions', 'falls.js');

test('prints its options for any user', () => {
  expect(execFileSync(process.execPath, [command, '--help'], { encoding: 'utf8' })).toMatch(
    /^Usage: node bench\/questions\/falls\.js.*--season.*--slow/s
  );
});

test('makes the end of each season slow', () => {
  const at = (/** @type {number} */ ms) => stepAt(1e6 * 24000 + ms, 24, 7);
  expect([at(0), at(16999.5), at(17000), at(23999)]).toEqual([
    { ms: 17000, bits: 1e6 },
    { ms: 1, bits: 1e6 },
    { ms: 7000, bits: 2e5 },
    { ms: 1, bits: 2e5 }
  ]);
});

const { test: onLink } = needs(
  ...['mosquitto', 'ip', 'tc', 'unshare', 'nsenter', 'setpriv'],
  ...(process.getuid?.() === 0 ? [] : ['root'])
);

// How often the link is the limit, and whether a fall is forecast in time, depends on the machine: simulated days in
// test/unit/forecast/network judge that.
onLink('sends over a link whose rate follows a schedule, and learns that it is connected', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-falls-'));
  const out = path.join(folder, 'out.json');
  const seasons = ['--season', '10', '--slow', '3', '--seasons', String(LEARNED_SEASONS + 1)];
  const child = new Child(process.execPath, [command, '--ahead', ...seasons, '--out', out]);
  try {
    const { code } = await child.exited;
    expect([code, child.output]).toEqual([0, expect.stringContaining('sealed ahead')]);
    const [row] = JSON.parse(fs.readFileSync(out, 'utf8')).rows;
    expect(row.sent).toBeGreaterThan(0);
    expect(row.inTime).toBeGreaterThan(0);
    expect(row.network.connectedTrusted).toEqual(expect.any(Number));
  } finally {
    await child.stop('SIGKILL');
    fs.rmSync(folder, { recursive: true, force: true });
  }
});

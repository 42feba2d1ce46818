'use strict';
// bench/questions/mobility.js in short, on real interfaces: the whole gateway moves past access points.

const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../../bench/harness/child');
const { root } = require('../../../bench/harness/gateway');
const { needs } = require('../../../bench/harness/tools');
const { PATIENCE } = require('../../../bench/harness/patience');

jest.setTimeout(300000);

const command = path.join(root, 'bench', 'questions', 'mobility.js');

test('prints its options, scenarios and systems for any user', () => {
  const text = execFileSync(process.execPath, [command, '--help'], { encoding: 'utf8' });
  expect(text).toMatch(/^Usage: node bench\/questions\/mobility\.js.*roam.*lte.*kernel.*forecast.*--seed/s);
  const wrong = spawnSync(process.execPath, [command, '--systems', 'luck'], { encoding: 'utf8' });
  expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining("'luck' is not known")]);
});

const { test: onLinks } = needs(
  ...['mosquitto', 'mptcpize', 'c++', 'ip', 'tc', 'nft', 'unshare', 'nsenter', 'setpriv'],
  ...(process.getuid?.() === 0 ? [] : ['root']),
  ...(fs.existsSync('/proc/sys/net/mptcp/enabled') ? [] : ['a kernel with MPTCP'])
);

onLinks('under the watch, the gateway keeps its sessions and loses nothing on its way', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-mobility-'));
  const out = path.join(folder, 'out.json');
  const child = new Child(process.execPath, [command, '--quick', '--out', out, '--plots', folder]);
  try {
    const { code } = await child.exited;
    expect([code, child.output]).toEqual([0, expect.stringContaining('hand-overs')]);
    const { outcomes } = JSON.parse(fs.readFileSync(out, 'utf8'));
    const [single, forecast] = outcomes.map((/** @type {any} */ { result }) => result);
    for (const result of [single, forecast]) {
      expect(result).toMatchObject({ lost: 0, outOfOrder: 0 });
      expect(result.sent).toBeGreaterThan(1000);
    }
    // The first radio has changed its access point, and so its address.
    expect(Object.values(single.connects).some((count) => /** @type {number} */ (count) > 1)).toBe(true);
    for (const count of Object.values(forecast.connects)) expect(count).toBe(1);
    expect(forecast.gapMs[1]).toBeLessThan(5000 * PATIENCE);
    expect(fs.readFileSync(path.join(folder, 'roam-1.csv'), 'utf8')).toMatch(/^second,first link can,/);
    expect(fs.readFileSync(path.join(folder, 'roam-1.svg'), 'utf8')).toContain('roam, seed 1');
  } finally {
    await child.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  }
});

'use strict';
// A memory limit for a process group, and the profile small within it: a short outage of the cloud.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../../bench/harness/child');
const { MemoryLimit } = require('../../../bench/harness/memory/limit');
const { root } = require('../../../bench/harness/gateway');
const { toolsForLimits } = require('../../fixtures/network/control-groups');
const { needs } = require('../../../bench/harness/tools');

jest.setTimeout(120000);

const V2_WITHOUT_FOLDER = '35 26 0:31 / /nowhere rw shared:4 - cgroup2 cgroup2 rw';

test('reports missing control groups in a sentence', () => {
  expect(() => MemoryLimit.make(64, '')).toThrow('A memory limit needs control groups');
  expect(() => MemoryLimit.make(64, V2_WITHOUT_FOLDER)).toThrow(
    'A memory limit needs root and permission to create a control group'
  );
});

const limited = needs(...toolsForLimits());
limited.describe('a memory limit', () => {
  test('ends a process that needs more, and counts it', async () => {
    const limit = MemoryLimit.make(64);
    try {
      expect(limit.stat().kills).toBe(0);
      // Twice the limit, in pieces.
      const fill = 'const all = []; for (let i = 0; i < 128; i++) all.push(Buffer.alloc(1 << 20, 1));';
      const child = new Child(process.execPath, ['-e', fill], { within: limit.within });
      expect((await child.exited).signal).toBe('SIGKILL');
      const { kills, peakBytes } = limit.stat();
      expect(kills).toBe(1);
      expect(peakBytes).toBeLessThanOrEqual(64 * 2 ** 20);
    } finally {
      await limit.remove();
    }
    expect(fs.existsSync(limit.folder)).toBe(false);
  });
});

const whole = needs('mosquitto', 'c++', ...toolsForLimits());
whole.describe('bench/questions/memory.js', () => {
  test('shows that the profile small loses nothing in an outage within its memory limit', async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-memory-test-'));
    const out = path.join(folder, 'results.json');
    const command = [path.join(root, 'bench/questions/memory.js'), '--small', '--out', out];
    const short = [
      '--minutes',
      '0.05',
      '--seconds',
      '3',
      '--settle',
      '1',
      '--pin',
      'none',
      '--small-devices',
      '50'
    ];
    try {
      const bench = new Child(process.execPath, [...command, ...short], { name: 'memory.js', cwd: root });
      const { code } = await bench.exited;
      expect(bench.output).toContain('| small: lost records | ≤ 0 | 0 | yes |');
      expect(code).toBe(0);
      const { outcomes } = JSON.parse(fs.readFileSync(out, 'utf8'));
      const { readings, figures } = outcomes.small;
      expect(figures).toMatchObject({ lost: 0, kills: 0 });
      expect(figures.acked).toBeGreaterThan(500);
      expect(readings.map((/** @type {any} */ { name }) => name)).toEqual([
        'small: before',
        'small: under load',
        'small: in the outage',
        'small: afterwards'
      ]);
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });
});

'use strict';
// The scenarios of examples/scenarios: imported with the editor's dialog in a real browser, and run with real devices
// and a real broker. Each claim of a scenario's comment that a machine can check is checked (scenarios/checks.js).

const fs = require('node:fs');
const path = require('node:path');
const { Child } = require('../../bench/harness/child');
const { needs } = require('../../bench/harness/tools');
const { root } = require('../fixtures/gateway/packed');

const isRoot = process.getuid?.() === 0;
const { describe } = needs(
  'chromium',
  'unshare',
  'ip',
  'mount',
  'mosquitto',
  'python:bumble',
  ...(isRoot ? [] : ['root'])
);

describe('every scenario', () => {
  const names = fs
    .readdirSync(path.join(root, 'examples', 'scenarios'))
    .map((file) => path.basename(file, '.json'));
  /** @type {Map<string, string>} the error, by scenario */
  const ends = new Map();

  beforeAll(async () => {
    const driver = path.join(__dirname, 'scenarios', 'driver.js');
    const run = new Child('unshare', ['--net', '--mount', process.execPath, driver], { cwd: root });
    await run.exited;
    for (const line of run.output.split('\n').filter((each) => each.startsWith('{'))) {
      const { scenario, error } = JSON.parse(line);
      ends.set(scenario, error);
    }
    if (!names.some((name) => ends.has(name))) throw new Error(run.output);
  }, 400000);

  test('keeps the login of a cloud preset through the dialog and Deploy', () =>
    expect(ends.get('a cloud preset')).toBe(''));

  test.each(names)('does what its comment says: %s', (name) => expect(ends.get(name)).toBe(''));
});

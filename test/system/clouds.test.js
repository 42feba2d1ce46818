'use strict';
// The presets of examples/clouds: each starts with its variables, and brings records to a mosquitto that has the login,
// the topic rights and the limits of that cloud (clouds/brokers.js). No real cloud is used.

const fs = require('node:fs');
const path = require('node:path');
const { Child } = require('../../bench/harness/child');
const { needs } = require('../../bench/harness/tools');
const { root } = require('../fixtures/gateway/packed');

const isRoot = process.getuid?.() === 0;
const { describe } = needs('unshare', 'ip', 'mosquitto', 'mosquitto_passwd', ...(isRoot ? [] : ['root']));
const names = fs
  .readdirSync(path.join(root, 'examples', 'clouds'))
  .map((file) => path.basename(file, '.json'));

describe('every cloud preset', () => {
  /** @type {Map<string, string>} the error, by preset */
  const ends = new Map();

  beforeAll(async () => {
    const driver = path.join(__dirname, 'clouds', 'driver.js');
    const run = new Child('unshare', ['--net', process.execPath, driver], { cwd: root });
    await run.exited;
    for (const line of run.output.split('\n').filter((each) => each.startsWith('{'))) {
      const { preset, error } = JSON.parse(line);
      ends.set(preset, error);
    }
    if (!names.some((name) => ends.has(name))) throw new Error(run.output);
  }, 300000);

  test.each(names)('brings all records to a broker with its rules: %s', (name) =>
    expect(ends.get(name)).toBe('')
  );
});

describe('the page of every cloud preset', () => {
  test.each(names)('names each of its variables, and no other one: %s', (name) => {
    const preset = fs.readFileSync(path.join(root, 'examples', 'clouds', `${name}.json`), 'utf8');
    const page = /docs\/clouds\/([a-z-]+\.md)/.exec(preset)?.[1] ?? 'missing';
    const text = fs.readFileSync(path.join(root, 'docs', 'clouds', page), 'utf8');
    const used = new Set([...preset.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, variable]) => variable));
    const [, table = ''] = /\n\| variable[^\n]*\n([^]*?)\n\n/.exec(text) ?? [];
    const named = new Set([...table.matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, variable]) => variable));
    expect([...named].sort()).toEqual([...used].sort());
  });
});

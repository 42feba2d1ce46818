'use strict';
// Every example of the Import dialog, as imported, in a Node-RED that has only this palette, from the packed tarball.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../bench/harness/child');
const { root } = require('../fixtures/gateway/packed');
const { installPalette } = require('../fixtures/gateway/palette');
const { needs } = require('../../bench/harness/tools');

// Examples have the usual ports, which may be in use on this machine: a separate network has only theirs.
const isRoot = process.getuid?.() === 0;
const { describe } = needs('unshare', 'ip', 'mosquitto', 'openssl', ...(isRoot ? [] : ['root']));

describe('every example', () => {
  /** @type {Map<string, string>} the error, by example */
  const ends = new Map();
  const names = fs.readdirSync(path.join(root, 'examples')).filter((name) => name.endsWith('.json'));
  /** @type {string} */
  let folder;

  beforeAll(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-examples-'));
    const userDir = await installPalette(folder);
    // As users of Kafka, or of Parquet files, install it.
    for (const name of ['@platformatic', 'hyparquet-writer']) {
      const installed = path.join('node_modules', name);
      fs.symlinkSync(path.join(root, installed), path.join(userDir, installed));
    }
    const driver = path.join(__dirname, 'examples', 'driver.js');
    const run = new Child('unshare', ['--net', process.execPath, driver, userDir], { cwd: root });
    await run.exited;
    for (const line of run.output.split('\n').filter((each) => each.startsWith('{'))) {
      const { example, error } = JSON.parse(line);
      ends.set(example, error);
    }
    if (ends.size === 0) throw new Error(run.output);
  }, 600000);
  afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

  test.each(names)('runs as imported: %s', (name) => expect(ends.get(name)).toBe(''));

  test('shows a red node with the reason for a device without a route', () =>
    expect(ends.get('no route')).toBe(''));

  test('lets Node-RED end in an orderly way', () => expect(ends.get('the end of Node-RED')).toBe(''));
});

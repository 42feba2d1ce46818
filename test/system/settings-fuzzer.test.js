'use strict';
// Odd values for settings, in short; the long form is test/system/settings-fuzzer/run.js.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { readEnvironment } = require('../../flows/launcher/environment');
const { VARIABLES } = require('../../flows/launcher/variables');
const { Child } = require('../../bench/harness/child');
const { root } = require('../../bench/harness/gateway');
const { seeded } = require('../fixtures/random');
const { badSettings } = require('./settings-fuzzer/table');
const { nodeTypes } = require('./settings-fuzzer/node-types');
const { SECRET, oddVariable } = require('./settings-fuzzer/values');

jest.setTimeout(150000);

/** @param {Record<string, string>} env @returns {string} the message about it, '' when it is accepted */
function refusal(env) {
  try {
    readEnvironment(env);
    return '';
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
}

test('finds no property of a node and no variable that ends a gateway, stops its flows, or fails silently', async () => {
  const args = ['native/node/run.js', 'test/system/settings-fuzzer/run.js', '--seconds', '16', '--seed', '1'];
  const child = new Child(process.execPath, args, { name: 'settings fuzzer', cwd: root });
  const { code } = await child.exited;
  if (code !== 0) throw new Error(child.output.slice(-5000));
  expect(child.output).toMatch(/nodes: [1-9]\d* cases, 0 findings/);
  expect(child.output).toMatch(/variables: [1-9]\d* cases, 0 findings/);
});

test('accepts each odd value of a variable, or refuses it in one line that names the variable', () => {
  const seed = 7;
  const random = seeded(seed);
  for (let i = 0; i < 20; i++) {
    for (const { name } of VARIABLES) {
      const value = oddVariable(random);
      const logged = refusal({ [name]: value });
      if (!logged) continue;
      const where = `seed ${seed}, ${name}=${value.slice(0, 200)}`;
      expect([where, logged.split('\n').length]).toEqual([where, 1]);
      expect([where, logged.includes(name), logged.includes(SECRET), logged.length < 1500]).toEqual([
        where,
        true,
        false,
        true
      ]);
    }
  }
});

test('refuses each setting that is known to be wrong', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-settings-'));
  try {
    // A home is tested when it is made.
    const refused = badSettings(folder).filter((env) => !env.SEGANET_HOME?.startsWith('/'));
    for (const env of refused)
      expect([env, refusal(env)]).toEqual([env, expect.stringMatching(/SEGANET_\w+ .*\.$/s)]);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test('draws from every node type of the package, with all its properties', () => {
  const types = nodeTypes();
  expect(types).toHaveLength(Object.keys(require('../../package.json')['node-red'].nodes).length);
  for (const { type, defaults } of types)
    expect([type, Object.keys(defaults).length > 1]).toEqual([type, true]);
});

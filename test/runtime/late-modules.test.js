'use strict';

const { spawnSync } = require('child_process');
const path = require('path');
const { standIn } = require('../../flows/launcher/late-modules');
const { ROOT } = require('./process');

describe('a stand-in', () => {
  test('loads on first use, and then behaves as the module', () => {
    const load = jest.fn(() => Object.assign((/** @type {number} */ a) => a + 1, { b: 2 }));
    const late = standIn(load);
    expect(load).not.toHaveBeenCalled();
    expect(late(1)).toBe(2);
    expect(load).toHaveBeenCalledTimes(1);
    expect(late.b).toBe(2);
    late.c = 3;
    expect(Object.keys(late)).toEqual(['b', 'c']);
    expect({ ...late }).toEqual({ b: 2, c: 3 });
    expect('c' in late).toBe(true);
    delete late.c;
    expect(late.c).toBeUndefined();
  });

  test('stands for a class and for an object that cannot change', () => {
    class Module {}
    const late = standIn(() => Module);
    expect(new late()).toBeInstanceOf(Module);
    const frozen = standIn(() => Object.freeze({ a: 1 }));
    expect(Object.entries(frozen)).toEqual([['a', 1]]);
    expect(Object.getOwnPropertyNames(frozen)).toEqual(['a']);
  });

  test('has stand-ins for its members', () => {
    const load = jest.fn(() => ({ auth: { needs: (/** @type {string} */ what) => `needs ${what}` } }));
    const { auth } = standIn(load, ['auth']);
    expect(load).not.toHaveBeenCalled();
    expect(auth.needs('a')).toBe('needs a');
  });

  test('passes an error of the module on each use', () => {
    const late = standIn(() => {
      throw new Error('no such file');
    });
    expect(() => late.a).toThrow('no such file');
    expect(() => late()).toThrow('no such file');
  });
});

/** Runs a script with `late`, the module. @param {string} script @returns {any} what it prints as JSON */
function inProcess(script) {
  const file = JSON.stringify(path.join(ROOT, 'flows/launcher/late-modules'));
  const whole = `const late = require(${file});
    const isLoaded = (name) => Object.keys(require.cache).some((file) => file.includes('/node_modules/' + name + '/'));
    (async () => { ${script} })();`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', whole], { cwd: ROOT, encoding: 'utf8' });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

test('Node-RED loads without the modules, and gets them when it uses them', () => {
  const shown = inProcess(`
    late.loadLate();
    const RED = require('node-red');
    const names = ['passport', 'oauth2orize', 'moment', 'minipass'];
    const before = names.map(isLoaded);
    const { util } = RED;
    const node = { _flow: {}, context: () => ({ global: {} }) };
    const expression = util.prepareJSONataExpression('$sum(a) & $moment("2026-01-01").format("YYYY")', node);
    const evaluate = require('util').promisify(util.evaluateJSONataExpression);
    const value = await evaluate(expression, { a: [1, 2] });
    const after = names.map(isLoaded);
    const middleware = RED.auth.needsPermission('a.read');
    console.log(JSON.stringify({ before, value, after, type: typeof middleware, passport: isLoaded('passport') }));`);
  expect(shown).toEqual({
    before: [false, false, false, false],
    value: '32026',
    after: [false, false, true, false],
    type: 'function',
    passport: true
  });
});

test('leaves a module that is loaded already', () => {
  const shown = inProcess(`
    const moment = require('moment-timezone');
    late.loadLate();
    console.log(JSON.stringify(require('moment-timezone') === moment));`);
  expect(shown).toBe(true);
});

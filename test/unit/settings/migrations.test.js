'use strict';
// The ladders of the nodes' configurations: the steps, the refusal of newer versions, and the copy for the dialogs. No
// type has a step yet, so a step of this test stands for the first one.

const { runPages } = require('../../fixtures/editor/dialogs');
const { choice, flag } = require('../../../nodes/lib/base/options');
const { LADDERS, currentVersion, readSettings, upgraded } = require('../../../nodes/lib/settings/migrations');
const { nodes } = require('../../../package.json')['node-red'];

/** @typedef {import('../../../nodes/lib/settings/migrations').Step} Step */

/** @type {{ LADDERS: Record<string, Step[]>, currentVersion: (type: string) => number, upgraded: (type: string, node: object) => object, show: any }} */
let editor;
/** The dialog's fields by selector. @type {Record<string, { value?: string, checked?: boolean }>} */
let fields = {};
/** @type {Record<string, any>} */
const registered = {};
beforeAll(() => {
  const field = (/** @type {string} */ selector) => ({
    length: 0,
    is: () => selector.endsWith('isOn'),
    val: (/** @type {string} */ value) => void (fields[selector] = { value }),
    prop: (/** @type {string} */ _name, /** @type {boolean} */ checked) =>
      void (fields[selector] = { checked })
  });
  const RED = {
    _: (/** @type {string} */ key) => key,
    nodes: {
      registerType: (/** @type {string} */ name, /** @type {any} */ given) => (registered[name] = given)
    },
    events: { on: () => {} }
  };
  runPages(Object.keys(nodes), { RED, $: field, inspect: (window) => (editor = window.seganetMigrations) });
});
beforeEach(() => (fields = {}));

const TYPE = 'seganet-tap';
const tap = (/** @type {object} */ properties) => ({ type: TYPE, ...properties });
const schema = { mode: choice(['a', 'b'], 'a'), isOn: flag(false) };

/** Version 2 renames a property, and version 3 has another one on. @type {Step[]} */
const STEPS = [
  ({ way, mode = way }) => {
    if (way === 'c') throw new RangeError('"way" must be a or b, not "c".');
    return { mode, way: undefined };
  },
  ({ isOn }) => ({ isOn: isOn ?? true })
];

describe('a type with two steps', () => {
  beforeEach(() => {
    LADDERS[TYPE] = STEPS;
    editor.LADDERS[TYPE] = STEPS;
  });
  afterEach(() => {
    delete LADDERS[TYPE];
    delete editor.LADDERS[TYPE];
  });

  test('upgrades a node without a version by both, in order', () => {
    expect(upgraded(tap({ way: 'b' }))).toEqual(tap({ version: 3, mode: 'b', way: undefined, isOn: true }));
    expect(readSettings(tap({ way: 'b' }), schema)).toMatchObject({
      problems: [],
      values: { mode: 'b', isOn: true }
    });
  });

  test('upgrades a node of version 2 by the second one alone', () => {
    expect(upgraded(tap({ version: 2, way: 'c' }))).toEqual(tap({ version: 3, way: 'c', isOn: true }));
  });

  test('leaves a node of the current version as it is', () => {
    const node = tap({ version: 3, mode: 'b' });
    expect(upgraded(node)).toBe(node);
  });

  test('keeps the given configuration, which is that of Node-RED', () => {
    const config = Object.freeze(tap({ way: 'b' }));
    readSettings(config, schema);
    expect(config).toEqual(tap({ way: 'b' }));
  });

  test('reports a configuration that has no equivalent', () => {
    expect(readSettings(tap({ way: 'c' }), schema)).toMatchObject({
      problems: ['"way" must be a or b, not "c".'],
      shown: 'wrong setting'
    });
  });

  test('refuses version 4', () => {
    expect(readSettings(tap({ version: 4 }), schema).shown).toBe('made by a newer version');
  });

  test('is upgraded in the dialog as in the gateway', () => {
    expect(editor.currentVersion(TYPE)).toBe(currentVersion(TYPE));
    for (const version of [undefined, 1, '1', 2, 3]) {
      for (const properties of [{}, { way: 'b' }, { mode: 'a', isOn: false }]) {
        const node = tap({ ...properties, version });
        expect({ ...node, ...editor.upgraded(TYPE, node) }).toEqual(upgraded(node));
      }
    }
  });

  test('shows the upgraded values of an older node in the dialog, and leaves a current one as it is', () => {
    editor.show(TYPE, { way: 'b' }, 'node-input-');
    expect(fields).toEqual({
      '#node-input-mode': { value: 'b' },
      '#node-input-isOn': { checked: true },
      '#node-input-version': { value: '3' }
    });
    fields = {};
    editor.show(TYPE, { version: 3 }, 'node-input-');
    expect(fields).toEqual({});
  });
});

describe('readSettings', () => {
  test.each(Object.keys(nodes))('refuses a %s node of a newer version, and says what to do', (type) => {
    const version = currentVersion(type) + 1;
    const { problems, shown } = readSettings({ type, version, mode: 'b' }, schema);
    expect(shown).toBe('made by a newer version');
    expect(problems).toEqual([
      expect.stringMatching(
        new RegExp(`newer version of SegaNet Gateway.*version ${version}.*up to ${version - 1}\\. Update`)
      )
    ]);
  });

  test.each([0, -1, 1.5, 'x', [], {}, true, 1e9])('refuses the version %j', (version) => {
    const { problems, shown } = readSettings({ type: 'seganet-batch', version }, schema);
    expect([shown, problems.length]).toEqual(['wrong setting', 1]);
    expect(problems[0]).toMatch(/^"version" must be/);
  });

  test.each([undefined, null, '', '1', 1])('takes the version %j for the first one', (version) => {
    expect(readSettings(tap({ version, mode: 'b' }), schema)).toMatchObject({
      problems: [],
      values: { mode: 'b', isOn: false }
    });
  });
});

describe('the dialogs', () => {
  test('have a ladder for the same types as the gateway', () => {
    expect(Object.keys(editor.LADDERS)).toEqual(Object.keys(LADDERS));
  });

  test.each(Object.keys(nodes))('%s gives new nodes the current version', (type) => {
    expect(registered[type].defaults.version.value).toBe(currentVersion(type));
    expect(editor.currentVersion(type)).toBe(currentVersion(type));
  });

  test.each(Object.keys(nodes))('%s marks a node of a newer version as invalid', (type) => {
    const { validate } = registered[type].defaults.version;
    const current = currentVersion(type);
    expect([undefined, '', 1, current].map((value) => validate.call({}, value, {}))).toEqual(
      Array(4).fill(true)
    );
    expect(validate.call({}, current + 1, {})).toMatch(/errors\.newer$/);
  });

  test('of a new unbatch node has the default topic of an uplink node', () => {
    const { defaults } = registered['seganet-unbatch'];
    expect(defaults.gatewayTopic.value).toBe(registered['seganet-uplink'].defaults.topic.value);
  });
});

'use strict';
// The ladders of the nodes' configurations: each step, the refusal of newer versions, and the copy for the dialogs.

const { runPages } = require('../../fixtures/editor/dialogs');
const { choice, flag } = require('../../../nodes/lib/base/options');
const { LADDERS, currentVersion, readSettings, upgraded } = require('../../../nodes/lib/settings/migrations');
const { schema: batchSchema } = require('../../../nodes/lib/settings/batch');
const { nodes } = require('../../../package.json')['node-red'];

/** @type {{ currentVersion: (type: string) => number, upgraded: (type: string, node: object) => object, show: any }} */
let editor;
/** The dialog's fields by selector. @type {Record<string, { value?: string, checked?: boolean }>} */
let fields = {};
/** @type {Record<string, any>} */
const registered = {};
beforeAll(() => {
  const field = (/** @type {string} */ selector) => ({
    length: 0,
    is: () => selector.endsWith('allowAnonymous'),
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

const batch = (/** @type {object} */ properties) => ({ type: 'seganet-batch', ...properties });
const mqtt = (/** @type {object} */ properties) => ({ type: 'seganet-mqtt-devices', ...properties });

const unbatch = (/** @type {object} */ properties) => ({ type: 'seganet-unbatch', ...properties });

describe('unbatch, 1 to 2', () => {
  test('accepts every topic, as before', () => {
    expect(upgraded(unbatch({}))).toEqual(unbatch({ version: 2, gatewayTopic: '' }));
  });

  test('keeps a topic that was entered', () => {
    expect(upgraded(unbatch({ gatewayTopic: 'a/{gateway}' }))).toMatchObject({ gatewayTopic: 'a/{gateway}' });
  });

  test('gives a new node the default topic of an uplink node', () => {
    const { defaults } = registered['seganet-unbatch'];
    expect(defaults.gatewayTopic.value).toBe(registered['seganet-uplink'].defaults.topic.value);
  });
});

describe('batch, 1 to 2', () => {
  test('keeps the limits of a node from before adaptive batches, and drops the only format', () => {
    expect(upgraded(batch({ maxBytes: '2048', format: 'ndjson' }))).toEqual(
      batch({ version: 2, flush: 'limits', maxBytes: '2048', format: undefined })
    );
    expect(readSettings(batch({ format: 'ndjson' }), batchSchema)).toMatchObject({
      problems: [],
      values: { flush: 'limits' }
    });
  });

  test.each([undefined, null, '', 'ndjson', '${SEGANET_BATCH_FORMAT}'])('takes the format %j', (format) => {
    expect(readSettings(batch({ format }), batchSchema).problems).toEqual([]);
  });

  test.each(['cbor', 5, {}, Object.assign(Object.create(null), { a: 1 })])(
    'refuses the format %j',
    (format) => {
      expect(readSettings(batch({ format }), batchSchema).problems).toEqual([
        expect.stringMatching(/^"format" must be ndjson, not ".*"\. Batches have no other format\.$/)
      ]);
    }
  );

  test('keeps a chosen way to seal', () => {
    expect(upgraded(batch({ flush: 'adaptive' }))).toMatchObject({ flush: 'adaptive', version: 2 });
  });

  test('gives a new node that leaves the choice open adaptive batches', () => {
    const node = batch({ version: 2 });
    expect(upgraded(node)).toBe(node);
    expect(readSettings(node, batchSchema).values.flush).toBe('adaptive');
  });
});

describe('mqtt devices, 1 to 2', () => {
  test('keeps accepting devices without a login from the network', () => {
    expect(upgraded(mqtt({ host: '0.0.0.0' }))).toMatchObject({ allowAnonymous: true, version: 2 });
  });

  test.each([
    { host: '127.0.0.1' },
    { host: '' },
    {},
    { host: 'localhost' },
    { host: '0.0.0.0', login: 'flow' }
  ])('gives no consent where none was needed: %j', (properties) => {
    expect(upgraded(mqtt(properties))).not.toHaveProperty('allowAnonymous');
  });

  test('keeps a consent that was refused', () => {
    expect(upgraded(mqtt({ host: '0.0.0.0', allowAnonymous: false }))).toMatchObject({
      allowAnonymous: false
    });
  });

  test('asks version 2 for consent', () => {
    expect(upgraded(mqtt({ host: '0.0.0.0', version: 2 }))).not.toHaveProperty('allowAnonymous');
  });
});

describe('readSettings', () => {
  const schema = { mode: choice(['a', 'b'], 'a'), on: flag(false) };

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
    expect(readSettings({ type: 'seganet-tap', version, mode: 'b' }, schema)).toMatchObject({
      problems: [],
      values: { mode: 'b', on: false }
    });
  });

  test('changes no configuration that Node-RED has', () => {
    const config = Object.freeze(batch({ format: 'ndjson' }));
    readSettings(config, batchSchema);
    expect(config).toEqual(batch({ format: 'ndjson' }));
  });
});

describe('the dialogs', () => {
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

  const samples = [undefined, '', 'limits', 'adaptive'].map((flush) => batch({ flush, format: 'ndjson' }));
  for (const host of [undefined, '', '127.0.0.1', '127.9.9.9', 'localhost', '::1', '0.0.0.0', '10.0.0.1', 5])
    for (const login of [undefined, '', 'none', 'flow'])
      for (const allowAnonymous of [undefined, true, false])
        samples.push(mqtt({ host, login, allowAnonymous }));

  for (const gatewayTopic of [undefined, '', 'gw/{gateway}/{class}']) samples.push(unbatch({ gatewayTopic }));

  test('upgrade as the gateway does', () => {
    for (const sample of samples) {
      for (const version of [undefined, 1, '1', 2, 3]) {
        const node = { ...sample, version };
        const isOld = !(Number(version) >= 2);
        const expected = isOld ? upgraded(node) : node;
        expect({ ...node, ...editor.upgraded(sample.type, node) }).toEqual(expected);
      }
    }
    // Each ladder has samples.
    expect(Object.keys(LADDERS).sort()).toEqual([...new Set(samples.map(({ type }) => type))].sort());
  });

  test('show the upgraded values of an older node, and leave a current one unchanged', () => {
    editor.show('seganet-batch', {}, 'node-input-');
    expect(fields).toMatchObject({
      '#node-input-flush': { value: 'limits' },
      '#node-input-version': { value: '2' }
    });
    fields = {};
    editor.show('seganet-mqtt-devices', { host: '0.0.0.0' }, 'node-input-');
    expect(fields).toEqual({
      '#node-input-allowAnonymous': { checked: true },
      '#node-input-version': { value: '2' }
    });
    fields = {};
    editor.show('seganet-batch', { version: 2 }, 'node-input-');
    expect(fields).toEqual({});
  });
});

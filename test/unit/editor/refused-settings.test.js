'use strict';
// What a dialog accepts, the node accepts, too: otherwise a deploy ends with "wrong setting".

const { runPages } = require('../../fixtures/editor/dialogs');
const pkg = require('../../../package.json');

/** The schema of the last node that was made. */
let mockSchema;
jest.mock('../../../nodes/lib/base/options', () => {
  const options = jest.requireActual('../../../nodes/lib/base/options');
  const parseOptions = (_config, schema) => {
    mockSchema = schema;
    return { values: {}, problems: ['The node need not begin.'] };
  };
  return { ...options, parseOptions };
});

// The dialog of a filter node checks only the settings of its mode, which it shows.
const types = Object.keys(pkg['node-red'].nodes).filter((type) => type !== 'seganet-filter');
const nothing = () => {};

/** Registers a node type as the editor would. */
function definitionOf(type) {
  const registered = {};
  const RED = {
    _: (key) => key,
    nodes: { registerType: (name, definition) => (registered[name] = definition) },
    events: { on: nothing },
    utils: { validatePropertyExpression: () => true }
  };
  runPages([type], { RED, $: () => ({ length: 0, val: () => undefined }) });
  return registered[type];
}

/** Makes a node without an engine, as Node-RED would. @returns {any} the schema of its settings */
function schemaOf(type, config) {
  let Node;
  const endpoints = {
    get: nothing,
    post: nothing,
    put: nothing,
    patch: nothing,
    delete: nothing,
    use: nothing
  };
  const RED = {
    nodes: {
      createNode: (node, { id }) =>
        Object.assign(node, { id, on: nothing, status: nothing, error: nothing, warn: nothing }),
      registerType: (_name, constructor) => (Node = constructor),
      getNode: () => null,
      eachNode: nothing
    },
    httpAdmin: endpoints,
    auth: { needsPermission: () => nothing },
    events: { on: nothing, removeListener: nothing },
    hooks: { add: nothing },
    log: { addHandler: nothing, warn: nothing },
    settings: { get: nothing },
    plugins: { registerPlugin: nothing },
    _: (key) => key
  };
  require(`../../../${pkg['node-red'].nodes[type]}`)(RED);
  mockSchema = undefined;
  try {
    new Node({ id: 'a', type, ...config });
  } catch {
    // The node needs more of Node-RED, after it has read its settings.
  }
  return mockSchema;
}

const numbers = [
  -1, 0, 1, 2, 3, 7, 8, 9, 10, 31, 32, 63, 64, 65, 99, 100, 101, 255, 256, 257, 1000, 1001, 1023, 1024
];
const large = [
  1025,
  4096,
  4097,
  9001,
  30001,
  65535,
  65536,
  86401,
  600001,
  1000001,
  3600001,
  2 ** 32,
  2 ** 53
];
const texts = [
  '',
  ' 7 ',
  '1e3',
  '0x10',
  '1.5',
  'a',
  'a/b',
  'a b',
  '#',
  'a+',
  '{device}',
  '{x}',
  '{',
  '[]',
  '{}',
  'é'
];
const long = [64, 65, 128, 129, 256, 257, 1025].map((length) => 'x'.repeat(length));
const samples = [...numbers.map(String), ...large.map(String), ...texts, ...long];

/** The values of these depend on each other. */
const together = {
  place: 's3',
  transport: 'tls',
  allowAnonymous: true,
  passwordFile: 'x',
  pskFile: 'x',
  tokenFile: 'x'
};

test.each(types)('the dialog of %s accepts nothing that the node refuses', (type) => {
  const { defaults } = definitionOf(type);
  const config = Object.fromEntries(Object.entries(defaults).map(([name, { value }]) => [name, value]));
  const schema = schemaOf(type, config);
  expect(schema).toBeDefined();
  const refused = Object.entries(schema).flatMap(([name, parse]) => {
    const { value: first, validate } = defaults[name] ?? {};
    // Which cores there are, only the node knows.
    if (!validate || typeof first !== 'string' || name === 'cpus') return [];
    expect(() => parse(first)).not.toThrow();
    return samples
      .filter((value) => {
        if (validate.call({ ...config, ...together }, value, { label: name }) !== true) return false;
        try {
          parse(value);
          return false;
        } catch {
          return true;
        }
      })
      .map((value) => `${name}: ${value.slice(0, 20)} (${value.length})`);
  });
  expect(refused).toEqual([]);
});

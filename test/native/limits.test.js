'use strict';
// The engine's own limits are those of the settings' table.

const { Engine } = require('../../native');
const { TABLE } = require('../../nodes/lib/settings/table');
const { usualPlan } = require('./support/addon');

const ignore = () => {};
const KIB = 1024;

/** @type {Engine} */
let engine;
beforeAll(() => (engine = new Engine({ workers: 1, memoryMiB: 4 }, ignore)));
afterAll(() => engine.close());

/**
 * Nothing starts: the engine reads the options in order, and the last of them is wrong.
 * @param {any} options
 */
const construct = (options) => new Engine({ workers: 1, ...options, weights: 'none' }, ignore);
const apply = (/** @type {any} */ stage) =>
  engine.applyPlan({ stages: [{ id: 1, next: [], messages: false, ...stage }] });
const batch = { ...usualPlan().stages[2], next: [] };

/** Returns true if the engine accepts the option. @param {() => void} call @param {string} option */
function accepts(call, option) {
  try {
    call();
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    if (message.startsWith(option)) return false;
    if (!message.startsWith('weights')) throw error;
  }
  return true;
}

/**
 * Settings that the engine gets, by node: its name for them, and how many of its units are one of the table's.
 * @type {[string, (option: object) => void, Record<string, { as?: string, unit?: number, min?: number, max?: number }>][]}
 */
const given = [
  [
    'seganet-engine',
    construct,
    {
      workers: {},
      memoryMiB: {},
      maxPacketKiB: { as: 'maxPacketBytes', unit: KIB },
      maxDevices: {},
      wakeIntervalUs: {},
      lingerUrgentMs: {},
      lingerMs: {},
      patienceMs: {},
      // 0: they are off, for which the node has a setting of its own.
      valuesMiB: { min: 0 },
      valueTopics: {}
    }
  ],
  [
    'seganet-batch',
    (option) => apply({ ...batch, ...option }),
    {
      minDevices: {},
      // The node subtracts the key of the batch from it.
      maxBytes: { min: 1 },
      // The engine accepts more than the table.
      maxDelayMs: { max: 86400000 },
      gapMs: {}
    }
  ],
  [
    'seganet-mqtt-devices',
    (option) => apply({ kind: 'source', ...option }),
    { rate: {}, burst: {}, receiveMaximum: {}, keepAliveMaxS: {}, sessionExpiryMaxS: {} }
  ]
];

const numbers = given.flatMap(([type, call, options]) =>
  Object.entries(options).map(([property, own]) => ({
    name: `${type} ${property}`,
    row: TABLE[type][property],
    option: own.as ?? property,
    call,
    own
  }))
);

test.each(numbers)('$name has the same limits', ({ row, option, call, own }) => {
  if (row.type !== 'integer') throw new Error(`${option} is not a whole number`);
  const { unit = 1, min = row.min, max = row.max } = own;
  expect([min <= row.min, max >= row.max]).toEqual([true, true]);
  const good = [min, row.min, row.default, row.max, max].map((value) => value * unit);
  for (const value of good)
    expect([value, accepts(() => call({ [option]: value }), option)]).toEqual([value, true]);
  for (const value of [min * unit - 1, max * unit + 1])
    expect([value, accepts(() => call({ [option]: value }), option)]).toEqual([value, false]);
});

test('every whole number of the table is tried', () => {
  // The gateway's JavaScript uses these itself.
  const elsewhere = [
    ...['agingMs', 'logMiB', 'version', 'port', 'wsMaxKiB', 'deliveryTimeoutS', 'notifyQuietS'],
    ...['replicaTimeoutS', 'networkSeasonS']
  ];
  for (const [type, , options] of given) {
    const names = Object.entries(TABLE[type]).filter(([, row]) => row.type === 'integer');
    const missing = names.map(([name]) => name).filter((name) => !(name in options));
    expect(missing.filter((name) => !elsewhere.includes(name))).toEqual([]);
  }
});

test('agingMs, which the engine reads last, has the same limits', () => {
  const { agingMs: row } = TABLE['seganet-engine'];
  if (row.type !== 'integer') throw new Error('agingMs is not a whole number');
  const close = (/** @type {number} */ agingMs) =>
    new Engine({ workers: 1, memoryMiB: 4, agingMs }, ignore).close();
  for (const value of [row.min - 1, row.max + 1]) expect(() => close(value)).toThrow(/^agingMs must be/);
  for (const value of [row.min, row.default, row.max]) expect(() => close(value)).not.toThrow();
});

test('the numbers by class have the limits of the table at least', () => {
  const list = (/** @type {number} */ value) => [0, value, 0, 0, 0, 0, 0, 0, 0];
  const { classRate, classQueue } = TABLE['seganet-engine'];
  if (classRate.type !== 'numbers' || classQueue.type !== 'numbers')
    throw new Error('they are lists of numbers');
  const made = (/** @type {any} */ options) => () =>
    new Engine({ workers: 1, memoryMiB: 4, agingMs: -1, ...options }, ignore).close();
  expect(made({ ratePerS: list(classRate.max) })).toThrow(/^agingMs/);
  expect(made({ ratePerS: list(classRate.max + 1) })).toThrow(/^ratePerS/);
  // The engine accepts more than the table.
  expect(made({ queueRecords: list(classQueue.max) })).toThrow(/^agingMs/);
});

const choices = [
  ['seganet-engine', 'rebalance'],
  ['seganet-engine', 'oddTopics'],
  ['seganet-engine', 'acknowledge'],
  ['seganet-engine', 'whenFull'],
  ['seganet-batch', 'mode'],
  ['seganet-batch', 'flush']
];

test.each(choices)('%s %s has the same choices', (type, name) => {
  const row = TABLE[type][name];
  if (row.type !== 'choice') throw new Error(`${name} is not a choice`);
  const [, call] = /** @type {typeof given[0]} */ (given.find(([each]) => each === type));
  const option = (/** @type {string} */ value) => accepts(() => call({ log: true, [name]: value }), name);
  for (const value of row.values) expect([value, option(value)]).toEqual([value, true]);
  expect(option('none of them')).toBe(false);
});

'use strict';
// Which gateway has a device, and the ends of connections that it has left.

const { DeviceTable } = require('../../../../nodes/lib/kafka/gateways/device-table');
const { Gateway, Topics, settle } = require('./topics-rig');

/** @type {Topics} */
let topics;
/** @type {Gateway} */
let a;
/** @type {Gateway} */
let b;

beforeEach(() => {
  topics = new Topics();
  a = new Gateway(topics, 'gw-a').start();
  b = new Gateway(topics, 'gw-b').start();
});
afterEach(async () => {
  for (const gateway of [a, b]) await gateway.shared.close();
});

test('a claim that is read again ends no connection', async () => {
  a.connect('lamp');
  await settle(a, b);
  b.connect('lamp');
  await settle(a, b);
  expect([a.ended, b.ended]).toEqual([['lamp'], []]);
  a.connect('lamp');
  await settle(a, b);
  expect(b.ended).toEqual(['lamp']);
  for (const gateway of [a, b]) gateway.again();
  await settle(a, b);
  expect([a.ended, b.ended]).toEqual([['lamp'], ['lamp']]);
});

test('the order of the topic decides between two gateways that a device reached at once', async () => {
  a.connect('lamp');
  b.connect('lamp');
  await settle(b, a);
  expect([a.ended, b.ended]).toEqual([[], ['lamp']]);
});

test('a device that moved while Kafka was away is ended at its old gateway afterwards', async () => {
  a.connect('lamp');
  await settle(a, b);
  topics.isAway = true;
  b.connect('lamp');
  await settle(a, b);
  expect(a.ended).toEqual([]);
  topics.isAway = false;
  b.write();
  for (const gateway of [a, b]) gateway.again();
  await settle(a, b);
  expect([a.ended, b.ended]).toEqual([['lamp'], []]);
});

/** @param {number} n @param {string} [boot] */
const claim = (n, boot = 'other') => JSON.stringify({ gateway: 'gw-b', boot, n });
const own = { gateway: 'gw-a', boot: 'own' };

test('forgets the device that has not connected for longest', () => {
  const table = new DeviceTable({ writer: own, most: 2 });
  for (const device of ['one', 'two', 'one', 'three']) table.take(device, claim(1), true);
  expect(['one', 'two', 'three'].map((device) => table.where(device))).toEqual([
    'elsewhere',
    'unknown',
    'elsewhere'
  ]);
  expect(table.size).toBe(2);
});

test.each([
  ['{'],
  ['null'],
  ['[]'],
  ['{}'],
  ['{"gateway":1,"boot":"b","n":1}'],
  ['{"gateway":"g","boot":"b","n":1.5}']
])('counts %j as no claim', (value) => {
  const table = new DeviceTable({ writer: own });
  table.connected('lamp');
  expect(table.take('lamp', value, true)).toBe(false);
  expect([table.invalid, table.size, table.where('lamp')]).toEqual([1, 0, 'here']);
});

test('what an engine had before it joined belongs to it, unless the topic says otherwise', () => {
  const table = new DeviceTable({ writer: own });
  for (const device of ['new', 'mine', 'gone']) table.found(device);
  table.take('mine', JSON.stringify({ ...own, n: 5 }), false);
  table.take('gone', claim(7), false);
  const { lost, claims } = table.caughtUp();
  expect([lost, claims.map(({ key }) => key)]).toEqual([['gone'], ['new']]);
});

test('a claim of an earlier process of the gateway is replaced', () => {
  const table = new DeviceTable({ writer: own });
  table.found('lamp');
  table.take('lamp', JSON.stringify({ gateway: 'gw-a', boot: 'before', n: 5 }), false);
  expect(table.caughtUp()).toMatchObject({ lost: [], claims: [{ key: 'lamp' }] });
  expect(table.unread()).toHaveLength(1);
});

'use strict';
// Records that the cloud, or another program, writes into the topic of commands.

const { Gateway, TOPICS, Topics, settle } = require('./topics-rig');

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
  for (const gateway of [a, b]) {
    await gateway.shared.close();
    gateway.commands.close();
    expect(gateway.said).toEqual([]);
  }
});

const reports = (gateway) => gateway.reports.map(({ id, status }) => `${id} ${status}`);
const outcome = (key) => topics.last(TOPICS.commands, key)?.headers?.status;

test('takes commands that the cloud writes into the topic, in their order, and reports them only there', async () => {
  const write = (id, more = {}) =>
    topics.records.push({
      topic: TOPICS.commands,
      key: `lamp/${id}`,
      value: JSON.stringify({ device: 'lamp', id, rest: 'set', payload: id, ...more }),
      at: a.time
    });
  for (const id of ['1', '2', '3']) write(id);
  await settle(a, b);
  b.connect('lamp');
  await settle(a, b);
  expect(b.got).toEqual(['lamp 1', 'lamp 2', 'lamp 3']);
  expect([reports(a), reports(b)]).toEqual([[], []]);
  expect(['1', '2', '3'].map((id) => outcome(`lamp/${id}`))).toEqual(['taken', 'taken', 'taken']);
  // A copy of one that has ended is ended again, or Kafka would keep it.
  write('2');
  await settle(a, b);
  expect([b.got.length, outcome('lamp/2')]).toEqual([3, 'refused']);
});

test.each([
  ['no JSON', '{'],
  ['a list', '[]'],
  ['another device than its key', JSON.stringify({ device: 'other', id: 'x' })],
  ['a payload that is no text', JSON.stringify({ device: 'lamp', id: 'x', payload: 5 })],
  ['a value that is too large to be read', ''],
  ['an expiry that is no number', JSON.stringify({ device: 'lamp', id: 'x', expires: 'soon' })],
  ['a topic with a wildcard', JSON.stringify({ device: 'lamp', id: 'x', topic: 'a/#' })],
  ['a topic that is no text', JSON.stringify({ device: 'lamp', id: 'x', rest: {} })],
  ['a payload that is too large', JSON.stringify({ device: 'lamp', id: 'x', payload: 'x'.repeat(262145) })]
])('refuses a command with %s in the topic, with the reason', async (_, value) => {
  b.connect('lamp');
  topics.records.push({ topic: TOPICS.commands, key: 'lamp/x', value, at: a.time });
  await settle(a, b);
  expect(b.got).toEqual([]);
  expect(topics.last(TOPICS.commands, 'lamp/x')).toMatchObject({
    value: null,
    headers: { status: 'refused' }
  });
  expect(topics.last(TOPICS.commands, 'lamp/x')?.headers?.reason).not.toBe('');
});

test('a gateway that starts ends what it cannot take, and nothing that is ended or withdrawn', async () => {
  const write = (key, value) => topics.records.push({ topic: TOPICS.commands, key, value, at: a.time });
  const valid = (id) => JSON.stringify({ device: 'lamp', id });
  for (let i = 0; i < 102; i++) write(`lamp/${i}`, valid(`${i}`));
  for (const key of ['door/bad', 'door/withdrawn', 'door/corrected']) write(key, '{');
  write('lamp/101', null);
  write('door/withdrawn', null);
  write('door/corrected', JSON.stringify({ device: 'door', id: 'corrected' }));
  const before = topics.records.length;
  const c = new Gateway(topics, 'gw-c').start();
  await settle(c);
  expect(topics.records.slice(before).map(({ key, headers }) => [key, headers?.status])).toEqual([
    ['lamp/100', 'full'],
    ['door/bad', 'refused']
  ]);
  expect(c.shared.figures()).toMatchObject({ commands: 101, invalid: 3 });
  await c.shared.close();
});

test('only a gateway says to which broker a command is reported', async () => {
  b.connect('lamp');
  const value = JSON.stringify({ device: 'lamp', id: 'x', from: { broker: 'cloud' } });
  topics.records.push({ topic: TOPICS.commands, key: 'lamp/x', value, at: a.time });
  await settle(a, b);
  expect([outcome('lamp/x'), b.reports]).toEqual(['taken', []]);
});

test('the cloud withdraws a command by deleting it', async () => {
  a.come('lamp', 'on');
  await settle(a, b);
  topics.records.push({ topic: TOPICS.commands, key: 'lamp/on', value: null, at: a.time });
  await settle(a, b);
  b.connect('lamp');
  await settle(a, b);
  expect([b.got, reports(a), reports(b)]).toEqual([[], ['on queued'], []]);
});

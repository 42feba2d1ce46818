'use strict';
// Commands and connections of gateways that share topics, in all orders that matter.

const { Gateway, TOPICS, Topics, settle } = require('./topics-rig');

const TAKEN = 0;
const GONE = 4;

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

test('a command that comes in at one gateway reaches a device at the other one, which reports it', async () => {
  b.connect('lamp');
  await settle(a, b);
  const safe = a.come('lamp', 'on');
  expect(safe).toEqual([]);
  await settle(a, b);
  expect(safe).toEqual(['queued']);
  expect([a.got, b.got]).toEqual([[], ['lamp on']]);
  expect([reports(a), reports(b)]).toEqual([['on queued'], ['on taken']]);
  expect([outcome('lamp/on'), a.shared.figures().commands, b.shared.figures().commands]).toEqual([
    'taken',
    0,
    0
  ]);
});

test('is acknowledged to the cloud only when Kafka has it', async () => {
  topics.isAway = true;
  const safe = a.come('lamp', 'on');
  await settle(a, b);
  expect([safe, reports(a)]).toEqual([[], []]);
  topics.isAway = false;
  await settle(a, b);
  expect(safe).toEqual(['queued']);
});

test('follows a device that moves before it has acknowledged the command', async () => {
  a.connect('lamp', null);
  await settle(a, b);
  a.come('lamp', 'on');
  await settle(a, b);
  expect(a.got).toEqual(['lamp on']);
  b.connect('lamp');
  await settle(a, b);
  expect(a.ended).toEqual(['lamp']);
  a.answer(GONE);
  await settle(a, b);
  expect([a.got, b.got]).toEqual([['lamp on'], ['lamp on']]);
  expect([...reports(a), ...reports(b)].sort()).toEqual(['on queued', 'on taken']);
});

test.each([
  ['first', ['a', 'b']],
  ['last', ['b', 'a']]
])(
  'of two outcomes the one that Kafka has first counts, here that of the gateway that writes %s',
  async (_, order) => {
    b.come('lamp', 'on');
    await settle(a, b);
    // Both have the device at the same moment, as after a takeover under way.
    a.connect('lamp', null);
    b.connect('lamp', null);
    a.commands.ring();
    b.commands.ring();
    expect([a.got, b.got]).toEqual([['lamp on'], ['lamp on']]);
    a.answer(TAKEN);
    b.answer(TAKEN);
    const gateways = order.map((name) => (name === 'a' ? a : b));
    await settle(...gateways);
    const [first, last] = gateways;
    expect(reports(first).filter((text) => text.endsWith('taken'))).toEqual(['on taken']);
    expect(reports(last).filter((text) => text.endsWith('taken'))).toEqual([]);
    expect(last.shared.figures().late).toBe(1);
  }
);

test('a gateway that stood still reports nothing twice, and ends what it has of a device that went on', async () => {
  a.connect('lamp', null);
  await settle(a, b);
  b.come('lamp', 'on');
  await settle(a, b);
  a.isFrozen = true;
  b.connect('lamp');
  await settle(a, b);
  expect(reports(b)).toEqual(['on queued', 'on taken']);
  a.isFrozen = false;
  // Before it has read anything: the answer was in its socket.
  a.answer(TAKEN);
  await settle(a, b);
  expect([reports(a), a.ended]).toEqual([[], ['lamp']]);
  expect(b.ended).toEqual([]);
});

test('reports an outcome that it wrote before it stood still, once', async () => {
  a.connect('lamp', null);
  await settle(a, b);
  b.come('lamp', 'on');
  await settle(a, b);
  a.answer(TAKEN);
  await new Promise((resolve) => setImmediate(resolve));
  a.write();
  a.isFrozen = true;
  b.connect('lamp');
  await settle(a, b);
  expect(reports(b)).toEqual(['on queued']);
  a.isFrozen = false;
  await settle(a, b);
  expect(reports(a)).toEqual(['on taken']);
  a.again();
  await settle(a, b);
  expect(reports(a)).toEqual(['on taken']);
});

test('a gateway that burns leaves its commands to the others', async () => {
  a.come('lamp', 'on', { expiryS: 3600 });
  await settle(a, b);
  a.isFrozen = true;
  b.connect('lamp');
  await settle(b);
  expect([b.got, reports(b)]).toEqual([['lamp on'], ['on taken']]);
  const c = new Gateway(topics, 'gw-a', 'another boot').start();
  c.connect('lamp');
  await settle(b, c);
  expect([c.got, c.reports]).toEqual([[], []]);
  await c.shared.close();
});

test('a command that nobody took in time is reported as expired once, also where the device was', async () => {
  a.connect('lamp', null);
  await settle(a, b);
  b.come('lamp', 'on', { expiryS: 60 });
  a.leave('lamp');
  await settle(a, b);
  for (const gateway of [a, b]) gateway.time += 61000;
  await settle(b, a);
  expect([reports(a), reports(b)]).toEqual([['on expired'], ['on queued']]);
});

test('another gateway lets the one that has the device finish, and ends the command if that one does not', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] });
  try {
    const c = new Gateway(topics, 'gw-c').start();
    a.connect('lamp', null);
    await settle(a, c);
    c.come('lamp', 'on', { expiryS: 60 });
    await settle(a, c);
    expect(a.got).toEqual(['lamp on']);
    c.time += 61000;
    await settle(a, c);
    expect(outcome('lamp/on')).toBeUndefined();
    a.isFrozen = true;
    c.time += 16000;
    jest.advanceTimersByTime(1000);
    await settle(c);
    expect(reports(c)).toEqual(['on queued', 'on expired']);
    await c.shared.close();
  } finally {
    jest.useRealTimers();
  }
});

test('an engine without the device does not end a command that another engine of the gateway delivers', async () => {
  const second = a.second();
  a.connect('lamp', null);
  await settle(a, b);
  a.come('lamp', 'on', { expiryS: 10 });
  await settle(a, b);
  a.time += 11000;
  second.ring();
  await settle(a, b);
  expect(outcome('lamp/on')).toBeUndefined();
  a.answer(TAKEN);
  await settle(a, b);
  expect(reports(a)).toEqual(['on queued', 'on taken']);
  a.leave('lamp');
  a.come('lamp', 'off', { expiryS: 10 });
  await settle(a, b);
  a.time += 11000;
  second.ring();
  await settle(a, b);
  expect(reports(a).slice(2)).toEqual(['off queued', 'off expired']);
});

test('a command with an id that waits or has ended is the same command', async () => {
  a.come('lamp', 'on');
  await settle(a, b);
  const again = b.come('lamp', 'on');
  await settle(a, b);
  expect(again).toEqual(['queued']);
  b.connect('lamp');
  await settle(a, b);
  const late = a.come('lamp', 'on');
  await settle(a, b);
  expect([late, b.got]).toEqual([['queued'], ['lamp on']]);
});

test('a gateway that starts delivers what waits, and nothing that has ended, also after compaction', async () => {
  for (const id of ['1', '2', '3']) a.come('lamp', id);
  a.come('door', '4');
  await settle(a, b);
  b.connect('lamp');
  await settle(a, b);
  for (const isCompacted of [false, true]) {
    if (isCompacted) topics.compact();
    const c = new Gateway(topics, `gw-c-${isCompacted}`);
    c.connect('lamp');
    c.start();
    await settle(c);
    expect([c.got, c.shared.figures().commands]).toEqual([[], 1]);
    await c.shared.close();
  }
});

test('a command that ended while a gateway could not read, so that nothing of it is left, waits there no longer', async () => {
  a.come('lamp', 'on');
  await settle(a, b);
  a.isFrozen = true;
  b.connect('lamp');
  await settle(b);
  topics.records = topics.records.filter(({ topic }) => topic !== TOPICS.commands);
  a.again();
  expect(a.shared.figures().commands).toBe(0);
});

test('what a thread had not written when it ended is published again', async () => {
  a.connect('lamp');
  a.come('door', 'open');
  await new Promise((resolve) => setImmediate(resolve));
  a.unwritten = [];
  a.hooks.lost();
  a.hooks.restarted();
  a.start();
  await settle(a, b);
  expect(b.shared.figures()).toMatchObject({ devices: 1, commands: 1 });
});

test('says in the status what does not work', async () => {
  expect(a.shared.trouble).toBe('');
  Object.assign(a.thread, { state: 'disconnected', reason: 'No broker.', isCaughtUp: false });
  expect(a.shared.trouble).toBe('shared commands stand still');
  Object.assign(a.thread, { state: 'refused' });
  expect(a.shared.trouble).toBe('shared commands refused');
});

test('the limits of the cluster are reported as full', async () => {
  const first = Array.from({ length: 100 }, (_, i) => a.come('lamp', `${i}`));
  const more = a.come('lamp', 'more');
  await settle(a, b);
  expect([first.flat().length, more]).toEqual([100, ['full']]);
  const { reason } = a.reports.find(({ status }) => status === 'full');
  expect(reason).toBe('100 commands already wait for this device.');
  // Another gateway has the same table.
  const there = b.come('lamp', 'there');
  await settle(a, b);
  expect(there).toEqual(['full']);
  const refused = a.come('door', 'with/slash');
  const large = a.come('door', 'large', { payload: Buffer.alloc(262145) });
  await settle(a, b);
  expect([refused, large]).toEqual([['refused'], ['refused']]);
});

test("a flow's command reaches a device at another gateway, and the flow gets its outcome", async () => {
  b.connect('lamp');
  await settle(a, b);
  const told = [];
  const given = { device: 'lamp', topic: 'cmd/lamp', payload: Buffer.from('on'), qos: /** @type {1} */ (1) };
  a.commands.send(given, (status) => told.push(status));
  await settle(a, b);
  expect([told, b.got]).toEqual([['queued', 'taken'], ['lamp on']]);
  expect([a.reports, b.reports]).toEqual([[], []]);
  // A device here needs no Kafka.
  topics.isAway = true;
  a.connect('door');
  a.commands.send({ ...given, device: 'door', topic: 'cmd/door' }, (status) => told.push(status));
  a.commands.ring();
  expect(told.at(-1)).toBe('taken');
});

test('a flow gets a command of a device that was last here, or of one that no gateway knows if it came in here', async () => {
  const taken = { a: [], b: [] };
  const listen = (gateway, list) =>
    gateway.commands.listen({ pattern: '*', all: false, take: ({ id }) => list.push(id) });
  listen(a, taken.a);
  listen(b, taken.b);
  b.connect('lamp');
  await settle(a, b);
  b.leave('lamp');
  a.come('lamp', '1');
  a.come('modbus', '2');
  await settle(a, b);
  expect(taken).toEqual({ a: ['2'], b: ['1'] });
  expect([reports(a).sort(), reports(b)]).toEqual([['1 queued', '2 queued', '2 taken'], ['1 taken']]);
});

test('adds a command that Kafka did not have when the Kafka cluster node was deployed', async () => {
  topics.isAway = true;
  const safe = a.come('lamp', 'on');
  const told = [];
  const given = { device: 'door', topic: 'cmd/door', payload: Buffer.from('on'), qos: /** @type {1} */ (1) };
  a.commands.send(given, (status) => told.push(status));
  a.time += 1100;
  await settle(a);
  expect([safe, told]).toEqual([[], []]);
  await a.shared.close();
  a.unwritten = [];
  const between = a.come('lamp', 'off');
  a.join();
  a.commands.resume();
  topics.isAway = false;
  a.start();
  await settle(a, b);
  expect([safe, told, between]).toEqual([['queued'], ['queued'], ['queued']]);
  b.connect('lamp');
  b.connect('door');
  await settle(a, b);
  expect(b.got.sort()).toEqual(['door on', 'lamp off', 'lamp on']);
});

test('reports an outcome that it wrote before a deploy of the Kafka cluster node, and had not read', async () => {
  a.connect('lamp', null);
  await settle(a, b);
  b.come('lamp', 'on');
  await settle(a, b);
  a.answer(TAKEN);
  await new Promise((resolve) => setImmediate(resolve));
  a.write();
  await a.shared.close();
  a.join();
  a.start();
  await settle(a, b);
  expect([reports(a), a.got]).toEqual([['on taken'], ['lamp on']]);
  a.again();
  await settle(a, b);
  expect(reports(a)).toEqual(['on taken']);
});

test('keeps a command that Kafka did not have when the gateway leaves the cluster', async () => {
  topics.isAway = true;
  const safe = a.come('lamp', 'on');
  await settle(a);
  await a.shared.close();
  a.connect('lamp');
  a.commands.resume();
  await settle(a);
  expect([safe, a.got]).toEqual([['taken'], ['lamp on']]);
});

test('warns if another process has the name of the gateway', async () => {
  a.connect('door');
  await settle(a);
  const c = new Gateway(topics, 'gw-a', 'another boot').start();
  expect(c.said).toEqual([]);
  c.connect('lamp');
  await settle(a, c);
  expect(a.said.splice(0)).toEqual([expect.stringMatching(/has the id "gw-a", too/)]);
  await c.shared.close();
});

test('a command with QoS 0 waits ten seconds', async () => {
  a.come('lamp', 'on', { qos: 0 });
  await settle(a, b);
  for (const gateway of [a, b]) gateway.time += 11000;
  await settle(a, b);
  expect(reports(a)).toEqual(['on queued', 'on expired']);
});

test('an engine that leaves keeps nothing of it, and one that joins gets what waits', async () => {
  a.come('lamp', 'on');
  await settle(a, b);
  b.leaveCluster();
  expect(b.commands.isIdle).toBe(true);
  b.connect('lamp');
  b.leaveCluster = b.shared.join(b.host);
  await settle(a, b);
  expect([b.got, reports(b)]).toEqual([['lamp on'], ['on taken']]);
});

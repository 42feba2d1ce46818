'use strict';

// host.commands: how a command from the cloud or a flow reaches a carrier, the engine or a flow, and what is reported.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Commands } = require('../../../nodes/lib/commands');
const { matchesGlob } = require('../../../nodes/lib/base/glob');

const END = {
  TAKEN: 0,
  OFFLINE: 1,
  NOT_LISTENING: 2,
  TIMEOUT: 3,
  GONE: 4,
  REFUSED: 5,
  TOO_LARGE: 6,
  BUSY: 7
};

/** An engine whose devices are in `ends` with the outcome of their commands; null: no answer yet. */
class FakeEngine {
  constructor() {
    this.ends = {};
    this.sent = [];
    this.results = [];
    this.answer = 0;
  }
  command(ticket, device, topic, payload, qos, timeoutMs) {
    if (this.answer !== 0) return this.answer;
    this.sent.push({ ticket, device, topic, payload: String(payload), qos, timeoutMs });
    const end = this.ends[device] ?? END.OFFLINE;
    if (end !== null) this.results.push(ticket, end);
    return 0;
  }
  takeCommandResults() {
    return this.results.splice(0);
  }
}

let made;
beforeEach(() => {
  made = {
    folder: fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-queues-')),
    time: 1e12,
    reports: [],
    safe: []
  };
  made.engine = new FakeEngine();
  made.commands = start();
});
afterEach(() => {
  made.commands.close();
  fs.rmSync(made.folder, { recursive: true });
});

function start() {
  const { engine, folder } = made;
  const commands = new Commands({
    engine,
    directory: folder,
    warn() {},
    now: () => made.now ?? made.time,
    wall: () => made.time
  });
  commands.reportTo('b1', ({ body, ...where }) => made.reports.push({ ...where, ...body }));
  return commands;
}

function come(device, rest = '', more = {}) {
  const given = { device, rest, payload: Buffer.from('p'), qos: 1, ...more };
  made.commands.fromCloud('b1', given, () => made.safe.push(more.id ?? device));
}

function pass(ms) {
  made.time += ms;
  made.commands.ring();
}

const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
const statuses = () => made.reports.map(({ status }) => status);

test("delivers a command of the cloud under the device's own topic, and reports it to the cloud", () => {
  made.engine.ends.d = END.TAKEN;
  come('d', 'a/b', { id: 'order-1' });
  expect(made.safe).toEqual([]);
  pass(1);
  expect(made.engine.sent).toEqual([
    { ticket: 1, device: 'd', topic: 'cmd/d/a/b', payload: 'p', qos: 1, timeoutMs: 10000 }
  ]);
  expect(made.safe).toEqual(['order-1']);
  expect(made.reports).toMatchObject([
    { device: 'd', rest: 'a/b', status: 'taken', id: 'order-1', ts: 1e12 + 1 }
  ]);
});

test("keeps the sender's response topic with the report, across a restart too", async () => {
  come('d', 'x', { responseTopic: 'answers/1', correlation: new Uint8Array([1, 2]) });
  pass(1);
  await turn();
  expect(statuses()).toEqual(['queued']);
  made.commands.close();
  made.engine = new FakeEngine();
  made.engine.ends.d = END.TAKEN;
  made.commands = start();
  pass(1000);
  pass(1);
  expect(made.engine.sent).toMatchObject([{ device: 'd', topic: 'cmd/d/x', payload: 'p' }]);
  expect(made.reports.at(-1)).toMatchObject({ status: 'taken', rest: 'x', responseTopic: 'answers/1', correlation: Buffer.from([1, 2]) }); // prettier-ignore
  made.commands.close();
  made.commands = start();
  pass(60000);
  expect(made.engine.sent).toHaveLength(1);
});

test.each([
  [END.OFFLINE, 'queued', 'The device is not connected.'],
  [END.NOT_LISTENING, 'queued', 'The device is connected but does not subscribe to this topic.'],
  [END.GONE, 'queued', 'The connection ended before the device acknowledged the command.'],
  [END.TIMEOUT, 'queued', 'The device did not acknowledge the command in time.'],
  [END.BUSY, 'queued', 'The device is not connected.'],
  [END.REFUSED, 'refused', 'The device refused the command.'],
  [END.TOO_LARGE, 'refused', 'The command is larger than the device accepts.'],
  [99, 'refused', 'Unknown result 99.']
])('reports result %i of the engine as %s', async (end, status, reason) => {
  made.engine.ends.d = end;
  come('d');
  pass(1);
  await turn();
  expect(made.reports).toMatchObject(
    status === 'queued' && end === END.BUSY ? [{ status }] : [{ status, reason }]
  );
  expect(made.safe).toEqual(['d']);
});

test.each([
  [1, 'queued'],
  [2, 'refused'],
  [3, 'queued']
])('handles an engine that answers %i at once: %s', async (answer, status) => {
  made.engine.answer = answer;
  come('d');
  await turn();
  expect(statuses()).toEqual([status]);
});

test.each([
  ['', ''],
  ['x'.repeat(257), ''],
  ['a\0b', ''],
  ['d', 'a/+/b'],
  ['d', '#'],
  ['d', 'x'.repeat(65536)]
])('refuses device %j, rest %j, which can never arrive', (device, rest) => {
  come(device, rest);
  expect(statuses()).toEqual(['refused']);
  expect(made.safe).toHaveLength(1);
  expect(made.engine.sent).toEqual([]);
});

test('passes on with which status a command may be acknowledged, once', async () => {
  const told = [];
  const send = (device, more = {}) => {
    const given = { device, rest: '', payload: Buffer.from('p'), qos: /** @type {const} */ (1), ...more };
    made.commands.fromCloud('b1', given, (status) => told.push([device, status]));
  };
  made.engine.ends = { here: END.TAKEN, no: END.REFUSED };
  send('here');
  send('no');
  send('away');
  send('late', { expiryS: 0 });
  send('a\0b');
  for (let i = 0; i < 101; i++) send('many');
  pass(1);
  await turn();
  pass(86400000);
  expect(told.slice(0, 3)).toEqual([
    ['late', 'expired'],
    ['a\0b', 'refused'],
    ['many', 'full']
  ]);
  expect(told.slice(3, 5)).toEqual([
    ['here', 'taken'],
    ['no', 'refused']
  ]);
  expect(told.slice(5)).toEqual(['away', ...Array(100).fill('many')].map((device) => [device, 'queued']));
});

test('limits the commands of one tenant, also those that an earlier run kept', async () => {
  const told = [];
  const send = (tenant, count) => {
    for (let i = 0; i < count; i++) {
      const given = { device: `${tenant}:${i}`, rest: 'x', payload: Buffer.from('p'), qos: /** @type {const} */ (1), tenant }; // prettier-ignore
      made.commands.fromCloud('b1', given, (status) => told.push(status));
    }
  };
  send('acme', 1000);
  pass(1);
  await turn();
  expect(told).toEqual(Array(1000).fill('queued'));
  made.commands.close();
  made.commands = start();
  send('acme', 1);
  send('blue', 1);
  expect(told.slice(1000)).toEqual(['full']);
});

test('sends pending commands to a device that listens again', async () => {
  come('d');
  pass(1);
  await turn();
  made.engine.ends.d = END.TAKEN;
  made.commands.wake('d');
  pass(1);
  expect(statuses()).toEqual(['queued', 'taken']);
});

test('honors an expiry from the cloud', async () => {
  come('d', '', { expiryS: 5 });
  pass(1);
  await turn();
  pass(4000);
  expect(statuses()).toEqual(['queued']);
  pass(1000);
  expect(statuses()).toEqual(['queued', 'expired']);
});

test('gives a carrier the commands of its devices: the id before the glob, both before the engine', async () => {
  const got = [];
  made.engine.ends = { 'ble-1': END.TAKEN };
  const stopGlob = made.commands.carry('ble-*', async (command) => got.push(['glob', command]) && 'taken');
  const stop = made.commands.carry('ble-1', (command) => got.push(['id', command]) && 'taken');
  come('ble-1', 'led', { id: '1' });
  await turn();
  expect(got).toEqual([['id', { id: '1', device: 'ble-1', topic: 'cmd/ble-1/led', rest: 'led', payload: Buffer.from('p'), qos: 1, expiresAt: made.time + 86400000 }]]); // prettier-ignore
  stop();
  come('ble-1');
  await turn();
  expect(got[1][0]).toBe('glob');
  stopGlob();
  come('ble-1');
  pass(1);
  expect(got).toHaveLength(2);
  expect(made.engine.sent).toHaveLength(1);
  expect(statuses()).toEqual(['taken', 'taken', 'taken']);
});

test('keeps commands until a carrier whose device is away is ready', async () => {
  let end = 'offline';
  const carrying = made.commands.carry('ble-*', async () => end);
  come('ble-1');
  await turn();
  pass(1);
  await turn();
  expect(statuses()).toEqual(['queued']);
  end = 'taken';
  carrying.ready('ble-1');
  await turn();
  expect(statuses()).toEqual(['queued', 'taken']);
});

test.each([
  [() => Promise.reject(new Error('no such characteristic')), 'no such characteristic'],
  [
    () => {
      throw new Error('broken');
    },
    'broken'
  ],
  [async () => 'maybe', 'The carrier of the command returned "maybe".'],
  [async () => undefined, 'The carrier of the command returned "undefined".']
])('refuses a command when its carrier fails', async (fn, reason) => {
  made.commands.carry('x', /** @type {any} */ (fn));
  come('x');
  await turn();
  expect(made.reports).toMatchObject([{ status: 'refused', reason }]);
});

test('gives a flow the commands that no device takes, or all', async () => {
  const got = [];
  made.engine.ends = { here: END.TAKEN };
  const stop = made.commands.listen({ pattern: '*', all: false, take: ({ device }) => got.push(device) });
  come('here');
  come('away');
  pass(1);
  expect(got).toEqual(['away']);
  expect(statuses()).toEqual(['taken', 'taken']);
  stop();
  made.commands.listen({ pattern: 'h*', all: true, take: ({ device }) => got.push(device) });
  come('here');
  come('away');
  pass(1);
  await turn();
  expect(got).toEqual(['away', 'here']);
  expect(statuses().slice(2)).toEqual(['taken', 'queued']);
});

test("gives pending commands to a flow that comes later, but never a flow's own commands", async () => {
  const got = [];
  const reported = [];
  come('d');
  made.commands.send({ device: 'e', topic: 'own/topic', payload: Buffer.alloc(0), qos: 1 }, (status) => reported.push(status)); // prettier-ignore
  pass(1);
  await turn();
  made.commands.listen({ pattern: '*', all: true, take: ({ device }) => got.push(device) });
  pass(1);
  expect(got).toEqual(['d']);
  expect(reported).toEqual(['queued']);
  expect(made.engine.sent.filter(({ device }) => device === 'e').at(-1).topic).toBe('own/topic');
});

test('reports an invalid command of a flow in a sentence', () => {
  const bad = { device: 'd', topic: 'a/#', payload: Buffer.alloc(0), qos: /** @type {1} */ (1) };
  expect(() => made.commands.send(bad, () => {})).toThrow(/without \+, # and NUL/);
});

test('holds reports for a missing broker, the latest thousand', () => {
  made.engine.ends.d = END.REFUSED;
  for (let i = 0; i < 1003; i++) {
    made.commands.fromCloud('b2', { device: 'd', rest: '', payload: Buffer.alloc(0), qos: 1, id: String(i) }, () => {}); // prettier-ignore
    pass(1);
  }
  const got = [];
  made.commands.reportTo('b2', ({ body }) => got.push(body.id));
  expect(got.length).toBe(1000);
  expect(got[0]).toBe('3');
  expect(made.commands.view().reportsDropped).toBe(3);
});

test('keeps all commands without an engine that supports them', async () => {
  made.commands.close();
  made.engine = /** @type {any} */ ({});
  made.commands = start();
  come('d');
  await turn();
  pass(1000);
  expect(statuses()).toEqual(['queued']);
});

test.each([
  ['*', '', true],
  ['a*c', 'abbc', true],
  ['a*c', 'abcd', false],
  ['?', '', false],
  ['a?c', 'abc', true],
  // ? is a code point, as in native/test/record/rules_test.cc.
  ['?1', 'é1', true],
  ['??1', 'é1', false],
  ['*?', '😀', true],
  ['*??', '😀', false],
  ['*??z*', 'éz', false],
  ['a.c', 'abc', false],
  ['a', 'A', false],
  ['**b*', 'aab', true],
  ['*a*a*a*a*a*a*b', 'a'.repeat(256), false],
  [`${'a*'.repeat(100)}b`, 'a'.repeat(256), false]
])('matches glob %j, %j: %s', (pattern, text, expected) => {
  expect(matchesGlob(pattern, text)).toBe(expected);
});

test.each([-3600000, 3600000])(
  'does not change a waiting command when the wall clock jumps by %i ms',
  (step) => {
    made.now = 5000;
    made.commands.ring();
    made.engine.ends.d = null;
    come('d', 'x', { id: 'waits', expiryS: 60 });
    made.time += step;
    for (let s = 0; s < 3; s++) {
      made.now += 1000;
      made.commands.ring();
    }
    expect(made.commands.view()).toMatchObject({ expired: 0, timeout: 0, waiting: 1 });
    // It was kept because it exceeded the patience of a second.
    return new Promise((resolve) => setImmediate(resolve)).then(() => {
      expect(made.safe).toEqual(['waits']);
      made.engine.ends.d = undefined;
      made.now += 15000;
      made.commands.ring();
      made.now += 60000;
      made.commands.ring();
      expect(made.commands.view()).toMatchObject({ expired: 1, waiting: 0 });
    });
  }
);

test('holds commands of the cloud while the flows are held, also for a flow that comes later, but not those of flows', () => {
  const taken = [];
  made.engine.ends.d = END.TAKEN;
  made.commands.hold();
  come('d', 'x', { id: '1' });
  made.commands.listen({ pattern: '*', all: true, take: ({ id }) => taken.push(id) });
  pass(5000);
  expect(taken).toEqual([]);
  expect(made.engine.sent).toEqual([]);
  made.commands.send({ device: 'e', topic: 'cmd/e/y', payload: Buffer.from('y'), qos: 1 }, () => {});
  expect(made.engine.sent.map(({ device }) => device)).toEqual(['e']);
  made.commands.resume();
  expect(taken).toEqual(['1']);
});

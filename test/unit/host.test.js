'use strict';

const { EventEmitter } = require('node:events');
const { EngineHost } = require('../../nodes/lib/host');
const { Member } = require('../../nodes/lib/member');
const { parts, calls, engines, reset } = require('../nodes/support/fake-parts');

beforeEach(() => {
  reset();
  jest.useFakeTimers();
});
afterEach(() => jest.useRealTimers());

function hostWith(kinds) {
  const said = { warn: [], error: [] };
  const events = new EventEmitter();
  const context = {
    native: parts.native,
    events,
    getNode: () => null,
    warn: (sentence) => said.warn.push(sentence),
    error: (sentence) => said.error.push(sentence)
  };
  const options = { id: 'e', gatewayId: 'gw', fastPath: 'auto', engine: { maxPacketBytes: 1024 } };
  const host = new EngineHost(options, context);
  const nodes = kinds.map((kind, index) => ({
    id: `n${index}`,
    wires: [],
    updateWires() {},
    status() {},
    send() {}
  }));
  const members = nodes.map((node, index) => new Member(host, node, { kind: kinds[index], settings: {} }));
  return { host, members, events, said };
}

const record = { deviceId: 'd', topic: '', payload: Buffer.alloc(1), cls: 3, flags: 0, ts: 0, seq: -1 };

test('after ten seconds the engine closes, and says how many records are dropped', async () => {
  const { host, members, events, said } = hostWith(['uplink']);
  events.emit('flows:started');
  const done = jest.fn();
  for (let i = 0; i < 3; i++) members[0].put(record, done, { delivery: true });
  const closed = host.close();
  await jest.advanceTimersByTimeAsync(9900);
  expect(calls).not.toContain('engine.close');
  await jest.advanceTimersByTimeAsync(200);
  await closed;
  expect(calls.at(-1)).toBe('engine.close');
  expect(said.warn).toEqual([
    expect.stringMatching(/not delivered when the engine stopped, and are dropped: 3\./)
  ]);
  expect(done).toHaveBeenCalledTimes(3);
  expect(done.mock.calls[0][0].message).toMatch(/stopped before the record was delivered/);
});

test('to close twice is to close once', async () => {
  const { host } = hostWith([]);
  const [first, second] = [host.close(), host.close()];
  expect(second).toBe(first);
  await jest.advanceTimersByTimeAsync(100);
  await first;
  expect(calls.filter((call) => call === 'engine.close')).toHaveLength(1);
});

test('after the end a late doorbell does nothing', async () => {
  const { host } = hostWith([]);
  const closed = host.close();
  await jest.advanceTimersByTimeAsync(100);
  await closed;
  engines[0].takeCompletions = () => {
    throw new Error('the engine is closed');
  };
  expect(() => engines[0].ring()).not.toThrow();
});

test('records wait for the first plan', () => {
  const { members, events } = hostWith(['uplink']);
  members[0].put(record, () => {});
  expect(engines[0].held).toHaveLength(0);
  events.emit('flows:started');
  expect(engines[0].held).toHaveLength(1);
});

test('a plan that the engine refuses is told, and the plan before goes on', () => {
  const { host, members, events, said } = hostWith(['uplink']);
  events.emit('flows:started');
  const before = host.plan;
  engines[0].applyPlan = () => {
    throw new TypeError('stages: more than 1024');
  };
  events.emit('flows:stopping');
  events.emit('flows:started');
  expect(said.error).toEqual([expect.stringMatching(/more than 1024\)\. The plan before goes on/)]);
  expect(host.plan).toBe(before);
  members[0].put(record, () => {});
  expect(engines[0].held).toHaveLength(1);
});

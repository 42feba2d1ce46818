'use strict';
// The host between two plans: threads that lose a node, deploys that never end, and an end within Node-RED's time.

const { EventEmitter } = require('node:events');
const { BrokerLink } = require('../../../nodes/lib/engine/broker-link');
const { EngineHost } = require('../../../nodes/lib/engine/host');
const { Member } = require('../../../nodes/lib/engine/member');
const { replaceModules } = require('../../../nodes/lib/engine/modules');
const { parts, calls, engines, stores, threads, reset } = require('../../nodes/support/fake-parts');

const log = { directory: '/log', limitMiB: 1, classLimitMiB: new Array(9).fill(0), whenFull: 'slow' };
const topics = { topic: 't', recordTopic: '{topic}', qos: 1, history: 'none', historySuffix: '/h' };
const args = { deviceId: 'd', topic: '', payload: Buffer.alloc(1), cls: 3, flags: 0, ts: 0, seq: -1 };

beforeEach(() => {
  reset();
  replaceModules(parts);
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
  replaceModules();
});

function start({ closeTimeoutMs = undefined, Host = EngineHost, native = parts.native } = {}) {
  const logged = { warn: [], error: [], info: [] };
  const events = new EventEmitter();
  const voice = Object.fromEntries(
    Object.keys(logged).map((level) => [level, (text) => logged[level].push(text)])
  );
  const host = new Host(
    {
      id: 'e',
      gatewayId: 'gw',
      fastPath: 'auto',
      engine: { maxPacketBytes: 1024 },
      log,
      directory: '/nowhere'
    },
    { native, events, getNode: () => null, closeTimeoutMs, ...voice }
  );
  return { host, events, logged };
}

/** An uplink node. */
function uplink(host, id, link) {
  const node = { id, wires: [], updateWires() {}, status() {}, send() {}, error() {} };
  const settings = { uplink: host.uplinks.numberOf(link.id) };
  return new Member(host, node, { kind: 'uplink', settings, uplink: { link, topics } });
}

const deploy = (events) => {
  events.emit('flows:stopping');
  events.emit('flows:started');
};
const settled = () => jest.advanceTimersByTimeAsync(0);

test('ends a thread that loses an uplink node before the plan, and restarts it for the others', async () => {
  const { host, events } = start();
  const link = new BrokerLink('b', 'cloud', {});
  uplink(host, 'u1', link);
  const second = uplink(host, 'u2', link);
  deploy(events);
  await settled();
  calls.length = 0;
  await second.close();
  deploy(events);
  expect(calls).toEqual(['thread.stop 1']);
  await settled();
  expect(calls).toEqual(['thread.stop 1', 'applyPlan', 'thread 2', 'attach 2']);
  expect(Object.keys(threads[1].stages)).toEqual(['1']);
});

test('keeps a thread running that keeps its uplink nodes', async () => {
  const { host, events } = start();
  uplink(host, 'u1', new BrokerLink('b', 'cloud', {}));
  deploy(events);
  await settled();
  deploy(events);
  await settled();
  expect(threads).toHaveLength(1);
  expect(calls).not.toContain('thread.stop 1');
});

test('gives a thread the stages of the latest of several quick deploys', async () => {
  const { host, events } = start();
  const link = new BrokerLink('b', 'cloud', {});
  const first = uplink(host, 'u1', link);
  deploy(events);
  await settled();
  let stopped = () => {};
  threads[0].stop = () => new Promise((resolve) => (stopped = resolve));
  await first.close();
  deploy(events);
  uplink(host, 'u1', link);
  deploy(events);
  uplink(host, 'u2', link);
  deploy(events);
  await settled();
  expect(threads).toHaveLength(1);
  stopped();
  await settled();
  expect(threads).toHaveLength(2);
  expect(Object.keys(threads[1].stages)).toEqual(['1', '2']);
});

test('serves the later stages when a link is requested twice while its thread ends', async () => {
  const { host } = start();
  const link = new BrokerLink('b', 'cloud', {});
  await link.serve(host, 1, { 1: topics });
  let stopped = () => {};
  threads[0].stop = () => new Promise((resolve) => (stopped = resolve));
  link.stop(0);
  const served = [link.serve(host, 1, { 1: topics }), link.serve(host, 1, { 1: topics, 2: topics })];
  stopped();
  await Promise.all(served);
  expect(threads).toHaveLength(2);
  expect(Object.keys(threads[1].stages)).toEqual(['1', '2']);
});

test('replaces a stand-in by all of the real stage at the deploy that makes it possible', () => {
  const { host, events } = start();
  const node = { id: 'u1', wires: [], updateWires() {}, status() {}, send() {}, error() {} };
  const member = new Member(host, node, { kind: 'uplink', settings: { uplink: 9 } });
  const link = new BrokerLink('b', 'cloud', {});
  const stage = {
    kind: 'uplink',
    protocol: 'other',
    settings: { uplink: host.uplinks.numberOf(link.id) },
    uplink: { link, topics },
    delivery: { timeoutMs: 1000, acknowledges: true },
    asMessages: true,
    tenant: true,
    isOpen: () => true,
    figures: () => ({ count: 1 }),
    list: { page: () => [] },
    shown: () => ({ fill: 'green', shape: 'dot', text: 'real' })
  };
  member.again = () => {
    throw new Error('not yet');
  };
  deploy(events);
  expect(member.planMember().settings).toEqual({ uplink: 9 });
  member.again = () => stage;
  deploy(events);
  expect(member.planMember()).toMatchObject({
    protocol: 'other',
    settings: { ...stage.settings, delivered: true },
    asMessages: true,
    tenant: true
  });
  const { uplink: served, delivery, accepts, figures, list, again } = member;
  expect({ served, delivery, accepts, figures, list, again }).toEqual({
    served: stage.uplink,
    delivery: stage.delivery,
    accepts: true,
    figures: stage.figures,
    list: stage.list,
    again: null
  });
});

test('holds no messages after a deploy whose flows do not start', () => {
  const { host, events, logged } = start();
  const member = uplink(host, 'u1', new BrokerLink('b', 'cloud', {}));
  deploy(events);
  events.emit('flows:stopping');
  events.emit('runtime-event', { id: 'runtime-state', payload: { state: 'stop', deploy: true } });
  expect(host.inbox.waitForPlan).toBe(true);
  events.emit('runtime-event', { id: 'runtime-state', payload: { state: 'stop', error: 'missing-types' } });
  expect(host.inbox.waitForPlan).toBe(false);
  expect(logged.warn).toEqual([
    expect.stringMatching(/^The flows did not start .*node types may be missing/)
  ]);
  const done = jest.fn();
  member.inlet.put(args, done);
  expect(engines[0].held).toHaveLength(1);
});

test('holds messages for a limited time when a deploy never ends', async () => {
  const { events, logged, host } = start();
  deploy(events);
  await jest.advanceTimersByTimeAsync(60000);
  expect(logged.warn).toEqual([]);
  events.emit('flows:stopping');
  await jest.advanceTimersByTimeAsync(29000);
  expect(host.inbox.waitForPlan).toBe(true);
  await jest.advanceTimersByTimeAsync(2000);
  expect(host.inbox.waitForPlan).toBe(false);
  expect(logged.warn).toEqual([expect.stringMatching(/A deploy started long ago/)]);
});

test.each([
  [undefined, 15000],
  [24000, 24000]
])('ends the engine in time with a nodeCloseTimeout of %s', async (closeTimeoutMs, mostMs) => {
  const { host, events } = start({ closeTimeoutMs });
  const member = uplink(host, 'u1', new BrokerLink('b', 'cloud', {}));
  deploy(events);
  await settled();
  member.inlet.put(args, () => {});
  stores[0].emit('state', { state: 'failing', code: 'EIO', reason: 'The disk fails.' });
  let ended = false;
  void host.close().then(() => (ended = true));
  await jest.advanceTimersByTimeAsync(5000);
  expect(ended).toBe(false);
  await jest.advanceTimersByTimeAsync(mostMs - 5000);
  expect(ended).toBe(true);
});

test('says where the records of a deleted engine node are', async () => {
  const { host, logged } = start();
  engines[0].backlog = 50;
  await host.close(true);
  expect(logged.info).toEqual([]);
  expect(logged.warn).toEqual([
    expect.stringMatching(/deleted or disabled while 50 records waited .* stay on disk in \/log/)
  ]);
});

test('leaves no threads when an engine cannot be set up', () => {
  jest.isolateModules(() => {
    jest.doMock('../../../nodes/lib/commands', () => ({
      Commands: class {
        constructor() {
          throw new Error('EROFS');
        }
      }
    }));
    const { EngineHost: Host } = require('../../../nodes/lib/engine/host');
    require('../../../nodes/lib/engine/modules').replaceModules(parts);
    expect(() => start({ Host })).toThrow('EROFS');
  });
  expect(calls).toContain('store.stop');
  expect(calls.at(-1)).toBe('engine.close');
});

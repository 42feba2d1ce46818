'use strict';

const { EventEmitter } = require('node:events');
const { EngineHost } = require('../../../nodes/lib/engine/host');
const { Member } = require('../../../nodes/lib/engine/member');
const { replaceModules } = require('../../../nodes/lib/engine/modules');
const { parts, calls, engines, stores, reset } = require('../../nodes/support/fake-parts');

beforeEach(() => {
  reset();
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
  replaceModules();
});

function hostWith(kinds, log = null, native = parts.native) {
  const logged = { warn: [], error: [], info: [] };
  const events = new EventEmitter();
  const context = {
    native,
    events,
    getNode: () => null,
    closeTimeoutMs: 24000,
    warn: (sentence) => logged.warn.push(sentence),
    error: (sentence) => logged.error.push(sentence),
    info: (sentence) => logged.info.push(sentence)
  };
  replaceModules(parts);
  const options = { id: 'e', gatewayId: 'gw', fastPath: 'auto', engine: { maxPacketBytes: 1024 }, log, directory: '/nowhere' }; // prettier-ignore
  const host = new EngineHost(options, context);
  const nodes = kinds.map((kind, index) => ({
    id: `n${index}`,
    wires: [],
    updateWires() {},
    status() {},
    error() {},
    send() {}
  }));
  const members = nodes.map((node, index) => new Member(host, node, { kind: kinds[index], settings: {} }));
  return { host, members, events, logged };
}

const record = { deviceId: 'd', topic: '', payload: Buffer.alloc(1), cls: 3, flags: 0, ts: 0, seq: -1 };

test('asks for short time slices before the threads of the engine start, which inherit them', async () => {
  const shortenTimeSlices = jest.fn(() => expect(engines).toHaveLength(0));
  const { host } = hostWith(['uplink'], null, { ...parts.native, shortenTimeSlices });
  expect(shortenTimeSlices).toHaveBeenCalledTimes(1);
  expect(engines).toHaveLength(1);
  const closed = host.close();
  await jest.advanceTimersByTimeAsync(11_000);
  await closed;
});

test('closes the engine after ten seconds, and reports how many records are dropped', async () => {
  const { host, members, events, logged } = hostWith(['uplink']);
  events.emit('flows:started');
  const done = jest.fn();
  for (let i = 0; i < 3; i++) members[0].inlet.put(record, done, { delivery: true });
  const closed = host.close();
  await jest.advanceTimersByTimeAsync(9900);
  expect(calls).not.toContain('engine.close');
  await jest.advanceTimersByTimeAsync(200);
  await closed;
  expect(calls.at(-1)).toBe('engine.close');
  expect(logged.warn).toEqual([
    expect.stringMatching(/not delivered when the engine stopped and were dropped: 3\./)
  ]);
  expect(done).toHaveBeenCalledTimes(3);
  expect(done.mock.calls[0][0].message).toMatch(/stopped before the record was delivered/);
});

test('treats a second close as the first', async () => {
  const { host } = hostWith([]);
  const [first, second] = [host.close(), host.close()];
  expect(second).toBe(first);
  await jest.advanceTimersByTimeAsync(100);
  await first;
  expect(calls.filter((call) => call === 'engine.close')).toHaveLength(1);
});

test('reports an exception at the doorbell or in a tick, and continues', () => {
  const { host, members, events, logged } = hostWith(['uplink']);
  events.emit('flows:started');
  const rung = jest.fn();
  const fails = (/** @type {string} */ message) => () => {
    throw new Error(message);
  };
  host.upkeep.onBell(fails('a bell failed'));
  host.upkeep.onBell(rung);
  members[0].tick = fails('a tick failed');
  engines[0].takeEvents = fails('events failed');
  expect(() => engines[0].ring()).not.toThrow();
  jest.advanceTimersByTime(1000);
  expect(rung).toHaveBeenCalledTimes(2);
  expect(logged.error).toEqual([
    expect.stringMatching(/^Internal error; the gateway continues\. .*events failed/),
    expect.stringContaining('a bell failed'),
    expect.stringContaining('a tick failed')
  ]);
});

test('ignores a late doorbell after the end', async () => {
  const { host, logged } = hostWith([]);
  const closed = host.close();
  await jest.advanceTimersByTimeAsync(100);
  await closed;
  engines[0].takeCompletions = () => {
    throw new Error('the engine is closed');
  };
  expect(() => engines[0].ring()).not.toThrow();
  expect(logged.error).toEqual([]);
});

test('holds records until the first plan', () => {
  const { members, events } = hostWith(['uplink']);
  members[0].inlet.put(record, () => {});
  expect(engines[0].held).toHaveLength(0);
  events.emit('flows:started');
  expect(engines[0].held).toHaveLength(1);
});

test('reports a plan that the engine refuses, and keeps the previous plan', () => {
  const { host, members, events, logged } = hostWith(['uplink']);
  events.emit('flows:started');
  const before = host.plan;
  engines[0].applyPlan = () => {
    throw new TypeError('stages: more than 1024');
  };
  events.emit('flows:stopping');
  events.emit('flows:started');
  expect(logged.error).toEqual([expect.stringMatching(/more than 1024\)\. The previous plan stays in use/)]);
  expect(host.plan).toBe(before);
  members[0].inlet.put(record, () => {});
  expect(engines[0].held).toHaveLength(1);
});

describe('with a log', () => {
  const log = {
    directory: '/log',
    limitMiB: 1,
    classLimitMiB: [0, 0, 0, 0, 0, 0, 0, 0, 0],
    whenFull: 'slow'
  };

  /** A host that holds records, with an uplink that is connected or not. */
  async function holding(count, state) {
    const made = hostWith(['uplink'], log);
    made.events.emit('flows:started');
    for (let i = 0; i < count; i++) made.members[0].inlet.put(record, () => {});
    const link = { state: { state }, stop: async () => calls.push('uplink.stop') };
    made.host.uplinks.links = new Set([link]);
    calls.length = 0;
    return made;
  }

  /** Closes the host and advances time; returns the ms that it took, to 50. */
  async function close(host) {
    let ended = false;
    const closed = host.close().then(() => (ended = true));
    let ms = 0;
    for (; !ended && ms < 60000; ms += 50) await jest.advanceTimersByTimeAsync(50);
    await closed;
    return ms;
  }

  test('attaches the store thread at once, without delay for the plan', () => {
    const { host, events } = hostWith(['uplink'], log);
    expect(stores[0]).toMatchObject({ options: log, token: host.token });
    stores[0].emit('state', { state: 'opening' });
    events.emit('flows:started');
    expect(calls).toContain('applyPlan');
  });

  test('waits only for the disk without an uplink, and reports what is kept', async () => {
    const { host, logged } = await holding(3, 'disconnected');
    engines[0].onSaveAll = () => setTimeout(() => (engines[0].stored = 3), 400);
    expect(await close(host)).toBeLessThan(700);
    expect(calls.filter((call) => !call.startsWith('flush'))).toEqual([
      'stopReading',
      'saveAll',
      'uplink.stop',
      'saveSessions',
      'store.stop',
      'engine.close'
    ]);
    expect(logged.warn).toEqual([]);
    expect(logged.info).toEqual([expect.stringMatching(/wait for the cloud: 3\. They are on disk/)]);
  });

  test('delivers for three seconds with an uplink, and then writes', async () => {
    const { host, logged } = await holding(2, 'connected');
    engines[0].onSaveAll = () => (engines[0].stored = 2);
    const ms = await close(host);
    expect(ms).toBeGreaterThanOrEqual(3000);
    expect(ms).toBeLessThan(3500);
    expect(logged.warn).toEqual([]);
  });

  test('does not write what is delivered in time', async () => {
    const { host, logged } = await holding(2, 'connected');
    setTimeout(() => engines[0].held.splice(0), 1000);
    await close(host);
    expect(calls).not.toContain('saveAll');
    expect(logged).toEqual({ warn: [], error: [], info: ['Stopped. Records that wait for the cloud: 0.'] });
  });

  test('is not delayed in its stop by a backlog on disk', async () => {
    const { host, logged } = await holding(0, 'connected');
    engines[0].backlog = 1000;
    expect(await close(host)).toBeLessThan(200);
    expect(logged.info).toEqual([expect.stringMatching(/1000/)]);
  });

  test('loses only what neither cloud nor disk took in ten seconds, and reports only that', async () => {
    const { host, logged } = await holding(5, 'disconnected');
    engines[0].stored = 2;
    stores[0].emit('state', { state: 'failing', code: 'ENOSPC', reason: 'The disk is full.' });
    const ms = await close(host);
    expect(ms).toBeGreaterThanOrEqual(10000);
    expect(ms).toBeLessThan(10500);
    expect(logged.error).toEqual(['The disk is full.']);
    expect(logged.warn).toEqual([
      'Records that were not delivered when the engine stopped and were dropped: 3. ' +
        'Neither the uplink nor the log took them: The disk is full. Kept on disk for the next start: 2.'
    ]);
  });

  test('waits until an open batch is sealed and written', async () => {
    const { host, logged } = await holding(0, 'disconnected');
    const [running] = engines;
    Object.assign(running, { open: 1, backlog: 5 });
    setTimeout(() => Object.assign(running, { open: 0, held: [{}] }), 240);
    setTimeout(() => (running.stored = 1), 490);
    const ms = await close(host);
    expect(ms).toBeGreaterThanOrEqual(500);
    expect(ms).toBeLessThan(700);
    expect(logged).toMatchObject({ warn: [], info: [expect.stringMatching(/wait for the cloud: 6\./)] });
  });

  test('holds devices for a failing disk only where the cloud does not help', () => {
    const { host, members } = hostWith(['uplink'], log);
    const link = { state: { state: 'connected' } };
    const become = (/** @type {object | undefined} */ uplink) => {
      members[0].again = () => ({ kind: 'uplink', settings: {}, uplink });
      members[0].renew();
    };
    become({ link });
    host.uplinks.links = new Map([[link, {}]]);
    const stats = { slowed: false };
    expect(host.waitsFor(stats)).toBe('');
    stores[0].emit('state', { state: 'failing', code: 'ENOSPC', reason: 'full' });
    expect(host.waitsFor(stats)).toBe('');
    expect(host.waitsFor({ slowed: true })).toBe('disk full');
    link.state = { state: 'stalled' };
    expect(host.waitsFor(stats)).toBe('disk full');
    link.state = { state: 'connected' };
    become(undefined);
    expect(host.waitsFor(stats)).toBe('disk full');
    become({ link });
    host.acknowledge = 'stored';
    expect(host.waitsFor(stats)).toBe('disk full');
  });
});

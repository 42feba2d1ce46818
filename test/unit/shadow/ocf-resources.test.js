'use strict';
// The limits of what is written to OCF devices, with a cloud that the test answers for.

const cbor = require('cbor');
const { eventually } = require('../../../bench/harness/net');
const { setCloud } = require('../../../nodes/lib/ocf/node/clouds');
const { OcfResources, stateOf } = require('../../../nodes/lib/shadow/ocf-resources');

const OK = 0x44;
const REFUSED = 0x80;
const BROKEN = 0xa0;
/** @param {number} i */
const deviceOf = (i) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;

/** @type {any} */
let world;
beforeEach(() => {
  const observed = [];
  world = { code: OK, now: 0, sent: [], observed, reports: [], warnings: [], retries: [], isConnected: true };
  setCloud(
    'cloud',
    /** @type {any} */ ({
      isClosed: false,
      grants: { of: async () => ({}) },
      ownRequests: {
        send: async (question, signal) => {
          world.sent.push(question);
          if (question.path[0] === world.silent) {
            await new Promise((resolve) => signal.addEventListener('abort', resolve));
            throw Object.assign(new Error('The cloud or the node is closing.'), { reason: 'closed' });
          }
          if (world.failure) throw Object.assign(new Error('No answer.'), { reason: world.failure });
          return { code: world.code, options: [], payload: Buffer.alloc(0) };
        }
      },
      ownObservations: {
        start: ({ di, path }, { answered }) => {
          const own = { di, path, answered, state: 'active', end: () => (own.state = 'ended') };
          observed.push(own);
          return own;
        }
      }
    })
  );
  world.resources = new OcfResources({
    deltaOf: ({ payload }) => stateOf(payload),
    report: async (device, json) => {
      if (world.isFailing) return false;
      world.reports.push([device, json]);
      return true;
    },
    isConnected: () => world.isConnected,
    retry: (device) => world.retries.push(device),
    warn: (sentence) => world.warnings.push(sentence),
    now: () => world.now,
    writeMs: 50
  });
});
afterEach(() => {
  world.resources.close();
  setCloud('cloud', null);
});

/** @param {number} i @param {object} state @returns {Promise<string>} how the command ends */
const carry = (i, state) =>
  world.resources
    .carry({ device: deviceOf(i), payload: Buffer.from(JSON.stringify({ state })) })
    .catch((/** @type {Error} */ error) => error.message);
const posts = () => world.sent.filter(({ method }) => method === 'POST').length;

test('passes keys that are not hrefs, and other devices, to the engine', async () => {
  expect(await carry(1, { rate: 5 })).toBe('offline');
  const other = { device: 'pump-7', payload: Buffer.from('{"state":{"/light":{}}}') };
  expect(await world.resources.carry(other)).toBe('offline');
  setCloud('cloud', null);
  expect(await carry(1, { '/light': { on: true } })).toBe('offline');
  expect(world.sent).toEqual([]);
});

test('accepts the difference of each dialect', async () => {
  expect(stateOf(Buffer.from('{"/light":{"on":true},"$version":3}'))).toMatchObject({
    '/light': { on: true }
  });
  expect(stateOf(Buffer.from('{"state":{"/light":{"on":1.10}}}'))).toMatchObject({ '/light': {} });
});

test.each([
  [true, 'busy'],
  [false, 'offline']
])('waits for a device without a way to it, connected: %s', async (isConnected, end) => {
  Object.assign(world, { failure: 'offline', isConnected });
  expect(await carry(1, { '/a': { on: true }, '/b': { on: true } })).toBe(end);
  expect([world.sent.length, world.resources.failures(deviceOf(1))]).toEqual([1, null]);
});

test('resends a refused value after a pause that doubles, and immediately after a new connection', async () => {
  world.code = REFUSED;
  const state = { '/light': { on: true } };
  const counts = [];
  for (const now of [0, 9999, 10000, 29999, 30000, 69999, 70000]) {
    world.now = now;
    expect(await carry(1, state)).toBe('/light: The device answers 4.00.');
    counts.push(posts());
  }
  expect(counts).toEqual([1, 1, 2, 2, 3, 3, 4]);
  await world.resources.connected(deviceOf(1), async () => []);
  expect(world.resources.failures(deviceOf(1))).toEqual({
    '/light': { reason: 'The device answers 4.00.', timestamp: 70 }
  });
  await carry(1, state);
  expect(posts()).toBe(5);
  await carry(1, { '/light': { on: false } });
  expect(posts()).toBe(6);
  world.resources.settled(deviceOf(1));
  expect(world.resources.failures(deviceOf(1))).toBeNull();
});

describe('while a device reports nothing', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick'] }));
  afterEach(() => jest.useRealTimers());

  /** @param {number} ms */
  const wait = (ms) => {
    world.now += ms;
    jest.advanceTimersByTime(ms);
  };

  test('retries a refused value when each pause ends', async () => {
    world.code = REFUSED;
    const state = { '/light': { on: true } };
    for (const ms of [10000, 20000, 40000]) {
      world.retries.length = 0;
      await carry(1, state);
      wait(ms - 1);
      expect(world.retries).toEqual([]);
      wait(1);
      expect(world.retries).toEqual([deviceOf(1)]);
    }
    expect(posts()).toBe(3);
  });

  test('retries the second value although the first one is accepted meanwhile', async () => {
    world.code = REFUSED;
    await carry(1, { '/light': { on: true } });
    wait(6000);
    await carry(1, { '/light': { on: true }, '/fan': { on: true } });
    wait(4000);
    world.code = OK;
    await carry(1, { '/light': { on: true }, '/fan': { on: true } });
    world.retries.length = 0;
    wait(6000);
    expect(world.retries).toEqual([deviceOf(1)]);
  });

  test('does not retry what is settled, or after the end', async () => {
    world.code = REFUSED;
    await carry(1, { '/light': { on: true } });
    world.resources.settled(deviceOf(1));
    await carry(2, { '/light': { on: true } });
    world.resources.close();
    wait(20000);
    expect(world.retries).toEqual([]);
  });
});

test('rewrites a value that the device does not keep after a time that doubles, and writes others meanwhile', async () => {
  const ends = [];
  for (const now of [0, 999, 1000, 2999, 3000, 6999, 7000]) {
    world.now = now;
    ends.push(await carry(1, { '/button': { pressed: true } }));
  }
  expect(ends).toEqual(['taken', 'busy', 'taken', 'busy', 'taken', 'busy', 'taken']);
  expect(posts()).toBe(4);
  expect(await carry(1, { '/button': { pressed: true }, '/light': { on: true } })).toBe('busy');
  expect(world.sent.filter(({ method }) => method === 'POST').at(-1).path).toEqual(['light']);
  world.now += 200000;
  expect(await carry(1, { '/button': { pressed: true } })).toBe('taken');
  world.now += 1000;
  expect(await carry(1, { '/button': { pressed: true } })).toBe('taken');
});

test('sends a value three times after a 5.xx or no answer, and then after a pause', async () => {
  world.code = BROKEN;
  const ends = [];
  for (let i = 0; i < 5; i++) ends.push(await carry(1, { '/light': { on: true } }));
  world.failure = 'timeout';
  ends.push(await carry(2, { '/light': { on: true } }));
  expect(ends).toEqual([
    'timeout',
    'timeout',
    'timeout',
    '/light: The device answers 5.00.',
    '/light: The device answers 5.00.',
    'timeout'
  ]);
  expect(posts()).toBe(4);
});

test('writes other resources before one that did not answer in time', async () => {
  world.silent = 'a';
  const ends = [];
  for (let i = 0; i < 2; i++) ends.push(await carry(1, { '/a': { on: true }, '/b': { on: true } }));
  expect(ends).toEqual(['timeout', 'timeout']);
  const paths = world.sent.filter(({ method }) => method === 'POST').map(({ path }) => path[0]);
  expect(paths).toEqual(['a', 'b', 'a']);
  expect(world.resources.failures(deviceOf(1))).toMatchObject({
    '/a': { reason: 'The device has not answered in time.' }
  });
});

test('observes 1,000 resources, and stops observing the least recently written one', async () => {
  for (let i = 0; i <= 1000; i++) {
    await carry(i, { '/light': { on: true } });
    if (i === 500) await carry(0, { '/light': { on: false } });
  }
  const ended = world.observed.filter(({ state }) => state === 'ended');
  expect([world.observed.length, ended.map(({ di }) => di)]).toEqual([1001, [deviceOf(1)]]);
  world.resources.close();
  expect(world.observed.filter(({ state }) => state !== 'ended')).toEqual([]);
});

test('keeps the failures of 1,000 devices', async () => {
  world.code = REFUSED;
  for (let i = 0; i <= 1000; i++) await carry(i, { '/light': { on: true } });
  expect(world.resources.failures(deviceOf(0))).toBeNull();
  expect(world.resources.failures(deviceOf(1))).toMatchObject({
    '/light': { reason: 'The device answers 4.00.' }
  });
});

test('stores the latest report of each resource as soon as that is possible', async () => {
  await world.resources.connected(deviceOf(1), async () => ['/light', '/fan']);
  const [light, fan] = world.observed;
  const notify = (own, body) => own.answered({ code: 0x45, options: [], payload: cbor.encode(body) });
  world.isFailing = true;
  notify(light, { on: true });
  notify(fan, { on: true });
  notify(light, { on: false });
  await new Promise(setImmediate);
  world.isFailing = false;
  notify(fan, { on: false });
  await eventually(() => world.reports.length === 2, { what: 'both' });
  expect(world.reports).toEqual([
    [deviceOf(1), '{"reported":{"/fan":{"on":false}}}'],
    [deviceOf(1), '{"reported":{"/light":{"on":false}}}']
  ]);
});

test('observes the desired resources of a device that connects', async () => {
  await world.resources.connected(deviceOf(1), async () => ['/light', 'rate', '/a/../b', '/fan']);
  expect(world.observed.map(({ path }) => path.join('/'))).toEqual(['light', 'fan']);
});

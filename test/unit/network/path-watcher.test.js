'use strict';
// The path watcher without a network: its reactions to events.

const { Monitor } = require('../../../nodes/lib/network/paths/route-monitor');
const { Watcher } = require('../../../nodes/lib/network/paths/path-watcher');
const { eventually } = require('../../../bench/harness/net');
const { World } = require('../../fixtures/network/paths-world');

/** @type {World} */
let world;
/** @type {InstanceType<typeof Watcher>} */
let watcher;
beforeEach(() => {
  jest.useFakeTimers({ now: 1e12 });
  world = new World();
  watcher = new Watcher(world.parts(), { probes: true, everyMs: 1000, timeoutMs: 700 });
});
afterEach(async () => {
  await watcher.stop();
  jest.useRealTimers();
});
const pass = (/** @type {number} */ ms) => jest.advanceTimersByTimeAsync(ms);

async function begin() {
  await watcher.start();
  await pass(100);
  world.done.length = 0;
  world.log.length = 0;
}

test("sets each path's endpoint after its first answer", async () => {
  await watcher.start();
  expect(world.done).toEqual([]);
  await pass(100);
  expect(world.done.sort()).toEqual([
    'add 10.0.1.1 dev eth0 id 231 subflow',
    'add 10.0.2.1 dev wwan0 id 232 subflow backup'
  ]);
  expect(world.status).toMatchObject({
    mptcp: true,
    paths: [
      {
        name: 'eth0',
        interface: 'eth0',
        address: '10.0.1.1',
        role: 'active',
        state: 'up',
        why: 'answers',
        endpointId: 231
      },
      {
        name: 'wwan0',
        role: 'backup',
        state: 'up',
        endpointId: 232,
        since: expect.stringMatching(/^\d{4}-.*Z$/)
      }
    ]
  });
});

test('removes the endpoint of a silent path within 3 s and sets it again after two answers', async () => {
  await begin();
  world.dead.add('eth0');
  await pass(3000);
  expect(world.done).toEqual(['delete id 231']);
  expect(world.log).toEqual(['eth0: down: silent']);
  expect(world.status.paths[0]).toMatchObject({ state: 'down', why: 'silent', endpointId: 0 });
  await pass(20_000);
  expect(world.log).toHaveLength(1);
  world.dead.clear();
  await pass(1500);
  expect(world.done.slice(1)).toEqual(['add 10.0.1.1 dev eth0 id 231 subflow']);
  expect(world.log.map((line) => line.split(':')[1])).toEqual([' down', ' probing', ' up']);
});

describe('a path that its user reports as silent', () => {
  const hint = (/** @type {string} */ path) => watcher.suspect({ path, rttMs: 0 });

  test('loses its endpoint in 210 ms if neither probe is answered', async () => {
    await begin();
    await pass(300);
    world.dead.add('eth0');
    world.asked.length = 0;
    hint('10.0.1.1');
    await pass(205);
    expect(world.asked).toEqual(['eth0', 'eth0']);
    expect(world.done).toEqual([]);
    await pass(10);
    expect(world.done).toEqual(['delete id 231']);
    expect(world.log).toEqual(['eth0: down: silent']);
  });

  test('keeps its endpoint if it answers', async () => {
    await begin();
    await pass(300);
    world.asked.length = 0;
    hint('eth0');
    await pass(400);
    expect(world.asked).toEqual(['eth0']);
    expect([world.done, world.log]).toEqual([[], []]);
  });

  test('keeps its endpoint if one probe of the two is lost', async () => {
    await begin();
    await pass(300);
    world.dead.add('eth0');
    hint('eth0');
    await pass(50);
    world.dead.clear();
    await pass(5000);
    expect([world.done, world.log]).toEqual([[], []]);
  });

  test('ignores the end of a probe that was already in flight', async () => {
    await begin();
    world.dead.add('eth0');
    await pass(1000);
    hint('eth0');
    world.dead.clear();
    await pass(1000);
    expect([world.done, world.log]).toEqual([[], []]);
    world.dead.add('eth0');
    await pass(3000);
    expect(world.done).toEqual(['delete id 231']);
  });

  test('is not probed by a flood of hints more often than twice a second in the long run', async () => {
    await begin();
    world.asked.length = 0;
    for (let i = 0; i < 2000; i++) {
      hint('eth0');
      await pass(10);
    }
    expect(world.asked.filter((name) => name === 'eth0').length).toBeLessThanOrEqual(2 * 20 + 6);
    expect(world.log).toEqual([]);
  });

  test('keeps its endpoint when it is the only path; hints on unknown paths are ignored', async () => {
    await begin();
    world.dead.add('wwan0');
    await pass(3000);
    world.log.length = 0;
    world.asked.length = 0;
    hint('eth0');
    hint('wwan0');
    hint('usb0');
    hint('constructor');
    await pass(1);
    expect(world.asked).toEqual([]);
  });

  test('is not probed after stop', async () => {
    await begin();
    await watcher.stop();
    world.asked.length = 0;
    hint('eth0');
    await pass(5000);
    expect(world.asked).toEqual([]);
  });
});

test('keeps the endpoints when all paths are down, and sets them again when their path is back', async () => {
  await begin();
  world.dead.add('eth0').add('wwan0');
  await pass(60_000);
  // The first path that went down was removed while the other seemed up, or neither was.
  expect(world.endpoints.length).toBeGreaterThan(0);
  const before = world.done.length;
  world.dead.clear();
  await pass(3000);
  expect(world.done.slice(before).filter((line) => line.startsWith('add'))).toHaveLength(2);
  expect(world.endpoints).toHaveLength(2);
});

test('reacts to a lost link at once, and ignores other interfaces', async () => {
  await begin();
  const views = world.views;
  watcher.event({ kind: 'route', device: 'docker0', isGone: false, carrier: null });
  await pass(200);
  expect(world.views).toBe(views);
  world.interfaces[0] = { ...world.interfaces[0], carrier: false };
  watcher.event({ kind: 'link', device: 'eth0', isGone: false, carrier: false });
  await pass(0);
  expect(world.done).toEqual(['delete id 231']);
  expect(world.log).toEqual(['eth0: down: the link is down']);
});

test('ignores an answer to the old address', async () => {
  await begin();
  world.dead.add('eth0');
  await pass(1000);
  world.interfaces[0] = { ...world.interfaces[0], addresses: [{ address: '10.0.1.77', prefix: 24 }] };
  watcher.event({ kind: 'address', device: 'eth0', isGone: false, carrier: null });
  world.dead.clear();
  await pass(3000);
  expect(world.log).toEqual(['eth0: probing: new address 10.0.1.77', 'eth0: up: answers']);
  expect(world.endpoints.map(({ id, address }) => `${id} ${address}`).sort()).toEqual([
    '231 10.0.1.77',
    '232 10.0.2.1'
  ]);
});

test('inspects once after a burst of events', async () => {
  await begin();
  const views = world.views;
  for (let i = 0; i < 100; i++)
    watcher.event({ kind: 'address', device: 'eth0', isGone: false, carrier: null });
  await pass(100);
  expect(world.views - views).toBe(1);
});

test('reports a failed step once and retries it until it works', async () => {
  await begin();
  world.failing = 'delete';
  world.dead.add('eth0');
  await pass(10_000);
  expect(world.log).toEqual([
    'eth0: down: silent',
    "failed: 'ip mptcp endpoint delete id 231' failed: no room."
  ]);
  world.failing = '';
  await pass(1100);
  expect(world.done).toEqual(['delete id 231']);
  expect(world.log.at(-1)).toBe('done: the failed step has succeeded');
});

test('continues when its status cannot be written, with one message', async () => {
  await begin();
  const { report } = world;
  world.report = () => {
    throw new Error('ENOSPC: no space left on device');
  };
  world.dead.add('eth0');
  await pass(12_000);
  expect(world.done).toEqual(['delete id 231']);
  expect(world.log.filter((line) => line.includes('status'))).toEqual([
    'failed: The status cannot be written: ENOSPC: no space left on device'
  ]);
  world.report = report;
  await pass(6000);
  expect(world.log.at(-1)).toBe('done: The status is written again.');
});

test('restores an externally removed setting without an event', async () => {
  await begin();
  world.endpoints = [];
  await pass(10_100);
  expect(world.done).toHaveLength(2);
});

test('does nothing after stop', async () => {
  await begin();
  world.dead.add('eth0');
  await watcher.stop();
  const { views } = world;
  watcher.event({ kind: 'link', device: 'eth0', isGone: false, carrier: false });
  await pass(60_000);
  expect(world.views).toBe(views);
  expect(jest.getTimerCount()).toBe(0);
});

test('restarts ip monitor when it ends, with longer and longer pauses, also where it is not installed', async () => {
  jest.useRealTimers();
  const seen = /** @type {string[]} */ ([]);
  const on = {
    event: (/** @type {any} */ { kind, device }) => seen.push(`${kind} ${device}`),
    started: () => seen.push('started'),
    ended: (/** @type {string} */ why) => seen.push(why.replace(/.*\((.*)\); restarting/, '$1, restarting'))
  };
  const line = 'default via 10.0.1.2 dev a0\\n3: a0: <UP,LOWER_UP> mtu 1500 state UP\\n';
  const once = new Monitor(on, { tool: 'printf', args: [line] });
  once.start();
  await eventually(() => seen.length >= 8);
  once.stop();
  const cycle = ['started', 'route a0', 'link a0'];
  expect(seen.slice(0, 8)).toEqual([
    ...cycle,
    'exit code 0, restarting in 200 ms',
    ...cycle,
    'exit code 0, restarting in 400 ms'
  ]);
  seen.length = 0;
  const missing = new Monitor(on, { tool: 'no-such-tool' });
  missing.start();
  await eventually(() => seen.length >= 2);
  missing.stop();
  expect(seen).toEqual([
    expect.stringContaining('ENOENT, restarting in 200'),
    expect.stringContaining('restarting in 400')
  ]);
});

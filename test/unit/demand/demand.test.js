'use strict';

// Questions share the rate of a device; it gets its normal rate back, whatever happens meanwhile.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { World } = require('../../fixtures/demand/world');
const { seeded } = require('../../fixtures/random');

/** @type {string} */
let folder;
/** @type {World[]} */
let worlds;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-demand-'));
  worlds = [];
  jest.useFakeTimers({ doNotFake: ['performance', 'nextTick', 'setImmediate'] });
});
afterEach(() => {
  for (const world of worlds) void world.demand.close();
  jest.useRealTimers();
  fs.rmSync(folder, { recursive: true });
});

function start() {
  const world = new World(folder);
  worlds.push(world);
  return world;
}

test('the shortest interval and the latest end win, and the normal rate follows the last question', async () => {
  const world = start();
  expect(await world.ask({ everyMs: 1000, forS: 60 })).toMatchObject({
    state: 'on',
    by: 'command',
    everyMs: 1000
  });
  await world.ask({ by: 'bob', everyMs: 100, forS: 10 });
  await world.ask({ by: 'cem', everyMs: 500, forS: 90 });
  expect(world.demand.view('a')).toMatchObject({ everyMs: 100, askers: ['ann', 'bob', 'cem'] });
  expect(world.demand.view('a').endsAt).toBe(world.wall() + 90000);
  await world.pass(10000);
  await world.pass(60000);
  await world.pass(30000);
  expect(world.got.a).toEqual(['1000', '100', '500', 'normal']);
  expect(world.demand.view('a')).toBeNull();
  expect(world.states.at(-1)).toEqual(['a', 'normal', 0]);
});

test('ends questions whose ends follow one another closely together, at most 50 ms late', async () => {
  const world = start();
  await world.ask({ device: 'a', forS: 1 });
  for (const device of ['b', 'c', 'd']) {
    world.connected.add(device);
    await world.pass(10);
    await world.ask({ device, forS: 1 });
  }
  await world.pass(970);
  expect(world.demand.list('', 9).map(({ device }) => device)).toEqual(['b', 'c', 'd']);
  await world.pass(49);
  expect(world.demand.list('', 9)).toHaveLength(3);
  await world.pass(1);
  expect(world.demand.list('', 9)).toEqual([]);
});

test('has no timer, no follower and no file without a question, and none after the last restore', async () => {
  const world = start();
  const followed = jest.spyOn(world.deviceEvents, 'follow');
  expect([jest.getTimerCount(), fs.readdirSync(folder)]).toEqual([0, []]);
  await world.ask({ forS: 1 });
  expect(followed).toHaveBeenCalledTimes(1);
  expect(jest.getTimerCount()).toBe(1);
  await world.pass(1000);
  await world.pass(60);
  expect(world.got.a).toEqual(['100', 'normal']);
  expect(jest.getTimerCount()).toBe(0);
  world.kill();
  expect(world.demand.figures()).toMatchObject({ questions: 0, devices: { restoring: 0, waiting: 0 } });
});

test('writes the restore before a command leaves', async () => {
  const world = start();
  world.answers = { end: 'never' };
  const asked = world.demand.ask({ device: 'a', by: 'ann', everyMs: 100, forS: 60 });
  expect(world.queues.isEmpty).toBe(true);
  await jest.advanceTimersByTimeAsync(60);
  expect(world.queues.isEmpty).toBe(false);
  world.answers = { end: 'taken' };
  world.kill();
  await asked;
  await world.pass(61000);
  expect(world.got.a.at(-1)).toBe('normal');
});

test('answers when the question is on disk, which then outlives the process, and not before', async () => {
  const world = start();
  world.diskMs = 300;
  let view = null;
  const asked = world.demand
    .ask({ device: 'a', by: 'ann', everyMs: 100, forS: 60 })
    .then((it) => (view = it));
  await jest.advanceTimersByTimeAsync(299);
  expect([view, world.got.a]).toEqual([null, undefined]);
  await jest.advanceTimersByTimeAsync(1);
  await asked;
  expect([view.state, world.got.a]).toEqual(['on', ['100']]);
  world.kill();
  expect(world.demand.view('a')).toMatchObject({ everyMs: 100, askers: ['ann'] });
  void world.demand.ask({ device: 'b', by: 'ann', everyMs: 100, forS: 60 }).catch(() => {});
  await jest.advanceTimersByTimeAsync(299);
  world.kill();
  expect([world.demand.view('b'), world.got.b]).toEqual([null, undefined]);
});

test('restores at once after a crash, once the time is over, and goes on before that', async () => {
  const world = start();
  await world.ask({ device: 'a', forS: 10 });
  await world.ask({ device: 'b', forS: 100 });
  world.time += 20000;
  world.kill();
  expect(world.got).toEqual({ a: ['100', 'normal'], b: ['100', '100'] });
  await world.pass(80000);
  expect(world.got.b).toEqual(['100', '100', 'normal']);
});

test('does not prolong a question after a crash if the clock was set back', async () => {
  const world = start();
  await world.ask({ forS: 10 });
  world.wallAhead = -86_400_000;
  world.kill();
  await world.pass(10001);
  expect(world.got.a.at(-1)).toBe('normal');
});

test('restores a device that was away at the end, before what waits for it, also after a crash', async () => {
  const world = start();
  await world.ask({ forS: 10 });
  world.connected.delete('a');
  await world.pass(10000);
  expect(world.demand.view('a')).toMatchObject({ state: 'restoring', everyMs: 0, endsAt: 0 });
  world.kill();
  const other = {
    id: 'x',
    device: 'a',
    topic: 'cmd/a/x',
    payload: Buffer.from('other'),
    qos: 1,
    origin: null
  };
  world.queues.submit({ ...other, expiresAt: world.wall() + 1e9 }, () => {});
  await world.connect('a');
  expect(world.got.a).toEqual(['100', 'normal', 'other']);
  expect(world.demand.view('a')).toBeNull();
});

test('sends nothing to a device that stayed away, and owes it nothing', async () => {
  const world = start();
  world.connected.clear();
  expect(await world.ask({ forS: 10 })).toMatchObject({ state: 'waiting' });
  await world.pass(10000);
  expect([world.demand.view('a'), world.got.a, world.queues.isEmpty]).toEqual([null, undefined, true]);
});

test('sends the rate again to a device that connects again, because it may have restarted', async () => {
  const world = start();
  await world.ask({});
  await world.connect('a');
  expect(world.got.a).toEqual(['100', '100']);
});

test('restores a device that may have got the command without an acknowledgement', async () => {
  const world = start();
  world.answers = { end: 'offline', isDoubtful: true };
  await world.ask({ forS: 5 });
  world.connected.delete('a');
  await world.pass(5000);
  expect(world.demand.view('a').state).toBe('restoring');
  world.answers = { end: 'taken' };
  await world.connect('a');
  expect(world.got.a).toEqual(['normal']);
});

test('a device that refuses ends the questions with its reason; one that has a rate is restored', async () => {
  const world = start();
  await world.ask({ by: 'bob', everyMs: 1000 });
  world.answers = { end: 'refused', reason: 'Too fast.' };
  const error = await world.ask({ by: 'ann', everyMs: 100 });
  expect([error.status, error.message]).toEqual([409, 'The device refused the rate. Too fast.']);
  expect(world.demand.view('a')).toMatchObject({ state: 'refused', askers: [] });
  expect(world.unrestored).toEqual([['a', 'Too fast.']]);
  world.answers = { end: 'taken' };
  await world.connect('a');
  expect(world.got.a).toEqual(['1000', 'normal']);
  world.answers = { end: 'refused' };
  expect((await world.ask({ device: 'b' })).status).toBe(409);
  expect(world.demand.view('b')).toBeNull();
});

test('tries a silent device again, and does not hold it for ever', async () => {
  const world = start();
  world.answers = { end: 'timeout' };
  await world.ask({ forS: 100 });
  for (let second = 0; second < 3; second++) await world.pass(1000);
  expect(world.demand.view('a')).toMatchObject({ state: 'silent', everyMs: 100 });
  world.answers = { end: 'taken' };
  await world.pass(60000);
  expect(world.demand.view('a').state).toBe('on');
  await world.pass(40000);
  expect(world.got.a).toEqual(['100', 'normal']);
});

test('a new question while the restore waits takes its place', async () => {
  const world = start();
  await world.ask({ forS: 1 });
  world.connected.delete('a');
  await world.pass(1000);
  await world.ask({ everyMs: 200, forS: 50 });
  await world.connect('a');
  expect(world.got.a).toEqual(['100', '200']);
  await world.pass(50000);
  expect(world.got.a).toEqual(['100', '200', 'normal']);
});

test('an asker renews or ends a question of its own', async () => {
  const world = start();
  await world.ask({ everyMs: 100, forS: 10 });
  await world.ask({ everyMs: 500, forS: 20 });
  expect(world.got.a).toEqual(['100', '500']);
  expect((await world.ask({ by: 'bob', everyMs: 0, forS: 0 })).status).toBe(404);
  expect(await world.ask({ everyMs: 0, forS: 0 })).toMatchObject({ everyMs: 0 });
  expect(world.got.a).toEqual(['100', '500', 'normal']);
});

test('an asker that ends the question during its write gets no rate', async () => {
  const world = start();
  const [first, second] = [world.ask({}), world.ask({ everyMs: 0, forS: 0 })];
  await Promise.all([first, second]);
  await world.pass(100);
  expect([world.got.a, world.demand.view('a'), world.demand.figures().questions]).toEqual([
    undefined,
    null,
    0
  ]);
  world.kill();
  expect(world.demand.view('a')).toBeNull();
});

test('keeps the limits of the node, of an asker and of a device', async () => {
  const world = start();
  world.leave();
  world.leave = world.join({ minEveryMs: 200, maxForS: 30, maxOfUser: 2, maxOfDevice: 2 });
  const ask = async (request) => (await world.ask({ everyMs: 200, forS: 30, ...request })).message ?? 'fine';
  expect(await ask({ everyMs: 199 })).toMatch(/^everyMs must be at least 200/);
  expect(await ask({ forS: 31 })).toMatch(/^forS must be at most 30/);
  expect(await ask({})).toBe('fine');
  expect(await ask({ device: 'b' })).toBe('fine');
  expect(await ask({ device: 'c' })).toMatch(/^ann asks about 2 devices already/);
  expect(await ask({})).toBe('fine');
  expect(await ask({ by: 'bob' })).toBe('fine');
  expect(await ask({ by: 'cem' })).toMatch(/^2 askers ask about this device already/);
  expect(world.demand.figures().questions).toBe(3);
});

test('a question that cannot be written is refused, and leaves nothing', async () => {
  const world = start();
  fs.writeFileSync(
    path.join(folder, 'demand.db'),
    Buffer.from('SQLite format 3\0 but not really'.padEnd(4096))
  );
  const error = await world.ask({});
  expect([error.status, error.message]).toEqual([
    503,
    expect.stringMatching(/^The gateway cannot keep the question/)
  ]);
  expect([world.demand.view('a'), world.demand.figures().questions]).toEqual([null, 0]);
  expect(fs.readdirSync(folder)).toEqual([expect.stringMatching(/^demand\.db\.damaged-/)]);
  expect(await world.ask({})).toMatchObject({ state: 'on' });
});

test('ends the questions of a node that is gone, and restores', async () => {
  const world = start();
  await world.ask({});
  world.leave();
  expect((await world.ask({ by: 'bob' })).status).toBe(404);
  world.demand.begin();
  await world.pass(0);
  expect(world.got.a).toEqual(['100', 'normal']);
  expect(world.demand.figures()).toMatchObject({ questions: 0, counters: { restored: 1 } });
});

test('restores after a crash although no node is there any more', async () => {
  const world = start();
  await world.ask({ forS: 1 });
  world.connected.delete('a');
  await world.pass(1000);
  world.kill({ devices: 'other' });
  await world.connect('a');
  expect(world.got.a).toEqual(['100', 'normal']);
});

describe('a device that the gateway reads', () => {
  /** @param {World} world @param {string[]} calls */
  const offer = (world, calls, name = '') =>
    world.readers.offer('a', (everyMs) => {
      calls.push(`${name}${everyMs}`);
      return () => calls.push(`${name}end`);
    });

  test('is read at the rate, by all its readers, and gets no command', async () => {
    const world = start();
    const calls = [];
    offer(world, calls, 'x');
    offer(world, calls, 'y');
    expect(await world.ask({ everyMs: 500, forS: 10 })).toMatchObject({ state: 'on', by: 'reading' });
    await world.ask({ by: 'bob', everyMs: 100, forS: 5 });
    await world.pass(5000);
    await world.pass(5000);
    expect(calls).toEqual(['x500', 'y500', 'xend', 'yend', 'x100', 'y100', 'xend', 'yend', 'x500', 'y500', 'xend', 'yend']); // prettier-ignore
    expect([world.got.a, world.demand.view('a')]).toEqual([undefined, null]);
  });

  test('is read once it has a reader, if it has got no command yet', async () => {
    const world = start();
    const calls = [];
    world.connected.clear();
    expect(await world.ask({ forS: 10 })).toMatchObject({ state: 'waiting', by: 'command' });
    const withdraw = offer(world, calls);
    expect(world.demand.view('a')).toMatchObject({ state: 'on', by: 'reading' });
    expect(world.queues.isEmpty).toBe(true);
    withdraw();
    await world.pass(10000);
    expect([calls, world.demand.view('a')]).toEqual([['100', 'end'], null]);
  });

  test('goes on after a deploy of its source and after a restart, without a command', async () => {
    const world = start();
    const calls = [];
    const withdraw = offer(world, calls);
    await world.ask({ everyMs: 100 });
    withdraw();
    expect(world.demand.view('a')).toMatchObject({ state: 'waiting', everyMs: 100 });
    offer(world, calls);
    world.kill();
    offer(world, calls);
    expect(calls).toEqual(['100', 'end', '100', 'end', '100']);
    expect(world.got.a).toBeUndefined();
  });
});

test.each([0, 180])(
  'leaves no device behind, whatever happens, with a disk that takes %i ms',
  async (diskMs) => {
    const random = seeded(7).next;
    const world = start();
    world.diskMs = diskMs;
    const ids = ['a', 'b', 'c', 'd'];
    const pick = (list) => list[Math.floor(random() * list.length)];
    for (let step = 0; step < 300; step++) {
      const device = pick(ids);
      const what = random();
      if (what < 0.4) {
        void world.demand
          .ask({ device, by: pick(['ann', 'bob']), everyMs: pick([100, 200, 500]), forS: pick([0, 1, 2, 5]) })
          .catch(() => {});
      } else if (what < 0.55) await world.connect(device);
      else if (what < 0.7) world.connected.delete(device);
      else if (what < 0.8)
        world.answers = pick([{ end: 'taken' }, { end: 'timeout' }, { end: 'offline', isDoubtful: true }]); // prettier-ignore
      else if (what < 0.82) world.kill();
      await world.pass(pick([0, 10, 60, 500, 1500]));
      const counted = { waiting: 0, on: 0, silent: 0, refused: 0, restoring: 0 };
      for (const { state } of world.demand.list('', 10)) counted[state]++;
      expect(world.demand.figures().devices).toEqual(counted);
    }
    world.answers = { end: 'taken' };
    for (const device of ids) await world.connect(device);
    await world.pass(6000);
    await world.pass(61000);
    for (const device of ids) await world.connect(device);
    expect(world.demand.list('', 10)).toEqual([]);
    for (const device of ids) expect([device, world.got[device].at(-1)]).toEqual([device, 'normal']);
    expect(world.queues.isEmpty).toBe(true);
  }
);

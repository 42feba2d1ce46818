'use strict';
// The life of a tenant, with an engine and a clock in memory.

const { settle } = require('../../fixtures/tenants/fake-clock');
const { acme, acmeLife, errorOf } = require('../../fixtures/tenants/acme-life');

const life = acmeLife();
const { stateOf, lease, callsOf, within } = life;
/** @type {typeof life.world} */
let world;
beforeEach(() => {
  world = life.world;
});

test('starts at the first lease, and answers when it accepts connections', async () => {
  await world.apply(acme);
  expect(stateOf()).toBe('absent');
  const promise = lease();
  await world.clock.pass(150);
  expect(stateOf()).toBe('starting');
  const { lease: id, ...rest } = await within(promise);
  expect(id).toMatch(/^acme\.[\w-]{16}$/);
  expect(rest).toEqual({
    how: 'start',
    readyMs: 600,
    host: '127.64.0.1',
    port: 1883,
    user: 'front',
    password: expect.stringMatching(/^[\w-]{32}$/)
  });
  expect(stateOf()).toBe('running');
  expect(world.events.map(({ event, by, class: priority }) => [event, by, priority])).toEqual([
    ['waking', 'records', 3],
    ['ready', 'records', 3]
  ]);
});

test('shares one start among any number of callers', async () => {
  await world.apply(acme);
  const all = await within(Promise.all(Array.from({ length: 20 }, () => lease())));
  expect(new Set(all.map((each) => each.lease)).size).toBe(20);
  expect(callsOf('start')).toBe(1);
});

test('pauses when it is idle, wakes from that without a start, and stops after a longer time', async () => {
  await world.apply(acme);
  const { lease: id } = await within(lease());
  await world.clock.pass(25_000);
  expect(stateOf()).toBe('running');
  expect(world.keeper.release(id)).toBe(true);
  await world.clock.pass(9_990);
  expect(stateOf()).toBe('running');
  await world.clock.pass(30);
  expect(stateOf()).toBe('paused');
  expect(await within(lease())).toMatchObject({ how: 'unpause' });
  expect(callsOf('start')).toBe(1);
  // It was ready before: no password is checked again.
  expect(world.logins).toEqual(['keeper', '']);
  // The lease is not renewed: it ends after 30 s, then the idle time, then the time until the stop.
  await world.clock.pass(30_000 + 10_100);
  expect(stateOf()).toBe('paused');
  await world.clock.pass(60_100);
  expect(stateOf()).toBe('stopped');
  expect(world.events.at(-1)).toMatchObject({ event: 'stopped', reason: 'idle' });
});

test('stops instead of a pause if it is not to be kept warm', async () => {
  await world.apply({ ...acme, warm: false });
  world.keeper.release((await within(lease())).lease);
  await world.clock.pass(10_100);
  expect(stateOf()).toBe('stopped');
  expect(callsOf('pause')).toBe(0);
});

test.each(['idle', 'asked'])(
  'stops (%s) what the engine refuses to pause, and tries again only after the next start',
  async (why) => {
    world.driver.pause = async ({ name }) => {
      world.driver.calls.push(`pause ${name}`);
      throw new Error('cgroups: freezer is not supported');
    };
    await world.apply(acme);
    for (let i = 0; i < 2; i++) {
      world.keeper.release((await within(lease())).lease);
      if (why === 'asked') await within(world.keeper.tenant('acme').sleep({ isPause: true }));
      await world.clock.pass(10_200);
      expect(stateOf()).toBe('stopped');
      expect(world.events.at(-1)).toMatchObject({ event: 'stopped', reason: why });
      if (i === 0) expect(world.keeper.tenant('acme').status.reason).toMatch(/cannot be paused: .*freezer/);
    }
    expect(callsOf('pause')).toBe(2);
    expect(world.keeper.tenant('acme').failures).toBe(0);
  }
);

test('a lease lives 30 s from its last renewal', async () => {
  await world.apply(acme);
  const { lease: id } = await within(lease());
  for (let i = 0; i < 5; i++) {
    await world.clock.pass(29_000);
    expect(world.keeper.renew(id)).toBe(true);
  }
  expect(world.keeper.tenant('acme').leases).toBe(1);
  await world.clock.pass(30_000);
  expect(world.keeper.renew(id)).toBe(false);
  expect(world.keeper.release(id)).toBe(false);
  expect(world.keeper.tenant('acme').leases).toBe(0);
});

test('a lease has no time limit while the tenant starts, however long that takes', async () => {
  world.ready.ms = 50_000;
  await world.apply(acme);
  const promise = lease();
  const { lease: id } = await within(promise, 51_000);
  expect(world.keeper.renew(id)).toBe(true);
});

test('a client that leaves during the start keeps no tenant awake', async () => {
  world.ready.ms = 5000;
  await world.apply(acme);
  const gone = new AbortController();
  const promise = errorOf(lease('acme', {}, gone.signal));
  await world.clock.pass(1000);
  gone.abort();
  await world.clock.pass(5000);
  expect(await promise).toMatchObject({ code: 'busy' });
  expect(stateOf()).toBe('running');
  await world.clock.pass(10_100);
  expect(stateOf()).toBe('paused');
});

test('a lease during the stop waits for it, then starts the tenant', async () => {
  await world.apply(acme);
  await within(world.keeper.tenant('acme').wake({ by: 'operator' }));
  const sleeping = world.keeper.tenant('acme').sleep();
  await settle();
  expect(stateOf()).toBe('stopping');
  const promise = lease();
  await within(Promise.all([sleeping, promise]));
  expect(stateOf()).toBe('running');
  expect(world.driver.calls.slice(-3)).toEqual(['stop acme', 'create acme', 'start acme']);
});

test('a lease during the pause unpauses it afterwards', async () => {
  await world.apply(acme);
  await within(world.keeper.tenant('acme').wake({ by: 'operator' }));
  const sleeping = world.keeper.tenant('acme').sleep({ isPause: true });
  await settle();
  expect(stateOf()).toBe('pausing');
  const promise = lease();
  await within(sleeping);
  expect(await promise).toMatchObject({ how: 'unpause' });
});

test('sleep while it starts stops it once it is ready', async () => {
  await world.apply(acme);
  const waking = world.keeper.tenant('acme').wake({ by: 'operator' });
  await settle();
  const sleeping = world.keeper.tenant('acme').sleep();
  await within(Promise.all([waking, sleeping]));
  expect(stateOf()).toBe('stopped');
});

test('refuses to sleep while it is leased, unless it is forced', async () => {
  await world.apply(acme);
  const { lease: id } = await within(lease());
  const tenant = world.keeper.tenant('acme');
  expect(await errorOf(tenant.sleep())).toMatchObject({ code: 'leased' });
  await within(tenant.sleep({ isForced: true }));
  expect(stateOf()).toBe('stopped');
  expect(world.keeper.renew(id)).toBe(false);
});

test('refuses to sleep when a lease came while the request waited', async () => {
  await world.apply(acme);
  const tenant = world.keeper.tenant('acme');
  const waking = tenant.wake({ by: 'operator' });
  await settle();
  const sleeping = errorOf(tenant.sleep());
  const promise = lease();
  await within(Promise.all([waking, promise]));
  expect(await sleeping).toMatchObject({ code: 'leased' });
  expect(stateOf()).toBe('running');
});

test('a forced sleep ends a start, and rejects its waiting callers', async () => {
  world.ready.ms = Infinity;
  await world.apply(acme);
  const promise = errorOf(lease());
  await world.clock.pass(1000);
  await within(world.keeper.tenant('acme').sleep({ isForced: true }));
  expect(await promise).toMatchObject({ code: 'busy', retryMs: 1000 });
  expect(stateOf()).toBe('stopped');
  expect(world.keeper.tenant('acme').failures).toBe(0);
});

test('a crash while it starts fails the start', async () => {
  await world.apply(acme);
  const promise = errorOf(lease());
  await world.clock.pass(300);
  world.driver.crash('acme', 'ended with code 3');
  await world.clock.pass(100);
  expect(await promise).toMatchObject({
    code: 'failed',
    message: expect.stringContaining('ended with code 3')
  });
  expect(world.events.at(-1)).toMatchObject({ event: 'crashed', failures: 1 });
});

test('a start that accepts nothing fails after its time, and the tenant is stopped', async () => {
  world.ready.ms = Infinity;
  await world.apply(acme);
  const promise = errorOf(lease());
  await world.clock.pass(60_500);
  expect(await promise).toMatchObject({ code: 'failed', message: expect.stringContaining('after 60 s') });
  expect(world.driver.box('acme').state).toBe('stopped');
});

test('backs off from 1 s to 5 min, and stays down after five failures until a person wakes it', async () => {
  world.driver.broken.add('acme');
  await world.apply(acme);
  for (const wait of [1000, 7000, 45_000, 300_000]) {
    expect(await within(errorOf(lease()), 200)).toMatchObject({ code: 'failed' });
    const early = await errorOf(lease());
    expect(early.code).toBe('failed');
    expect(early.retryMs).toBeGreaterThan(wait - 500);
    expect(early.retryMs).toBeLessThanOrEqual(wait);
    await world.clock.pass(wait);
  }
  expect(callsOf('start')).toBe(4);
  expect(await within(errorOf(lease()), 200)).toMatchObject({ code: 'failed', retryMs: 300_000 });
  expect(stateOf()).toBe('failed');
  expect(world.events.at(-1)).toMatchObject({
    event: 'failed',
    reason: expect.stringContaining('cannot be started')
  });
  await world.clock.pass(86_400_000);
  expect(await errorOf(lease())).toMatchObject({ code: 'failed' });
  expect(callsOf('start')).toBe(5);
  world.driver.broken.clear();
  await within(world.keeper.tenant('acme').wake({ by: 'operator', isForced: true }));
  expect(stateOf()).toBe('running');
  expect(world.keeper.tenant('acme').failures).toBe(0);
});

test('forgets earlier failures when it ran for a minute', async () => {
  await world.apply(acme);
  for (let i = 0; i < 8; i++) {
    const { lease: id } = await within(lease());
    for (let s = 0; s < 4; s++) {
      await world.clock.pass(20_000);
      world.keeper.renew(id);
    }
    world.driver.crash('acme');
    await world.clock.pass(1100);
  }
  expect(world.keeper.tenant('acme').failures).toBe(1);
  expect(stateOf()).toBe('stopped');
});

test('a crash ends the leases', async () => {
  await world.apply(acme);
  const { lease: id } = await within(lease());
  world.driver.crash('acme', 'ended by the signal SIGKILL');
  await settle();
  expect(world.keeper.renew(id)).toBe(false);
  expect(stateOf()).toBe('stopped');
  expect(world.keeper.tenant('acme').status.reason).toBe('ended by the signal SIGKILL');
});

test('a crash while it is paused or being paused is seen', async () => {
  await world.apply(acme);
  const tenant = world.keeper.tenant('acme');
  await within(tenant.wake({ by: 'operator' }));
  const sleeping = errorOf(tenant.sleep({ isPause: true }));
  await settle();
  world.driver.crash('acme');
  await within(sleeping);
  expect(stateOf()).toBe('stopped');
  await world.clock.pass(2000);
  await within(tenant.wake({ by: 'operator' }));
  await within(tenant.sleep({ isPause: true }));
  world.driver.crash('acme');
  await settle();
  expect(stateOf()).toBe('stopped');
});

test('always: starts with the keeper, after a crash again, and never sleeps', async () => {
  await world.apply({ ...acme, always: true });
  await world.clock.pass(1000);
  expect(stateOf()).toBe('running');
  await world.clock.pass(86_400_000);
  expect(stateOf()).toBe('running');
  world.driver.crash('acme');
  await world.clock.pass(500);
  expect(stateOf()).toBe('stopped');
  await world.clock.pass(1500);
  expect(stateOf()).toBe('running');
});

test('starts at most as many at once as it may and one of class 1, the most urgent class first', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  await world.apply(...names.map((name) => ({ name })));
  const classes = [4, 4, 8, 3, 1, 4];
  const all = names.map((name, i) => lease(name, { priority: classes[i] }));
  await settle();
  // A more urgent record comes for one that waits.
  const urgent = lease('c', { priority: 2 });
  await within(Promise.all([...all, urgent]), 10_000);
  // Two, and the one of class 1.
  expect(world.driver.mostStarting).toBe(3);
  const started = world.driver.calls.filter((call) => call.startsWith('start'));
  expect(started).toEqual(['start a', 'start b', 'start e', 'start c', 'start d', 'start f']);
});

test('one that never becomes ready keeps its place among the starts for 5 s only', async () => {
  const names = ['a', 'b', 'c', 'd'];
  await world.apply(...names.map((name) => ({ name })));
  world.ready.ms = Infinity;
  const hanging = names.slice(0, 2).map((name) => errorOf(lease(name)));
  await world.clock.pass(1000);
  world.ready.ms = 500;
  const others = names.slice(2).map((name) => lease(name));
  await world.clock.pass(3000);
  expect(callsOf('start')).toBe(2);
  await world.clock.pass(2000);
  expect(await Promise.all(others)).toMatchObject([{ how: 'start' }, { how: 'start' }]);
  expect([stateOf('a'), stateOf('b')]).toEqual(['starting', 'starting']);
  await world.clock.pass(60_000);
  for (const error of await Promise.all(hanging)) expect(error).toMatchObject({ code: 'failed' });
});

test('a keeper that ends leaves what it has started, starts nothing more, and waits for no one to be ready', async () => {
  const names = ['a', 'b', 'c'];
  await world.apply(...names.map((name) => ({ name })));
  world.ready.ms = Infinity;
  const all = names.map((name) => errorOf(lease(name)));
  await world.clock.pass(1000);
  await within(world.keeper.close({ isStopped: false }), 0);
  for (const error of await Promise.all(all)) expect(error).toMatchObject({ code: 'busy' });
  expect(names.map((name) => world.driver.box(name).state)).toEqual(['running', 'running', 'absent']);
  expect(callsOf('stop')).toBe(0);
  expect(world.clock.timers).toBe(0);
});

test('an unpause does not wait for the starts of others', async () => {
  await world.apply({ name: 'a' }, { name: 'b' }, acme);
  await within(world.keeper.tenant('acme').wake({ by: 'operator' }));
  await within(world.keeper.tenant('acme').sleep({ isPause: true }));
  world.ready.ms = 20_000;
  const slow = [lease('a'), lease('b')];
  await world.clock.pass(1000);
  world.ready.ms = 1;
  expect(await within(lease())).toMatchObject({ how: 'unpause' });
  await within(Promise.all(slow), 20_000);
});

test('has at most 64 leases of a tenant', async () => {
  await world.apply(acme);
  const results = await within(Promise.allSettled(Array.from({ length: 65 }, () => lease())));
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(64);
  expect(results[64]).toMatchObject({ reason: { code: 'busy' } });
});

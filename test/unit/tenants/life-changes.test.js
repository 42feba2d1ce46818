'use strict';
// What tenants do when their engine is away, the keeper starts again, or the tenants file changes.

const { acme, acmeLife, errorOf } = require('../../fixtures/tenants/acme-life');

const life = acmeLife();
const { stateOf, lease, callsOf, within } = life;
/** @type {typeof life.world} */
let world;
beforeEach(() => {
  world = life.world;
});

describe('without an engine', () => {
  test('a tenant that runs is served on, and one that sleeps is refused without a failure', async () => {
    await world.apply(acme, { name: 'other' });
    await within(lease());
    world.driver.isAway = true;
    expect(await lease()).toMatchObject({ how: 'running' });
    expect(await errorOf(lease('other'))).toMatchObject({ code: 'engine', retryMs: 2000 });
    expect(world.keeper.tenant('other').failures).toBe(0);
    expect(world.events.at(-1)).toMatchObject({ event: 'engine', ok: false });
  });

  test('sees what happened meanwhile when it is back', async () => {
    await world.apply(acme, { name: 'other', always: true });
    const { lease: id } = await within(lease());
    await world.clock.pass(500);
    world.driver.isAway = true;
    // The idle time ends, and the pause is not possible.
    world.keeper.release(id);
    await world.clock.pass(10_500);
    expect(stateOf()).toBe('running');
    world.driver.box('acme').watchers.clear();
    world.driver.box('acme').state = 'stopped';
    world.driver.box('acme').reason = 'ended by the signal SIGKILL';
    await world.clock.pass(5000);
    world.driver.isAway = false;
    await world.clock.pass(3000);
    expect(world.events.some(({ event, ok }) => event === 'engine' && ok)).toBe(true);
    expect(stateOf()).toBe('stopped');
    expect(world.keeper.tenant('acme').failures).toBe(1);
  });

  test('a keeper that starts without it finds the tenants later', async () => {
    world.driver.box('acme').state = 'paused';
    world.driver.box('other').state = 'running';
    world.driver.isAway = true;
    await world.apply(acme, { name: 'other' });
    expect(await errorOf(lease())).toMatchObject({ code: 'engine' });
    world.driver.isAway = false;
    await world.clock.pass(5000);
    expect([stateOf(), stateOf('other')]).toEqual(['paused', 'running']);
    expect(callsOf('start')).toBe(0);
  });
});

describe('a keeper that starts', () => {
  test('adopts what runs once that accepts connections, and lets it sleep in its time', async () => {
    world.driver.box('acme').state = 'running';
    await world.apply(acme);
    await world.clock.pass(100);
    expect(stateOf()).toBe('starting');
    await world.clock.pass(500);
    expect(stateOf()).toBe('running');
    expect(callsOf('start')).toBe(0);
    // Leases that an earlier keeper granted last for 30 s.
    await world.clock.pass(29_300);
    expect(stateOf()).toBe('running');
    await world.clock.pass(200);
    expect(stateOf()).toBe('paused');
  });

  test('lets nothing sleep that the holder of a lease of an earlier keeper uses', async () => {
    world.driver.box('acme').state = 'running';
    await world.apply({ ...acme, idleMs: 1000 });
    await world.clock.pass(25_000);
    expect(stateOf()).toBe('running');
    const { lease: id } = await within(lease());
    await world.clock.pass(10_000);
    expect(stateOf()).toBe('running');
    world.keeper.release(id);
    await world.clock.pass(1100);
    expect(stateOf()).toBe('paused');
  });

  test('adopts what is paused', async () => {
    world.driver.box('acme').state = 'paused';
    await world.apply(acme);
    expect(stateOf()).toBe('paused');
    expect(await within(lease())).toMatchObject({ how: 'unpause' });
  });
});

describe('a changed file', () => {
  test('stops what is gone, and refuses it from then on', async () => {
    await world.apply(acme, { name: 'other' });
    const { lease: id } = await within(lease());
    expect(await within(world.apply({ name: 'other' }))).toEqual({
      added: [],
      removed: ['acme'],
      changed: []
    });
    expect(world.driver.box('acme').state).toBe('stopped');
    expect(world.keeper.renew(id)).toBe(false);
    expect(await errorOf(lease())).toMatchObject({ code: 'unknown' });
  });

  test('ends the start of what is gone', async () => {
    world.ready.ms = Infinity;
    await world.apply(acme);
    const promise = errorOf(lease());
    await world.clock.pass(1000);
    await within(world.apply());
    expect(await promise).toMatchObject({ code: 'busy' });
    expect(world.driver.box('acme').state).toBe('stopped');
    // The look at the data.
    expect(world.clock.timers).toBe(1);
  });

  test('a new idle time counts at once', async () => {
    await world.apply(acme);
    await within(world.keeper.tenant('acme').wake({ by: 'operator' }));
    expect(await world.apply({ ...acme, idleMs: 1000 })).toMatchObject({ changed: ['acme'] });
    await world.clock.pass(1100);
    expect(stateOf()).toBe('paused');
  });

  test('a new port counts from the next start, and not for one that is paused', async () => {
    await world.apply(acme);
    await within(world.keeper.tenant('acme').wake({ by: 'operator' }));
    await within(world.keeper.tenant('acme').sleep({ isPause: true }));
    await world.apply({ ...acme, port: 1884 });
    expect(await within(lease())).toMatchObject({ how: 'unpause', port: 1883 });
    await within(world.keeper.tenant('acme').sleep({ isForced: true }));
    expect(await within(lease())).toMatchObject({ how: 'start', port: 1884 });
    expect(world.ports).toEqual([1883, 1883, 1884]);
  });

  test('the old object of a name does not stop the new tenant', async () => {
    await world.apply(acme);
    world.keeper.release((await within(lease())).lease);
    await within(world.apply());
    await world.apply({ ...acme, always: true });
    await world.clock.pass(200_000);
    expect(stateOf()).toBe('running');
  });
});

describe('data', () => {
  const small = { ...acme, limits: { volumeMiB: 10 } };

  test('above the limit stop a tenant, also a leased one, until they are fewer', async () => {
    await world.apply(small);
    const { lease: id } = await within(lease());
    world.driver.data.set('acme', (10 << 20) + 1);
    await world.clock.pass(29_000);
    world.keeper.renew(id);
    await world.clock.pass(2000);
    expect(stateOf()).toBe('failed');
    expect(world.keeper.tenant('acme').status.reason).toBe('its data (11 MiB) exceed 10 MiB');
    expect(world.keeper.renew(id)).toBe(false);
    expect(await errorOf(lease())).toMatchObject({ code: 'failed' });
    expect(
      await within(errorOf(world.keeper.tenant('acme').wake({ by: 'operator', isForced: true })))
    ).toMatchObject({
      message: expect.stringContaining('exceed 10 MiB')
    });
    world.driver.data.clear();
    await within(world.keeper.tenant('acme').wake({ by: 'operator', isForced: true }));
    expect(stateOf()).toBe('running');
  });
});

test('paused tenants take no more memory than they may: the one used longest ago is stopped', async () => {
  // Each takes 1 MiB.
  world = life.replace({ limits: { warmBytes: 2 << 20 } });
  const names = ['a', 'b', 'c'];
  await world.apply(...names.map((name) => ({ name })));
  for (const name of names) {
    await within(world.keeper.tenant(name).wake({ by: 'operator' }));
    await within(world.keeper.tenant(name).sleep({ isPause: true }));
  }
  expect(names.map((name) => stateOf(name))).toEqual(['stopped', 'paused', 'paused']);
});

test('a tenant that cannot be looked at keeps no other one from its service', async () => {
  const { inspect } = world.driver;
  world.driver.inspect = async (spec) => {
    if (spec.name === 'other') throw new Error('forbidden');
    return inspect.call(world.driver, spec);
  };
  await world.apply(acme, { name: 'other' });
  expect(world.keeper.tenant('other').status.reason).toBe('forbidden');
  expect(await within(lease())).toMatchObject({ how: 'start' });
  expect(await within(errorOf(lease('other')))).toMatchObject({
    code: 'failed',
    message: expect.stringContaining('forbidden')
  });
});

test('tenants whose driver cannot be made have failed, the others are served, and a reload heals them', async () => {
  const there = { name: 'there', driver: 'kubernetes' };
  world.unusable.set('kubernetes', 'There is no cluster.');
  expect(await world.apply(there, acme)).toMatchObject({ added: ['there', 'acme'] });
  expect(world.events).toEqual([
    expect.objectContaining({ tenant: 'there', event: 'failed', reason: 'There is no cluster.' })
  ]);
  expect(await within(lease())).toMatchObject({ how: 'start' });
  for (const isForced of [false, true]) {
    const waking = world.keeper.tenant('there').wake({ by: 'operator', isForced });
    expect(await errorOf(waking)).toMatchObject({
      code: 'failed',
      message: 'there does not run: There is no cluster.'
    });
  }
  await expect(world.keeper.logs('there', 1)).rejects.toMatchObject({ code: 'failed' });
  // Still not usable: a reload goes through, and the tenant stays as it is.
  expect(await world.apply({ ...there, idleMs: 5000 }, acme, { name: 'new' })).toEqual({
    added: ['new'],
    removed: [],
    changed: ['there']
  });
  const rows = await world.keeper.list();
  expect(rows.find(({ name }) => name === 'there')).toMatchObject({
    state: 'failed',
    reason: 'There is no cluster.'
  });
  world.unusable.clear();
  expect(await world.apply(there, acme, { name: 'new' })).toEqual({
    added: [],
    removed: [],
    changed: ['there']
  });
  expect(await within(lease('there'))).toMatchObject({ how: 'start' });
});

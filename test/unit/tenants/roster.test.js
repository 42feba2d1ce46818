'use strict';
// Who is awake: with a keeper, sessions and a clock in memory.

const { KeeperError } = require('../../../nodes/lib/tenants/keeper/keeper-error');
const { seeded } = require('../../fixtures/random');
const { Lab, turn } = require('../../fixtures/tenants/roster-lab');

test('wakes a tenant at its first batch, and lets it sleep when nothing has waited for a while', async () => {
  const lab = new Lab().add('acme', 'b');
  await lab.pass(1000);
  expect(lab.keeper.asked).toEqual([]);
  lab.ring(1, 1);
  expect(lab.state('acme')).toBe('waking');
  expect(lab.keeper.asked).toMatchObject([{ name: 'acme', class: 1 }]);
  const { session } = await lab.wake();
  expect(lab.state('acme')).toBe('awake');
  await lab.pass(6000);
  expect(lab.state('acme')).toBe('awake');
  lab.work[1] = 0;
  await lab.pass(4000);
  session.activity++;
  await lab.pass(4000);
  expect(lab.state('acme')).toBe('awake');
  await lab.pass(2000);
  expect(lab.state('acme')).toBe('asleep');
  expect(session).toMatchObject({ isOver: true, isTaking: false });
  expect(lab.keeper.leases.size).toBe(0);
  expect(lab.roster.counts()).toMatchObject({ asleep: 2, awake: 0 });
  // And again.
  lab.ring(1);
  expect(lab.state('acme')).toBe('waking');
});

test('ignores a bell without a batch, and wakes a tenant whose records are only on disk', async () => {
  const lab = new Lab().add('acme');
  lab.bells.get(1)?.();
  expect(lab.state('acme')).toBe('asleep');
  lab.roster.want('acme');
  lab.roster.want('nobody');
  lab.roster.tick();
  expect(lab.keeper.asked).toMatchObject([{ name: 'acme', class: 8 }]);
});

test('gives free places to the most urgent class, then to the one that waits for longest', async () => {
  const lab = new Lab({ mostAwake: 1 }).add('a', 'b', 'c', 'd');
  lab.ring(1, 3);
  lab.ring(2, 3);
  lab.ring(3, 2);
  lab.ring(4, 3);
  expect(lab.roster.counts()).toMatchObject({ waking: 1, waiting: 3 });
  const order = [];
  for (let i = 0; i < 4; i++) {
    const { name } = await lab.wake();
    order.push(name);
    lab.work[lab.roster.tenants.get(name)?.number ?? 0] = 0;
    await lab.pass(500);
  }
  expect(order).toEqual(['a', 'c', 'b', 'd']);
});

test('ends the turn of a busy tenant while others wait, at once for a more urgent one', async () => {
  const lab = new Lab({ mostAwake: 1 }).add('a', 'b');
  lab.ring(1, 3);
  await lab.wake();
  lab.ring(2, 4);
  await lab.pass(9000);
  expect(lab.state('a')).toBe('awake');
  await lab.pass(2000);
  expect(lab.state('a')).toBe('waiting');
  expect(lab.keeper.asked).toMatchObject([{ name: 'b' }]);
  await lab.wake();
  lab.ring(1, 1);
  await lab.pass(1500);
  expect(lab.keeper.asked).toMatchObject([{ name: 'a', class: 1 }]);
});

test('keeps a tenant waiting that gave up its place while the rest of its backlog is on disk only', async () => {
  const lab = new Lab({ mostAwake: 1 }).add('a', 'b');
  lab.roster.want('a');
  lab.roster.tick();
  const { session } = await lab.wake();
  Object.defineProperty(session, 'isIdle', { value: false });
  lab.ring(2);
  await lab.pass(10500);
  expect(lab.keeper.asked).toMatchObject([{ name: 'b' }]);
  expect(lab.state('a')).toBe('waiting');
});

test('waits for the last acknowledgements of a tenant that leaves, for a limited time', async () => {
  const lab = new Lab({ mostAwake: 1 }).add('a', 'b');
  lab.ring(1);
  const { session } = await lab.wake();
  session.isBusy = true;
  lab.ring(2);
  await lab.pass(10500);
  expect(lab.state('a')).toBe('leaving');
  await lab.pass(2500);
  expect(lab.state('a')).toBe('waiting');
  expect(session.isOver).toBe(true);
});

test("tries a tenant that cannot be woken at the keeper's retry time, and then with back-off", async () => {
  const lab = new Lab().add('a');
  lab.ring(1);
  lab.keeper.asked.shift()?.reject(new KeeperError('It crashed.', { code: 'failed', retryMs: 4000 }));
  await turn();
  await lab.pass(500);
  expect(lab.roster.tenants.get('a')).toMatchObject({ state: 'failed', reason: 'It crashed.', failures: 1 });
  await lab.pass(3000);
  expect(lab.keeper.asked).toEqual([]);
  await lab.pass(1000);
  expect(lab.state('a')).toBe('waking');
  await lab.wake();
  lab.sessions[0].down('ECONNRESET');
  await lab.pass(250);
  expect(lab.roster.tenants.get('a')).toMatchObject({ state: 'failed', reason: 'ECONNRESET' });
  expect(lab.keeper.leases.size).toBe(0);
  await lab.pass(1000);
  expect(lab.state('a')).toBe('waking');
});

test('gives up a connection that is not made in time', async () => {
  const lab = new Lab({ connectMs: 2000 }).add('a');
  lab.ring(1);
  lab.keeper.grant();
  await lab.pass(3000);
  expect(lab.roster.tenants.get('a')).toMatchObject({ failures: 1 });
  expect(lab.sessions[0].isOver).toBe(true);
});

test('asks a keeper that is away with one tenant, and serves those that are awake', async () => {
  const lab = new Lab({ mostAwake: 10 }).add('a', 'b', 'c');
  lab.ring(1);
  await lab.wake();
  lab.keeper.isAway = true;
  lab.ring(2);
  lab.ring(3);
  await lab.pass(15000);
  expect(lab.roster.outage.problem).toBe('No keeper.');
  expect(lab.state('a')).toBe('awake');
  expect(lab.roster.tenants.get('c')).toMatchObject({ state: 'waiting', reason: 'No keeper.', failures: 0 });
  // The new keeper does not know the lease.
  lab.keeper.isAway = false;
  lab.keeper.leases.clear();
  await lab.pass(5000);
  expect(lab.roster.outage.problem).not.toBe('');
  await lab.wake();
  expect(lab.roster.outage.problem).toBe('');
  await lab.wake();
  await lab.pass(10500);
  expect(lab.keeper.asked).toMatchObject([{ name: 'a' }]);
  lab.keeper.grant();
  await turn();
  expect(lab.state('a')).toBe('awake');
  expect([...lab.keeper.leases.values()].sort()).toEqual(['a', 'b', 'c']);
});

test('removes tenants of each state, and gives their leases back', async () => {
  const lab = new Lab({ mostAwake: 2 }).add('asleep', 'awake', 'waking', 'waiting', 'failed');
  lab.ring(5);
  lab.keeper.asked.shift()?.reject(new KeeperError('x', { code: 'failed', retryMs: 1e6 }));
  await turn();
  lab.ring(2);
  await lab.wake();
  lab.ring(3);
  lab.ring(4);
  expect(lab.roster.counts()).toMatchObject({ asleep: 1, awake: 1, waking: 1, waiting: 1, failed: 1 });
  const parted = lab.roster.stop(1000);
  await lab.pass(1500);
  await parted;
  expect(lab.roster.tenants.size).toBe(0);
  expect(lab.bells.size).toBe(0);
  expect(lab.keeper.leases.size).toBe(0);
  expect(lab.roster.slots.active.size).toBe(0);
});

test.each([1, 2, 3, 4, 5, 6])(
  'leaves no batch waiting indefinitely, and no lease behind (seed %i)',
  async (seed) => {
    const { integer } = seeded(seed);
    const count = 6;
    const lab = new Lab({ mostAwake: 2, connectMs: 3000 }).add(
      ...Array.from({ length: count }, (_, i) => `t${i}`)
    );
    const step = async (isCalm = false) => {
      const { keeper, sessions } = lab;
      const number = 1 + integer(count);
      const action = integer(isCalm ? 3 : 8);
      if (action === 3) lab.ring(number, 1 + integer(4));
      else if (action === 4) keeper.isAway = !keeper.isAway;
      else if (action === 5) keeper.leases.clear();
      else if (action === 6)
        keeper.asked.shift()?.reject(new KeeperError('f', { code: 'failed', retryMs: integer(2000) }));
      else if (action === 7) sessions.filter(({ isOver }) => !isOver)[0]?.down('lost');
      else if (keeper.asked.length > 0) keeper.grant();
      await turn();
      for (const session of sessions) {
        if (session.isOver || integer(2)) continue;
        if (!session.isUp) session.up();
        else if (session.isTaking) lab.work[session.tenant.number] = 0;
      }
      await lab.pass(250 + integer(500));
      expect(lab.roster.slots.active.size).toBeLessThanOrEqual(2);
    };
    for (let i = 0; i < 300; i++) await step();
    lab.keeper.isAway = false;
    for (let i = 0; i < 600 && lab.roster.counts().asleep < count; i++) await step(true);
    expect(lab.roster.counts()).toMatchObject({ asleep: count });
    expect(lab.work.filter(Boolean)).toEqual([]);
    expect(lab.keeper.leases.size).toBe(0);
  }
);

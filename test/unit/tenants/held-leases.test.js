'use strict';

const { eventually } = require('../../../bench/harness/net');
const { KeeperError } = require('../../../nodes/lib/tenants/keeper/keeper-error');
const { HeldLeases } = require('../../../nodes/lib/tenants/keeper/held-leases');
const { PageKeeper } = require('../../fixtures/tenants/page-keeper');

let keeper;
beforeEach(() => {
  keeper = new PageKeeper();
});

describe('a lease', () => {
  test('that the keeper forgot is requested again while a connection is open', async () => {
    const leases = new HeldLeases(keeper, () => {}, { renewMs: 10, idleMs: 40 });
    const hold = await leases.hold('acme', new AbortController().signal);
    const { renew } = keeper;
    keeper.renew = () => Promise.reject(new KeeperError('gone', { code: 'gone' }));
    await eventually(() => keeper.calls.filter((call) => call.startsWith('lease')).length > 1);
    keeper.renew = renew;
    await eventually(() => keeper.calls.includes('renew acme-1'));
    expect(leases.size).toBe(1);
    hold.release();
    await eventually(() => leases.size === 0);
    expect(keeper.calls.at(-1)).toBe('release acme-1');
  });

  describe('that was lost, and is refused when it is asked for again,', () => {
    /** @type {string[]} */
    let warnings;
    /** @type {HeldLeases} */
    let leases;
    /** @type {any} */
    let hold;
    let isRefused = false;
    beforeEach(async () => {
      warnings = [];
      isRefused = false;
      const lease = keeper.lease.bind(keeper);
      keeper.lease = (...request) =>
        isRefused
          ? Promise.reject(new KeeperError('The tenant is being restored.', { code: 'busy' }))
          : lease(...request);
      leases = new HeldLeases(keeper, (sentence) => warnings.push(sentence), { renewMs: 10, idleMs: 40 });
      hold = await leases.hold('acme', new AbortController().signal);
      isRefused = true;
      keeper.renew = () => Promise.reject(new KeeperError('gone', { code: 'gone' }));
      await eventually(() => warnings.length > 1);
      keeper.renew = PageKeeper.prototype.renew;
    });
    afterEach(() => leases.close());

    test('is requested until it is granted, then renewed and returned', async () => {
      expect(warnings[0]).toBe('The tenant is being restored.');
      expect(leases.usersOf('acme')).toBe(1);
      isRefused = false;
      await eventually(() => keeper.calls.includes('renew acme-1'));
      hold.release();
      await eventually(() => leases.size === 0);
      expect(keeper.calls.at(-1)).toBe('release acme-1');
    });

    test('is requested at once by the next connection, which shares it', async () => {
      await expect(leases.hold('acme', new AbortController().signal)).rejects.toThrow('being restored');
      isRefused = false;
      const next = await leases.hold('acme', new AbortController().signal);
      expect(leases.usersOf('acme')).toBe(2);
      next.release();
      hold.release();
      await eventually(() => leases.size === 0);
    });

    test('is no longer requested after the last connection', async () => {
      hold.release();
      await eventually(() => leases.size === 0);
      const { length } = warnings;
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(warnings).toHaveLength(length);
    });
  });

  test('is renewed while a connection is open, and returned after the last one', async () => {
    const leases = new HeldLeases(keeper, () => {}, { renewMs: 10, idleMs: 40 });
    const first = await leases.hold('acme', new AbortController().signal);
    const second = await leases.hold('acme', new AbortController().signal);
    await eventually(() => !!keeper.calls.includes('renew acme-1'));
    first.release();
    first.release();
    expect(leases.size).toBe(1);
    second.release();
    await eventually(() => !(leases.size > 0));
    expect(keeper.calls.at(-1)).toBe('release acme-1');
    await leases.close();
  });
});

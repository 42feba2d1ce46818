'use strict';

const { eventually } = require('../../../bench/harness/net');
const { KeeperError } = require('../../../nodes/lib/tenants/keeper-error');
const { HeldLeases } = require('../../../nodes/lib/tenants/held-leases');
const { PageKeeper } = require('../../fixtures/tenants/page-keeper');

let keeper;
beforeEach(() => {
  keeper = new PageKeeper();
});

describe('a lease', () => {
  test('that the keeper forgot is asked for again while a connection is open', async () => {
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

  test('is renewed while a connection is open, and given back after the last one', async () => {
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

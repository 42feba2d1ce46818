'use strict';

// The paths of the two sessions of alarms, on a simulated machine.

const { AlarmPaths } = require('../../../nodes/lib/uplink/paths/alarm-paths');
const { tries } = require('../../../nodes/lib/uplink/paths/path-dial');
const { Machine } = require('../../fixtures/uplink/machine');

/** @type {Machine} */
let machine;
let leads = 'eth0';
beforeEach(() => {
  machine = new Machine();
  leads = 'eth0';
});
const names = (/** @type {{name: string}[]} */ ways) => ways.map(({ name }) => name);

/** @param {string} text @param {boolean} [usesMetered] */
function both(text, usesMetered = true) {
  const shared = machine.paths(text);
  return {
    lead: new AlarmPaths(shared),
    second: new AlarmPaths(shared, { avoids: () => leads, usesMetered })
  };
}

test('the second session uses what the first one does not', () => {
  const { lead, second } = both('eth0,wwan0');
  expect([names(lead.inOrder()), names(second.inOrder())]).toEqual([['eth0', 'wwan0'], ['wwan0']]);
  leads = 'wwan0';
  expect(names(second.inOrder())).toEqual(['eth0']);
  expect(second.missing()).toBe(null);
});

test('gives the reason why there is no second path', () => {
  const { lead, second } = both('eth0');
  expect(lead.missing()).toBe(null);
  expect(second.missing()).toMatchObject({
    code: 'ONE_PATH',
    reason: expect.stringContaining('no second path')
  });
  expect(both('eth0,wwan0:metered').second.missing()).toBe(null);
  const unmetered = both('eth0,wwan0:metered', false).second;
  expect(unmetered.missing()?.reason).toContain('the second path is metered');
});

test('connects with plain TCP, bound to a path even with automatic paths', () => {
  const { second } = both('auto');
  const all = [...tries([{ address: '203.0.113.1' }], second, () => 1000)];
  expect(all.map(({ way, options }) => [way?.name, options.mptcp])).toEqual([['wwan0', false]]);
});

test('the second session leaves a dead path for a new connection over the same one, if there is no other', () => {
  const { second } = both('eth0,wwan0');
  const [way] = second.inOrder();
  expect(names(second.besides([way]))).toEqual(['wwan0']);
  machine.interfaces.wlan0 = ['192.0.2.77'];
  const three = both('eth0,wwan0,wlan0').second;
  expect(names(three.besides(three.having(['198.51.100.1'])))).toEqual(['wlan0']);
});

test('shares with the other sessions what fails', () => {
  const { lead, second } = both('eth0,wwan0');
  second.failed('wwan0');
  expect(lead.hasFailed('wwan0')).toBe(true);
  expect(names(lead.besides([lead.inOrder()[0]]))).toEqual([]);
});

'use strict';

const { Handover } = require('../../../nodes/lib/engine/handover');

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** @param {number} count of connected devices; as many more are known */
function start(count) {
  const all = Array.from({ length: 2 * count }, (_none, i) => ({
    device: `d-${String(i).padStart(5, '0')}`,
    connected: i % 2 === 0,
    address: '192.0.2.7'
  }));
  /** @type {string[]} */
  const dismissed = [];
  let passes = 0;
  const engine = {
    agents: (/** @type {string} */ after, /** @type {number} */ limit) => {
      passes++;
      return all.filter(({ device }) => device > after).slice(0, limit);
    },
    dismissDevice: (/** @type {string} */ device, /** @type {string} */ server) => {
      const found = all.find((each) => each.device === device);
      if (!found?.connected || found.address === '') return false;
      found.connected = false;
      dismissed.push(`${device} ${server}`);
      return true;
    },
    stats: () => ({
      devices: all.filter(({ connected }) => connected).length,
      heldRecords: [0, 1, 2],
      backlogRecords: [0, 0, 4]
    })
  };
  const host = { engine, stopAccepting: jest.fn() };
  const handover = new Handover(/** @type {any} */ (host), () => jest.now());
  return { handover, host, dismissed, all, passes: () => passes };
}

test('ends connections at the rate, each once, over pages of devices of which half have none', () => {
  const { handover, host, dismissed } = start(1500);
  handover.start({ perS: 100, server: 'b:1' });
  expect([handover.isOn, host.stopAccepting.mock.calls.length]).toEqual([true, 1]);
  jest.advanceTimersByTime(1000);
  expect(dismissed).toHaveLength(100);
  expect(dismissed[1]).toBe('d-00002 b:1');
  expect(handover.view()).toEqual({ isOn: true, devices: 1400, moved: 100, records: 7 });
  // Another rate, from now on; the listeners close once.
  handover.start({ perS: 1000, server: '' });
  jest.advanceTimersByTime(1500);
  expect(new Set(dismissed).size).toBe(1500);
  expect(host.stopAccepting).toHaveBeenCalledTimes(1);
  handover.close();
});

test('finds a device that appears later, and looks rarely while there is none', () => {
  const { handover, dismissed, all, passes } = start(3);
  handover.start({ perS: 10, server: '' });
  jest.advanceTimersByTime(1000);
  expect(dismissed).toHaveLength(3);
  const before = passes();
  jest.advanceTimersByTime(10000);
  expect(passes() - before).toBeLessThanOrEqual(10);
  all[1].connected = true;
  jest.advanceTimersByTime(2000);
  expect(dismissed).toHaveLength(4);
  handover.close();
});

test('does not wait for devices whose records a source pushes, and calls that source once', () => {
  const { handover, all } = start(3);
  const called = jest.fn();
  const other = jest.fn();
  handover.onStart(called);
  handover.onStart(other)();
  all.push({ device: 'from-kafka', connected: true, address: '' });
  handover.start({ perS: 10, server: '' });
  handover.start({ perS: 20, server: '' });
  jest.advanceTimersByTime(3000);
  expect(handover.view()).toMatchObject({ devices: 0, moved: 3 });
  expect([called.mock.calls.length, other.mock.calls.length]).toEqual([1, 0]);
  handover.close();
});

test('a slow rate is kept, too', () => {
  const { handover, dismissed } = start(5);
  handover.start({ perS: 1, server: '' });
  jest.advanceTimersByTime(3050);
  expect(dismissed).toHaveLength(3);
  handover.close();
});

test.each([
  [{ perS: 0, server: '' }, /whole number from 1 to 100000/],
  [{ perS: 1.5, server: '' }, /whole number/],
  [{ perS: NaN, server: '' }, /whole number/],
  [{ perS: 1, server: 'a b' }, /address of at most 120 bytes/],
  [{ perS: 1, server: 'x'.repeat(121) }, /address of at most 120 bytes/]
])('refuses %j', (how, sentence) => {
  const { handover, host } = start(1);
  expect(() => handover.start(how)).toThrow(sentence);
  expect([handover.isOn, host.stopAccepting.mock.calls.length]).toEqual([false, 0]);
});

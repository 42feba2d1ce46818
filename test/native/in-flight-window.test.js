'use strict';
// InFlightWindow as JavaScript uses it. Its rules are tested in native/test/uplink/in_flight_window_test.cc and
// test/unit/uplink/{in-flight-window,reserve}.test.js.

const { InFlightWindow } = require('../../native');

test('keeps limits, waits and the order of sending', () => {
  const window = new InFlightWindow(8, 2);
  expect([window.room(true), window.room(false)]).toEqual([8, 6]);
  window.setLimit(4, 1);
  expect([window.room(true), window.room(false)]).toEqual([4, 3]);
  window.setCeiling(2, 1);
  expect([window.room(true), window.room(false)]).toEqual([2, 1]);
  window.setCeiling(null, 0);
  const ids = [10.5, 11, 12].map((now, i) => window.open(100 + i, 50, now, i === 0, i === 2));
  expect([...window.ids()]).toEqual(ids);
  expect([window.inflight, window.backlog, window.oldest(), window.sentAt(ids[0])]).toEqual([
    3,
    1,
    ids[0],
    10.5
  ]);
  window.close(ids[1]);
  expect([window.isPassed(ids[0]), window.isPassed(ids[2]), window.isOpen(ids[1])]).toEqual([
    true,
    false,
    false
  ]);
  window.wait(false, true);
  expect([window.room(true), window.waiting, window.backlog]).toEqual([1, 1, 2]);
  window.abandon();
  expect([window.room(true), window.waiting, window.backlog, window.inflight]).toEqual([2, 0, 0, 2]);
  window.reset();
  expect([window.room(true), window.inflight, window.oldest()]).toEqual([4, 0, 0]);
});

test('refuses what would break it', () => {
  for (const args of [[0, 0], [1025, 0], [8], [8, -1], [1.5, 0], []]) {
    expect(() => new InFlightWindow(.../** @type {[number, number]} */ (args))).toThrow(/must/);
  }
  const window = new InFlightWindow(1, 0);
  for (const id of [0, 1, 2, 65535]) {
    expect(() => window.close(id)).toThrow('no packet with this identifier is in flight');
    expect(() => window.sentAt(id)).toThrow('no packet with this identifier is in flight');
    expect(() => window.isPassed(id)).toThrow('no packet with this identifier is in flight');
    expect(window.isOpen(id)).toBe(false);
  }
  expect(() => window.endWait(true, false)).toThrow('no packet waits');
  window.open(1, 1, 0, true, false);
  expect(() => window.open(2, 1, 0, true, false)).toThrow('the window has no room');
  expect(() => window.open(-1, 1, 0, true, false)).toThrow(/must/);
  expect(() => window.setLimit(0, 0)).toThrow(/must/);
});

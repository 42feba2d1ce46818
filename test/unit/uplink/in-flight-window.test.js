'use strict';

const native = require('../../../native');
const { InFlightWindow } = require('../../../nodes/lib/uplink/sending/in-flight-window');
const { Backoff } = require('../../../nodes/lib/base/backoff');

const slot = /** @type {any} */ ({ id: 1, isUrgent: false, isBacklog: false });

test("takes room as the smaller of the window and the broker's Receive Maximum", () => {
  const window = new InFlightWindow(native, 32);
  expect(window.room).toBe(32);
  window.setLimit(5);
  expect(window.room).toBe(5);
  window.setLimit(65535);
  expect(window.room).toBe(32);
});

test('never assigns an identifier twice, and uses every one in turn', () => {
  const window = new InFlightWindow(native, 4);
  const open = new Set();
  const seen = new Set();
  for (let i = 0; i < 100; i++) {
    while (window.room > i % 3) {
      const id = window.open(slot, 0, 10, 0);
      expect(open.has(id)).toBe(false);
      open.add(id);
      seen.add(id);
    }
    const ids = [...open];
    const id = ids[(i * 7) % ids.length];
    window.close(id);
    open.delete(id);
    expect(window.inflight).toBe(open.size);
  }
  expect([...seen].sort()).toEqual([1, 2, 3, 4]);
});

test('takes the packet sent first as the oldest, whatever its identifier', () => {
  const window = new InFlightWindow(native, 3);
  const [a, b] = [window.open(slot, 0, 10, 0), window.open(slot, 0, 10, 0)];
  expect(window.oldest()).toBe(a);
  window.close(a);
  window.open(slot, 0, 10, 0);
  window.open(slot, 0, 10, 0);
  expect(window.oldest()).toBe(b);
});

test('keeps the identifier of an abandoned packet until it is acknowledged', () => {
  const window = new InFlightWindow(native, 2);
  const id = window.open(slot, 0, 10, 0);
  window.abandon();
  expect(window.room).toBe(1);
  expect(window.isOpen(id)).toBe(true);
  expect(window.batches[id]).toBe(null);
  window.close(id);
  expect(window.room).toBe(2);
});

test('doubles back-off up to its limit, with jitter in the upper half, and restarts it after reset', () => {
  const lowest = new Backoff(100, 500, () => 0);
  expect([1, 2, 3, 4, 5].map(() => lowest.next())).toEqual([50, 100, 200, 250, 250]);
  const highest = new Backoff(100, 500, () => 1);
  expect([1, 2, 3, 4, 5].map(() => highest.next())).toEqual([100, 200, 400, 500, 500]);
  highest.reset();
  expect(highest.next()).toBe(100);
});

'use strict';

// The part of the window that is kept for live records of class 1 where it shares the session.

const native = require('../../../native');
const { FeederBench: Bench } = require('../../fixtures/uplink/feeder-bench');
const { InFlightWindow } = require('../../../nodes/lib/uplink/sending/in-flight-window');
const { seeded } = require('../../fixtures/random');

const fill = (bench, count, batch) => {
  for (let i = 0; i < count; i++) bench.source.push({ topic: `${batch.class}.${i}`, ...batch });
};

test.each([
  [32, 0.25, 24],
  [32, 0, 31],
  [32, 1, 1],
  [10, 0.25, 8],
  [3, 0.25, 2],
  [2, 0.25, 1],
  [1, 0.25, 1],
  [32, null, 32]
])('lets the others fill, of a window of %i with a reserve of %p, %i', (inflight, reserve, places) => {
  const bench = new Bench({ inflight, reserve });
  fill(bench, 40, { class: 2 });
  expect(bench.connect().sent()).toHaveLength(places);
  fill(bench, 40, { class: 1 });
  expect(bench.pump().sent()).toHaveLength(inflight - places);
});

test("takes the reserve from the broker's Receive Maximum where that is smaller", () => {
  const bench = new Bench({ inflight: 32, receiveMaximum: 4, reserve: 0.25 });
  fill(bench, 10, { class: 3 });
  expect(bench.connect().sent()).toHaveLength(3);
});

test.each([1, 2, 3])('serves all classes with a Receive Maximum of %i', (receiveMaximum) => {
  const bench = new Bench({ receiveMaximum, reserve: 0.25, share: 0.5 });
  for (let cls = 1; cls <= 8; cls++) fill(bench, 5, { class: cls });
  fill(bench, 5, { class: 1, backlog: true });
  bench.connect();
  for (let turn = 0; turn < 60 && bench.source.held > 0; turn++) {
    bench.sent();
    expect(bench.window.inflight).toBeLessThanOrEqual(receiveMaximum);
    bench.ack(1);
  }
  expect(bench.source.held).toBe(0);
});

test('gives backlog of class 1 no part in the reserve', () => {
  const bench = new Bench({ inflight: 8, reserve: 0.25, share: 1 });
  fill(bench, 10, { class: 1, backlog: true });
  expect(bench.connect().sent()).toHaveLength(6);
});

test('makes no place for others by an acknowledgement of an urgent record', () => {
  const bench = new Bench({ inflight: 4, reserve: 0.25 });
  fill(bench, 10, { class: 3 });
  bench.connect();
  const others = bench.sent().length;
  expect(others).toBe(3);
  bench.source.push({ class: 1, topic: 'alarm' });
  expect(bench.pump().sent()).toEqual(['alarm']);
  const alarm = bench.ids.pop();
  bench.feeder.sender.acknowledge(alarm, 0);
  expect(bench.pump().sent()).toEqual([]);
  expect(bench.ack(1).sent()).toHaveLength(1);
});

test('returns all places on a lost connection', () => {
  const bench = new Bench({ inflight: 8, reserve: 0.25 });
  fill(bench, 10, { class: 3 });
  bench.connect().sent();
  bench.feeder.disconnected();
  expect([bench.window.inflight, bench.window.waiting]).toEqual([0, 0]);
  expect(bench.connect().sent()).toHaveLength(6);
});

test('does not block the window permanently for temporary refusals', () => {
  const bench = new Bench({ inflight: 8, reserve: 0.25 });
  fill(bench, 20, { class: 3 });
  bench.connect();
  for (let second = 0; second < 30 && bench.source.held > 0; second++) {
    for (let turn = 0; turn < 5; turn++) {
      bench.sent();
      bench.ack(Infinity, second < 3 ? 0x80 : 0);
    }
    bench.later(1000);
  }
  expect(bench.source.held).toBe(0);
  expect([bench.window.inflight, bench.window.waiting]).toEqual([0, 0]);
});

test('never gives the others more than their places, whatever happens (seeded)', () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e9);
  process.stdout.write(`seed ${seed}\n`);
  const { integer: random } = seeded(seed);
  const window = new InFlightWindow(native, 9, 0.3);
  const slot = (isUrgent) => /** @type {any} */ ({ id: 1, isUrgent, isBacklog: false });
  const open = [];
  for (let step = 0; step < 5000; step++) {
    const isUrgent = random(3) === 0;
    if (window.roomFor(isUrgent) > 0) open.push({ id: window.open(slot(isUrgent), 0, 1, 0), isUrgent });
    if (random(2) && open.length > 0) window.close(open.splice(random(open.length), 1)[0].id);
    if (random(200) === 0) {
      window.reset();
      open.length = 0;
    }
    const others = open.filter((one) => !one.isUrgent).length;
    expect(others).toBeLessThanOrEqual(7);
    expect(window.roomFor(false)).toBe(Math.min(9 - open.length, 7 - others));
    if (open.every((one) => !one.isUrgent)) expect(window.roomFor(true)).toBeGreaterThanOrEqual(2);
  }
});

test('lets a starved class go before class 1 once, and never takes its reserve', () => {
  const bench = new Bench({ inflight: 4, reserve: 0.25 });
  fill(bench, 10, { class: 1 });
  fill(bench, 10, { class: 3 });
  bench.source.overdue = 3;
  expect(bench.connect().sent()).toEqual(['3.0', '1.0', '1.1', '1.2']);
});

test('lets class 1 continue while the others fill their places, whichever class is overdue', () => {
  const bench = new Bench({ inflight: 4, reserve: 0.25 });
  fill(bench, 10, { class: 3 });
  expect(bench.connect().sent()).toHaveLength(3);
  fill(bench, 10, { class: 1 });
  bench.source.overdue = 3;
  expect(bench.pump().sent()).toEqual(['1.0']);
  expect(bench.source.overdue).toBe(3);
});

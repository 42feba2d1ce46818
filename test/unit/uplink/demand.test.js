'use strict';

// What a session takes, and the demand that it reports to the engine when there is nothing to take.

const { dueMs, isIdle, oldestMs } = require('../../../nodes/lib/uplink/sending/batch-ages');
const { FeederBench: Bench, records } = require('../../fixtures/uplink/feeder-bench');

/** Connected, and the engine knows it. */
function connected(options) {
  const bench = new Bench(options);
  bench.connect();
  bench.feeder.reportUp(true);
  return bench;
}

const acknowledgeAll = (bench) => {
  bench.sent();
  return bench.ack();
};

test('reports demand once, and again when something was taken', () => {
  const bench = connected();
  for (let i = 0; i < 3; i++) bench.pump();
  expect(bench.source.demands).toBe(1);
  bench.source.push({ topic: '1' });
  bench.pump();
  expect(bench.source.demands).toBe(2);
  acknowledgeAll(bench);
  expect(bench.source.demands).toBe(2);
});

test('reports demand again at a doorbell because its record may have expired meanwhile', () => {
  const bench = connected().pump();
  bench.feeder.doorbell();
  bench.pump();
  expect(bench.source.demands).toBe(2);
});

test('has no demand without a connection, or during a stall', () => {
  const bench = new Bench();
  bench.pump();
  bench.connect();
  expect(bench.source.demands).toBe(0);
  bench.feeder.reportUp(true);
  bench.pump();
  bench.feeder.reportUp(false);
  bench.pump();
  expect(bench.source.demands).toBe(1);
  bench.feeder.reportUp(true);
  bench.pump();
  expect(bench.source.demands).toBe(2);
});

test('has no demand with a full window, and demand again with room', () => {
  const bench = connected({ inflight: 2 });
  bench.source.push({ records: records('1', '2') });
  bench.pump();
  expect(bench.source.demands).toBe(0);
  bench.isScheduled = false;
  bench.sent();
  bench.feeder.sender.acknowledge(bench.ids[0], 0);
  expect(bench.isScheduled).toBe(true);
  bench.pump();
  expect(bench.source.demands).toBe(1);
});

test('has no demand with a full stream, and demand again when it was written', () => {
  const bench = connected({ outputLimit: 500 });
  bench.source.push({ topic: '1', payload: 'x'.repeat(600) });
  bench.pump();
  expect(bench.source.demands).toBe(0);
  bench.isScheduled = false;
  bench.writes.shift()();
  expect(bench.isScheduled).toBe(true);
  bench.pump();
  expect(bench.source.demands).toBe(1);
});

test('has demand for live records while backlog leaves room, and sends them first', () => {
  const bench = connected({ share: 0.5, inflight: 8 });
  for (let i = 0; i < 20; i++) bench.source.push({ topic: `b${i}`, backlog: true });
  bench.pump();
  expect(bench.sent()).toHaveLength(4);
  expect(bench.source.demands).toBe(1);
  bench.source.push({ topic: 'live' });
  expect(bench.pump().sent()).toEqual(['live']);
});

test('looks for a class that waits only for its rate when its time has come', () => {
  const bench = connected();
  bench.source.retry = 250;
  bench.pump().pump();
  expect(bench.timers.filter(({ at }) => at === 250)).toHaveLength(1);
  bench.source.retry = 40;
  bench.pump();
  expect(bench.timers.map(({ at }) => at)).toEqual([250, 40]);
  bench.isScheduled = false;
  bench.source.retry = -1;
  bench.later(40);
  expect(bench.isScheduled).toBe(true);
});

test('waits at the end for records that wait for their rate, unless they are backlog', () => {
  const bench = connected();
  bench.source.retry = 100;
  bench.source.age = 5;
  expect(isIdle(bench.feeder)).toBe(false);
  bench.source.age = -1;
  expect(isIdle(bench.feeder)).toBe(true);
});

test('begins no batch while the stream is at its limit because records in the engine can be overtaken', () => {
  const bench = connected({ outputLimit: 1000 });
  for (let i = 0; i < 10; i++) bench.source.push({ class: 4, topic: `b${i}`, payload: 'x'.repeat(400) });
  expect(bench.pump().sent()).toEqual(['b0', 'b1', 'b2']);
  expect(bench.source.taken.size).toBe(3);
  bench.source.push({ class: 2, topic: 'h' });
  expect(bench.pump().sent()).toEqual([]);
  bench.writes.shift()();
  expect(bench.pump().sent()).toEqual(['h', 'b3', 'b4', 'b5']);
});

test('holds class 1 back only for its own bytes, not for others', () => {
  const bench = connected({ outputLimit: 1000 });
  const payload = 'x'.repeat(600);
  for (let i = 0; i < 4; i++) bench.source.push({ class: 3, topic: `n${i}`, payload });
  expect(bench.pump().sent()).toEqual(['n0', 'n1']);
  for (let i = 0; i < 4; i++) bench.source.push({ class: 1, topic: `a${i}`, payload });
  expect(bench.pump().sent()).toEqual(['a0', 'a1']);
  bench.writes.shift()();
  expect(bench.pump().sent()).toEqual([]);
  bench.writes.shift()();
  expect(bench.pump().sent()).toEqual(['a2', 'a3']);
});

test("sends a batch larger than the stream's limit in pieces", () => {
  const bench = connected({ outputLimit: 200, inflight: 100 });
  const topics = Array.from({ length: 40 }, (_, i) => `${i}`);
  bench.source.push({ records: records(...topics) });
  bench.pump();
  const got = bench.sent();
  for (let turn = 0; turn < 40 && bench.writes.length > 0; turn++) {
    expect(bench.feeder.output.unsent).toBeLessThan(300);
    bench.writes.shift()();
    got.push(...bench.pump().sent());
  }
  expect(got).toEqual(topics);
});

test('no longer counts the unwritten bytes of a lost connection', () => {
  const bench = connected({ outputLimit: 100 });
  bench.source.push({ topic: '1', payload: 'x'.repeat(200) });
  bench.pump();
  const [old] = bench.writes;
  bench.feeder.disconnected();
  expect(bench.feeder.output.unsent).toBe(0);
  bench.connect();
  const { unsent } = bench.feeder.output;
  old();
  expect(bench.feeder.output.unsent).toBe(unsent);
});

test("sends a batch at its class's turn at once, before that of a class above it", () => {
  const bench = new Bench();
  const { source } = bench;
  source.push({ class: 4, topic: 'b' });
  source.push({ class: 2, topic: 'h1' });
  source.push({ class: 2, topic: 'h2' });
  // Weights: bulk has its turn between the two.
  const turns = [2, 4, 2];
  const take = source.take.bind(source);
  source.best = () => turns[0] ?? 0;
  source.take = (into, meta, backlog) => {
    const lanes = source.lanes;
    source.lanes = lanes.map((lane, c) => (c === turns[0] ? lane : []));
    const length = take(into, meta, backlog);
    source.lanes = lanes;
    if (length >= 0) turns.shift();
    return length;
  };
  expect(bench.connect().sent()).toEqual(['h1', 'b', 'h2']);
});

test('does not count a record held for another session as due: the broker is not at fault', () => {
  const bench = connected();
  bench.source.age = 9000;
  expect(oldestMs(bench.feeder)).toBe(9000);
  expect(dueMs(bench.feeder)).toBe(-1);
  bench.source.push({ topic: '1' });
  expect(dueMs(bench.feeder)).toBe(9000);
  bench.pump();
  expect(dueMs(bench.feeder)).toBe(9000);
});

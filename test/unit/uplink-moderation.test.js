'use strict';

// How far apart the turns of the uplink thread are, with a clock and a sleep in the test's hands.

const { Worker } = require('node:worker_threads');
const { Moderation } = require('../../nodes/lib/uplink/moderation');
const { FeederBench } = require('../fixtures/feeder-bench');

const BUSY_MS = 2;
const TURN_MS = 0.1;

class Thread {
  constructor() {
    this.time = 1000;
    this.slept = 0;
    this.records = 0;
    this.moderation = new Moderation({
      now: () => this.time,
      sleep: (ms) => {
        this.slept += ms;
        this.time += ms;
      }
    });
  }

  /** Something wakes the thread each `everyMs`; returns the times at which turns began, and the longest that a wake-up waited. */
  run({ ms, everyMs, recordsPerS, isWaiting = false }) {
    const began = [];
    let longest = 0;
    const end = this.time + ms;
    let due = this.time;
    const [from, before] = [this.time, this.records];
    while (due < end) {
      this.time = Math.max(this.time, due);
      longest = Math.max(longest, this.time - due);
      began.push(this.time);
      this.time += TURN_MS;
      // One turn serves all that came until it.
      while (due <= this.time - TURN_MS) due += everyMs;
      this.records = before + Math.floor(((this.time - from) * recordsPerS) / 1000);
      this.moderation.rest(this.records, isWaiting);
    }
    return { perS: (began.length * 1000) / ms, longest };
  }
}

test('at 10,000 records a second there are at most 500 turns a second, and nothing waits longer than between two of them', () => {
  const thread = new Thread();
  thread.run({ ms: 200, everyMs: 0.3, recordsPerS: 10000 });
  const { perS, longest } = thread.run({ ms: 2000, everyMs: 0.3, recordsPerS: 10000 });
  expect(perS).toBeGreaterThan(440);
  expect(perS).toBeLessThanOrEqual(1000 / BUSY_MS + 1);
  expect(longest).toBeLessThanOrEqual(BUSY_MS);
});

test('at a low rate nothing sleeps, however often it wakes', () => {
  const thread = new Thread();
  for (const recordsPerS of [100, 640, 2000])
    thread.run({ ms: 1000, everyMs: 0.5, recordsPerS: recordsPerS * 0.99 });
  expect(thread.slept).toBe(0);
});

test('between a low rate and a high one turns move apart evenly', () => {
  const thread = new Thread();
  thread.run({ ms: 1000, everyMs: 0.2, recordsPerS: 4000 });
  const { perS } = thread.run({ ms: 1000, everyMs: 0.2, recordsPerS: 4000 });
  expect(perS).toBeGreaterThan(920);
  expect(perS).toBeLessThan(1050);
});

test('the first after a pause is not delayed, nor does a nap follow it', () => {
  const thread = new Thread();
  thread.run({ ms: 500, everyMs: 0.3, recordsPerS: 10000 });
  expect(thread.moderation.interval).toBe(BUSY_MS);
  for (const pauseMs of [BUSY_MS, 10, 60000]) {
    thread.time += pauseMs;
    const { slept } = thread;
    thread.moderation.rest(thread.records, false);
    expect(thread.slept).toBe(slept);
  }
});

test('a burst after a pause is not delayed before it is known to last', () => {
  const thread = new Thread();
  thread.run({ ms: 500, everyMs: 0.3, recordsPerS: 10000 });
  thread.time += 1000;
  thread.moderation.rest(thread.records, false);
  const { slept } = thread;
  thread.run({ ms: 45, everyMs: 0.3, recordsPerS: 50000 });
  expect(thread.slept).toBe(slept);
});

test('what waits for room does not wait for a nap as well', () => {
  const thread = new Thread();
  thread.run({ ms: 1000, everyMs: 0.3, recordsPerS: 100000, isWaiting: true });
  expect(thread.slept).toBe(0);
});

test('a feeder waits while its window is full, and no longer', () => {
  const bench = new FeederBench({ inflight: 2 });
  bench.connect();
  expect(bench.feeder.isWaiting).toBe(false);
  for (const topic of ['1', '2', '3']) bench.source.push({ topic });
  bench.pump();
  expect(bench.feeder.isWaiting).toBe(true);
  bench.sent();
  bench.ack();
  expect(bench.feeder.isWaiting).toBe(false);
});

test('a feeder counts the records that it took', () => {
  const bench = new FeederBench();
  bench.connect();
  bench.source.push({ topic: '1' });
  bench.source.push({ kind: 1, payload: '{}\n{}\n{}\n' });
  bench.pump();
  expect(bench.feeder.taken.records).toBe(4);
});

test('a thread that naps ends at once when it is terminated', async () => {
  const path = require.resolve('../../nodes/lib/uplink/moderation');
  const code = `
    const { Moderation } = require(${JSON.stringify(path)});
    const moderation = new Moderation({ now: () => performance.now() });
    const { parentPort } = require('node:worker_threads');
    let records = 0;
    const turn = () => (moderation.rest((records += 1000), false), setImmediate(turn));
    turn();
    setTimeout(() => parentPort.postMessage(moderation.interval), 100);`;
  const worker = new Worker(code, { eval: true });
  const interval = await new Promise((resolve) => worker.once('message', resolve));
  expect(interval).toBe(BUSY_MS);
  await worker.terminate();
});

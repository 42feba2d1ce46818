'use strict';

// Whether the connection is alive, and whether data moves on it.

const { FeederBench: Bench } = require('../../fixtures/uplink/feeder-bench');
const { Status } = require('../../../nodes/lib/uplink/sending/uplink-state');

test('stalls when nothing was acknowledged for the time-out', () => {
  const bench = new Bench();
  for (let i = 0; i < 2; i++) bench.source.push({ topic: `${i}` });
  bench.connect().sent();
  bench.later(15000).ack(1);
  bench.later(10000);
  expect(bench.feeder.sender.liveness.deadMs(20000)).toBe(0);
  bench.later(11000);
  expect(bench.feeder.sender.liveness.deadMs(20000)).toBeGreaterThan(20000);
});

test('stalls when one packet is skipped while later ones are acknowledged', () => {
  const bench = new Bench();
  for (let i = 0; i < 2; i++) bench.source.push({ topic: `${i}` });
  bench.connect().sent();
  bench.later(19000);
  bench.ids.shift();
  bench.ack(1);
  bench.later(1500);
  expect(bench.feeder.sender.liveness.deadMs(20000)).toBeGreaterThan(20000);
});

test('never stalls on an idle connection', () => {
  const bench = new Bench();
  bench.connect().later(1e6);
  expect(bench.feeder.sender.liveness.deadMs(20000)).toBe(0);
});

// The thread of the uplink ended by an exception: a worker closed the oldest packet between two looks.
test('does not look into the window while the express path, that is, other threads, use it', () => {
  const { liveness } = new Bench().connect().feeder.sender;
  const sentAt = () => {
    throw new Error('it was closed meanwhile');
  };
  Object.assign(liveness, { isFlying: true, window: { oldest: () => 1, places: { sentAt } } });
  expect(liveness.deadMs(20000)).toBe(0);
  liveness.flying = { ageMs: 30000, isPassed: true };
  expect(liveness.deadMs(20000)).toBe(30000);
});

test("does not take the kernel's acceptance of data as a sign of life", () => {
  const bench = new Bench();
  bench.connect();
  for (let second = 0; second < 20; second++) {
    bench.source.push({ topic: `${second}` });
    bench.later(1000);
    for (const done of bench.writes.splice(0)) done();
  }
  expect(bench.feeder.sender.liveness.deadMs(15000)).toBeGreaterThan(15000);
});

test('lengthens a time-out that did not help, up to eight times, until something is acknowledged', () => {
  const bench = new Bench();
  bench.source.push({ topic: 'slow' });
  const { liveness } = bench.feeder.sender;
  const patience = [];
  for (let round = 0; round < 6; round++) {
    bench.connect();
    let waited = 0;
    while (liveness.deadMs(1000) === 0) {
      bench.later(100);
      waited += 100;
    }
    patience.push(waited);
    liveness.gaveUp();
    bench.feeder.disconnected();
  }
  expect(patience).toEqual([1100, 2100, 4100, 8100, 8100, 8100]);
  bench.connect().sent();
  bench.ids = bench.ids.slice(-1);
  bench.ack();
  bench.source.push({ topic: 'next' });
  bench.pump().later(1100);
  expect(liveness.deadMs(1000)).toBe(1100);
});

/** The status of a bench, as the worker keeps it. */
function watch(bench) {
  const states = [];
  const status = new Status(bench.feeder, () => states.push(status.view()));
  return { status, states };
}

test('reports a stall after 5 s on the display and to the engine, and connected again when data moves', () => {
  const bench = new Bench();
  const { status, states } = watch(bench);
  bench.source.push({ topic: '1' });
  bench.connect().sent();
  status.set('connected', null);
  for (const age of [0, 2500, 5000]) {
    bench.source.age = age;
    status.check();
    expect(states.at(-1).state).toBe('connected');
    bench.later(2500);
  }
  bench.source.age = 7500;
  status.check();
  expect(states.at(-1)).toMatchObject({
    state: 'stalled',
    code: 'STALLED',
    reason: expect.stringMatching(/connection is up.*waited for 8 s/)
  });
  expect(bench.source.ups).toEqual([true, false]);
  bench.ack();
  bench.source.age = -1;
  status.check();
  expect(states.at(-1)).toMatchObject({ state: 'connected', reason: '' });
  expect(bench.source.ups).toEqual([true, false, true]);
});

test('does not stall on old records while others are acknowledged, nor with nothing to send', () => {
  const bench = new Bench({ inflight: 1 });
  const { status, states } = watch(bench);
  bench.connect();
  status.set('connected', null);
  bench.later(60000);
  status.check();
  bench.source.age = 90000;
  for (let i = 0; i < 20; i++) {
    bench.source.push({ topic: `${i}` });
    bench.pump().sent();
    bench.later(1000).ack();
    status.check();
  }
  expect(new Set(states.map(({ state }) => state))).toEqual(new Set(['connected']));
});

test('stays stalled when a broker hangs and accepts the next connection', () => {
  const bench = new Bench();
  const { status, states } = watch(bench);
  bench.source.push({ topic: '1' });
  bench.connect();
  status.set('connected', null);
  bench.later(16000);
  expect(bench.feeder.sender.liveness.deadMs(15000)).toBe(16000);
  bench.feeder.sender.liveness.gaveUp();
  bench.feeder.disconnected();
  status.set('disconnected', { code: 'ACK_TIMEOUT', reason: 'x', refused: false });
  bench.connect();
  status.set('connected', null);
  expect(states.at(-1).state).toBe('stalled');
  expect(bench.source.ups).toEqual([true, false]);
});

test('stalls on backlog alone too', () => {
  const bench = new Bench();
  const { status, states } = watch(bench);
  bench.source.push({ topic: '1', backlog: true });
  bench.connect();
  status.set('connected', null);
  bench.later(6000);
  status.check();
  expect(states.at(-1)).toMatchObject({ state: 'stalled', backlogInflight: 1 });
});

test('shows records that the broker refuses temporarily, with the time until the next attempt', () => {
  const bench = new Bench();
  const { status } = watch(bench);
  bench.source.push({ topic: '1' });
  bench.connect().sent();
  status.set('connected', null);
  bench.ack(1, 0x97);
  expect(status.view()).toMatchObject({
    state: 'connected',
    code: 'PUBACK_151',
    quotaWait: 1000,
    refusals: 1,
    reason: 'The broker refuses records for now (quota exceeded); they are kept and sent again within 1 s.'
  });
});

test('reports the uplink as down to the engine at the end', () => {
  const bench = new Bench();
  const { status } = watch(bench);
  bench.connect();
  status.set('connected', null);
  status.stop();
  expect(bench.source.ups).toEqual([true, false]);
});

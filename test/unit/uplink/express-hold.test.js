'use strict';

// When the feeder lets the engine send (express.js): the test controls the clock, and the engine and connection only
// record calls.

const { FeederBench } = require('../../fixtures/uplink/feeder-bench');

/** A feeder that may enter the express path, with a known round trip of 4 ms. @param {object} [options] */
function begin(options) {
  const boarded = [];
  const wire = {
    isOver: false,
    onLeave: () => {},
    wire: {
      enter: (_source, _writer, window, spec) => boarded.push({ ...spec, room: window.room(false) }),
      leave: () => [],
      numbers: (into) => into.fill(0)
    }
  };
  const bench = new FeederBench({ wire, ...options });
  bench.source.look = () => -1;
  bench.feeder.sender.liveness.rttMs = 4;
  return { bench, wire, boarded, express: bench.feeder.express };
}

/** One packet of the feeder's own is in flight. */
function beginBusy() {
  const begun = begin();
  const { bench, express } = begun;
  express.carriesAll = false;
  bench.connect();
  bench.source.push({ topic: 'first' });
  bench.pump();
  express.carriesAll = true;
  return begun;
}

const acknowledge = (bench) => {
  for (const { messageId } of bench.packets) bench.feeder.sender.acknowledge(messageId, 0);
};

test("enters with nothing in flight, with the window and the broker's limits", () => {
  const { bench, boarded } = begin({ inflight: 8, reserve: 0.25, maximumPacketSize: 500 });
  bench.connect();
  expect(boarded).toMatchObject([{ order: 0, room: 6, maxPacket: 500 }]);
  bench.source.push({ topic: 'engine' });
  bench.pump();
  expect(bench.packets).toEqual([]);
});

test('sends nothing while an answer is near, and enters at the last answer', () => {
  const { bench, boarded, express } = beginBusy();
  bench.source.push({ topic: 'second' });
  bench.pump();
  expect([bench.packets.length, express.isHeld, boarded.length]).toEqual([1, true, 0]);
  bench.isScheduled = false;
  acknowledge(bench);
  expect(bench.isScheduled).toBe(true);
  bench.pump();
  expect(boarded).toHaveLength(1);
  expect(bench.packets).toHaveLength(1);
});

test('holds 100 ms at most for a missing answer', () => {
  const { bench, express } = beginBusy();
  bench.source.push({ topic: 'second' });
  bench.pump();
  expect(bench.packets).toHaveLength(1);
  expect(bench.timers.some(({ at }) => at === bench.time + 100)).toBe(true);
  bench.time += 100;
  bench.pump();
  expect([bench.packets.length, express.isHeld]).toEqual([2, false]);
});

test.each([
  ['an alarm', (bench) => bench.source.push({ class: 1, topic: 'alarm' })],
  ['backlog', (bench) => bench.source.push({ topic: 'old', backlog: true })]
])('does not hold %s', (_, push) => {
  const { bench } = beginBusy();
  push(bench);
  bench.pump();
  expect(bench.packets).toHaveLength(2);
});

test('never waits on a long round trip', () => {
  const { bench } = beginBusy();
  bench.feeder.sender.liveness.rttMs = 40;
  bench.source.push({ topic: 'second' });
  bench.pump();
  expect(bench.packets).toHaveLength(2);
});

test("reports the session's demand to the engine again after it leaves", () => {
  const { bench, wire, express } = begin();
  bench.feeder.reportUp(true);
  bench.feeder.demand.isSent = true;
  bench.connect();
  expect(express.isActive).toBe(true);
  wire.onLeave('backlog');
  expect(express.isActive).toBe(false);
  bench.pump();
  expect(bench.source.demands).toBe(1);
});

test('does not leave with a new connection when an old one ends late', () => {
  const { bench, wire, express } = begin();
  bench.connect();
  const late = wire.onLeave;
  bench.feeder.disconnected(true);
  expect(wire.onLeave).not.toBe(late);
  bench.connect();
  expect(express.isActive).toBe(true);
});

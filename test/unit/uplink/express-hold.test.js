'use strict';

// When the feeder lets the engine send (express.js): a clock in the test's hands, an engine and a wire that only note what they are asked.

const { FeederBench } = require('../../fixtures/uplink/feeder-bench');

/** A feeder that may board, with a round trip of 4 ms known. @param {object} [options] */
function begin(options) {
  const boarded = [];
  const wire = {
    isOver: false,
    onLeave: () => {},
    wire: { enter: (_, spec) => boarded.push(spec), leave: () => [], numbers: (into) => into.fill(0) }
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
  const { stages } = express;
  express.stages = null;
  bench.connect();
  bench.source.push({ topic: 'first' });
  bench.pump();
  express.stages = stages;
  return begun;
}

const acknowledge = (bench) => {
  for (const { messageId } of bench.packets) bench.feeder.sender.acknowledge(messageId, 0);
};

test('nothing on the way: it boards, with the window and what the broker granted', () => {
  const { bench, boarded } = begin({ inflight: 8, reserve: 0.25, maximumPacketSize: 500 });
  bench.connect();
  expect(boarded).toMatchObject([{ order: 0, window: 8, reserved: 2, maxPacket: 500, isV5: true }]);
  bench.source.push({ topic: 'engine' });
  bench.pump();
  expect(bench.packets).toEqual([]);
});

test('while an answer is near nothing more is sent, and the last answer boards', () => {
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

test('an answer that does not come holds for 100 ms at most', () => {
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
])('%s is not held', (_, push) => {
  const { bench } = beginBusy();
  push(bench);
  bench.pump();
  expect(bench.packets).toHaveLength(2);
});

test('a long way is never waited for', () => {
  const { bench } = beginBusy();
  bench.feeder.sender.liveness.rttMs = 40;
  bench.source.push({ topic: 'second' });
  bench.pump();
  expect(bench.packets).toHaveLength(2);
});

test('after landing the engine hears again that this session has room', () => {
  const { bench, wire, express } = begin();
  bench.feeder.tell(true);
  bench.feeder.demand.isTold = true;
  bench.connect();
  expect(express.isActive).toBe(true);
  wire.onLeave('backlog');
  expect(express.isActive).toBe(false);
  bench.pump();
  expect(bench.source.demands).toBe(1);
});

test('an old connection that ends late does not land the new one', () => {
  const { bench, wire, express } = begin();
  bench.connect();
  const late = wire.onLeave;
  bench.feeder.disconnected(true);
  expect(wire.onLeave).not.toBe(late);
  bench.connect();
  expect(express.isActive).toBe(true);
});

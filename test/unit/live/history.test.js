'use strict';
// The last hour in one-minute points, and the estimate of the time to drain.

const { History } = require('../../../nodes/lib/live/history');
const { DrainTime } = require('../../../nodes/lib/live/drain-time');

/** @param {object} [more] */
const stats = (more) =>
  /** @type {any} */ ({
    counters: { recordsReceived: 0, recordsPushed: 0, recordsDelivered: 0 },
    drops: { expired: [0, 0, 0] },
    heldRecords: [0, 1, 2],
    storedRecords: [0, 0, 5],
    backlogRecords: [0, 0, 4],
    heldBytes: 100,
    devices: 3,
    placement: { workers: [{ busy: 0.25 }, { busy: 0.5 }] },
    ...more
  });

/** Feeds `seconds` readings with 10 records a second. */
function feed(history, clock, seconds, perS = 10) {
  for (let second = 0; second < seconds; second++) {
    clock.at += 1000;
    clock.received += perS;
    const counters = {
      recordsReceived: clock.received,
      recordsPushed: 0,
      recordsDelivered: clock.received / 2
    };
    history.add(stats({ counters, drops: { expired: [0, 0, clock.received / 10] } }));
  }
}

function make() {
  const clock = { at: 0, received: 0 };
  return {
    clock,
    history: new History(
      () => clock.at,
      () => 1e12 + clock.at
    )
  };
}

test('has no point before the first minute ends, and then one with the average of the minute', () => {
  const { clock, history } = make();
  feed(history, clock, 60);
  expect(history.view()).toMatchObject({ stepS: 60, series: { received: [] } });
  feed(history, clock, 1);
  expect(history.view()).toEqual({
    stepS: 60,
    endsAt: 1e12 + 61000,
    series: {
      received: [10],
      pushed: [0],
      delivered: [5],
      dropped: [1],
      devices: [3],
      waiting: [7],
      onDisk: [5],
      memoryBytes: [100],
      busy: [0.5]
    }
  });
});

test('keeps the newest 60 points, oldest first', () => {
  const { clock, history } = make();
  feed(history, clock, 1);
  for (let minute = 1; minute <= 75; minute++) feed(history, clock, 60, minute);
  const { received } = history.view().series;
  expect(history.written).toBe(75);
  expect(received).toHaveLength(60);
  expect([received[0], received[59]]).toEqual([16, 75]);
});

test('weighs the load by time, and keeps its minutes, with readings that are apart', () => {
  const { clock, history } = make();
  const read = (/** @type {number} */ ms, /** @type {number} */ busy) => {
    clock.at += ms;
    history.add(stats({ placement: { workers: [{ busy }] } }));
  };
  read(0, 0);
  for (let minute = 0; minute < 20; minute++) {
    for (let second = 0; second < 10; second++) read(1000, 1);
    for (let rest = 0; rest < 6; rest++) read(9000, 0);
  }
  // A reading comes each nine seconds, so a minute of 64 s is over at the next one.
  expect(history.written).toBe(Math.floor((20 * 64) / 60));
  const { busy } = history.view().series;
  expect(busy.reduce((sum, each) => sum + each) / busy.length).toBeCloseTo(10 / 64, 1);
});

test('shows no negative rate after a counter has become smaller', () => {
  const { clock, history } = make();
  feed(history, clock, 60);
  clock.received = 0;
  feed(history, clock, 1);
  expect(history.view().series.received).toEqual([0]);
});

describe('the time to drain', () => {
  const readings = (waiting, deliveredPerS) => {
    const drain = new DrainTime();
    return waiting.map((records, second) => drain.read(second * 1000, records, deliveredPerS)).at(-1);
  };

  test('is none while the waiting records are only in transit', () => {
    expect(readings([100, 150], 100)).toEqual({ records: 150, trend: 'none', seconds: null });
  });

  test('is not known until there is a trend', () => {
    expect(readings([1000, 900], 10).trend).toBe('measuring');
  });

  test('follows the trend of the last 20 s', () => {
    const rising = Array.from({ length: 60 }, (_, second) => 1000 + second * 100);
    expect(readings(rising, 10)).toMatchObject({ trend: 'growing', seconds: null });
    const falling = Array.from({ length: 31 }, (_, second) => 7000 - second * 100);
    expect(readings([...rising, ...falling], 10)).toEqual({ records: 4000, trend: 'shrinking', seconds: 40 });
  });
});

'use strict';

const { Meter } = require('../../../nodes/lib/engine/figures/meter');
const { Sampler } = require('../../../nodes/lib/base/sampler');

const stats = (recordsIn, delivered) => ({
  stages: [{ id: 1, recordsIn, recordsOut: recordsIn, batches: 0, copiesDropped: 0, filtered: 0 }],
  counters: { delivered }
});

function meterAt(times) {
  return new Meter(() => times.shift());
}

test('has no rates at the first reading', () => {
  const rates = meterAt([0, 1000]).read(stats(50, 7));
  expect(rates.stages.get(1).recordsIn).toBe(0);
  expect(rates.counters.delivered).toBe(0);
});

test('computes rates per second for any time between readings', () => {
  const meter = meterAt([0, 0, 2000]);
  meter.read(stats(50, 10));
  const rates = meter.read(stats(250, 40));
  expect(rates).toMatchObject({ seconds: 2, counters: { delivered: 15 } });
  expect(rates.stages.get(1)).toMatchObject({ recordsIn: 100, batches: 0 });
});

test('counts a restarted stage from zero, and never backwards', () => {
  const meter = meterAt([0, 0, 1000]);
  meter.read(stats(500, 0));
  expect(meter.read(stats(20, 0)).stages.get(1).recordsIn).toBe(20);
});

test('lets the first of N through a tap, up to a number a second', () => {
  let now = 500;
  const passed = (sampler, count) =>
    Array.from({ length: count }, () => sampler.pass()).filter(Boolean).length;
  expect(
    Array.from(
      { length: 7 },
      (
        (sampler) => () =>
          sampler.pass()
      )(new Sampler(3, 0))
    )
  ).toEqual([true, false, false, true, false, false, true]);
  const limited = new Sampler(0, 2, () => now);
  expect(passed(limited, 10)).toBe(2);
  now = 1000;
  expect(passed(limited, 10)).toBe(2);
  expect(passed(new Sampler(0, 0), 10)).toBe(10);
  expect(passed(new Sampler(2, 3, () => now), 100)).toBe(3);
});

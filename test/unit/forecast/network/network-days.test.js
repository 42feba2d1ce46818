'use strict';

// What a gateway learns of its network in days that are alike, with the engine's own model and a clock of the test.

const { DAY_MS, FAST_BYTES, NetworkDays } = require('../../../fixtures/forecast/network-days');

/** @param {NetworkDays} days @param {string} topic */
const seriesOf = (days, topic) => days.view().series.find((each) => each.topic === topic);

test('trusts capacity, round trip and outages after three days', () => {
  const days = new NetworkDays();
  days.run(2.9);
  expect(days.view().series.map(({ topic, doubt }) => [topic, doubt])).toEqual([
    ['capacity', 'seasons'],
    ['roundTrip', 'seasons'],
    ['connected', 'seasons']
  ]);
  days.run(0.2);
  const capacity = seriesOf(days, 'capacity');
  expect(capacity?.doubt).toBe('');
  expect(capacity?.expected).toBeGreaterThan(FAST_BYTES * 0.9);
  expect(capacity?.expected).toBeLessThan(FAST_BYTES * 1.1);
  expect(capacity?.low).toBeLessThan(/** @type {number} */ (capacity?.observed));
  expect(seriesOf(days, 'roundTrip')).toMatchObject({ doubt: '', observed: 40 });
  expect(seriesOf(days, 'connected')).toMatchObject({ doubt: '', observed: 1 });
});

test('goes on with what it had learned after a restart', () => {
  const before = new NetworkDays();
  before.run(3);
  const content = before.forecast.save();
  expect(before.forecast.save()).toBe(null);
  const after = new NetworkDays({ content, day: 20003 });
  expect(seriesOf(after, 'capacity')?.doubt).toBe('');
});

test('begins again with a damaged file, and with that of another season', () => {
  const days = new NetworkDays();
  days.run(1);
  const content = /** @type {Buffer} */ (days.forecast.save());
  expect(() => new NetworkDays({ content: content.subarray(0, content.length - 3) })).toThrow(
    'not rows of forecasts'
  );
  const other = Buffer.from(content);
  // The period follows the magic, the secret and the model.
  other.writeUInt32LE(604800, 13);
  expect(new NetworkDays({ content: other }).view().series).toEqual([]);
});

test('survives a clock that jumps', () => {
  const days = new NetworkDays();
  days.run(4);
  days.now -= 7 * DAY_MS;
  days.measuredAt = days.now;
  days.run(1);
  days.now += 30 * DAY_MS;
  days.measuredAt = days.now;
  days.run(1);
  expect(seriesOf(days, 'connected')?.observed).toBe(1);
});

test('keeps the first series where there is no room for more, and says so', () => {
  const days = new NetworkDays({ mostSeries: 2 });
  days.run(0.1);
  expect(days.view().series.map(({ topic }) => topic)).toEqual(['roundTrip', 'connected']);
  expect(days.forecast.isFull).toBe(true);
});

'use strict';

// What a gateway learns of its network in days that are alike, with the engine's own model and a clock of the test.

const {
  DAY_MS,
  FAST_BYTES,
  MINUTE_MS,
  NetworkDays,
  SLOW,
  TUNNEL
} = require('../../../fixtures/forecast/network-days');

/** @param {NetworkDays} days @param {string} topic */
const seriesOf = (days, topic) => days.view().series.find((each) => each.topic === topic);

/** @param {number} ms @returns {number} minute of the day */
const minuteOf = (ms) => (ms % DAY_MS) / MINUTE_MS;

test('trusts capacity, round trip and outages after three days, and seals nothing before', () => {
  const days = new NetworkDays();
  days.run(2.9);
  expect(days.view().series.map(({ topic, doubt }) => [topic, doubt])).toEqual([
    ['capacity', 'seasons'],
    ['roundTrip', 'seasons'],
    ['connected', 'seasons']
  ]);
  expect(days.seals).toEqual([]);
  days.run(0.2);
  const capacity = seriesOf(days, 'capacity');
  expect(capacity?.doubt).toBe('');
  expect(capacity?.expected).toBeGreaterThan(FAST_BYTES * 0.9);
  expect(capacity?.expected).toBeLessThan(FAST_BYTES * 1.1);
  expect(capacity?.low).toBeLessThan(/** @type {number} */ (capacity?.observed));
  expect(seriesOf(days, 'roundTrip')).toMatchObject({ doubt: '', observed: 40 });
  expect(seriesOf(days, 'connected')).toMatchObject({ doubt: '', observed: 1 });
});

test('seals ahead of the slow hour and of the tunnel, for the patience, and judges itself right', () => {
  const days = new NetworkDays();
  days.run(3);
  days.run(4);
  const minutes = [...new Set(days.seals.map((ms) => Math.ceil(minuteOf(ms))))];
  expect(minutes).toEqual([SLOW.from, TUNNEL.from]);
  for (const ms of days.seals) {
    const ahead = [SLOW.from, TUNNEL.from].map((minute) => minute * MINUTE_MS - (ms % DAY_MS));
    expect(ahead.some((left) => left > 0 && left <= 10000)).toBe(true);
  }
  const { falls } = days.view();
  expect(falls).toMatchObject({ decided: 8, right: 8, wrong: 0, unknown: 0 });
  expect(falls.last).toMatchObject({ quantity: 'connected', after: 0, verdict: 'right' });
  expect(falls.last?.before).toBeGreaterThan(0.99);
});

test('counts a fall that did not come as wrong, and stops when there is none for days', () => {
  const days = new NetworkDays();
  days.run(4);
  const { decided, right } = days.view().falls;
  expect([decided, right]).toEqual([2, 2]);
  days.isEven = true;
  days.run(1);
  expect(days.view().falls).toMatchObject({ decided: 4, right: 2, wrong: 2 });
  days.run(6);
  const later = days.view().falls.decided;
  days.run(5);
  expect(days.view().falls.decided).toBe(later);
});

test('seals nothing where no node wants it, or while the uplink is disconnected anyway', () => {
  const days = new NetworkDays();
  days.run(3);
  days.batches = [];
  days.run(1);
  expect([days.seals.length, days.view().falls.decided]).toEqual([0, 0]);
  days.batches = [{ stage: 5, patienceMs: 10000, links: new Set(['another']) }];
  days.run(1);
  expect([days.seals.length, days.view().falls.decided]).toEqual([0, 0]);
});

test('goes on with what it had learned after a restart', () => {
  const before = new NetworkDays();
  before.run(3);
  const content = before.forecast.save();
  expect(before.forecast.save()).toBe(null);
  const after = new NetworkDays({ content, day: 20003 });
  expect(seriesOf(after, 'capacity')?.doubt).toBe('');
  after.run(1);
  expect(after.view().falls).toMatchObject({ decided: 2, right: 2 });
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
  const { decided, right, wrong, unknown } = days.view().falls;
  expect(right + wrong + unknown).toBe(decided);
});

test('keeps the first series where there is no room for more, and says so', () => {
  const days = new NetworkDays({ mostSeries: 2 });
  days.run(0.1);
  expect(days.view().series.map(({ topic }) => topic)).toEqual(['roundTrip', 'connected']);
  expect(days.forecast.isFull).toBe(true);
});

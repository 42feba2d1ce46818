'use strict';

// When a fall is decided, and how it is judged.

const { Falls } = require('../../../../nodes/lib/forecast/network/falls');
const { beginOf, seasonOf, slotOf } = require('../../../../nodes/lib/forecast/network/season');

const season = seasonOf(86400);
const SLOT_MS = 900000;
const NOW = 20000 * 86400000 + 5 * SLOT_MS - 60000;

/** @param {Partial<import('../../../../native').ForecastExpectation>} [of] */
const expectation = (of) =>
  /** @type {any} */ ({ doubt: '', seasons: 5, expected: 100, low: 90, high: 110, ...of });

/** @param {object} [next] expectation of the capacity in the next slot @param {object} [here] of this one */
function capacityFalls(next, here) {
  const expect = (/** @type {string} */ topic, /** @type {number} */ at) => {
    if (topic !== 'capacity') return null;
    return expectation(at > NOW ? next : here);
  };
  return new Falls(season, expect);
}

const values = (/** @type {number} */ capacity) => new Map([['capacity', capacity]]);
const LOW = { expected: 40, low: 30, high: 50 };

test.each([
  [season, { periodS: 86400, slots: 96, stepMs: 60000, lookMs: 10000 }],
  [seasonOf(604800), { periodS: 604800, slots: 672, stepMs: 60000, lookMs: 10000 }],
  [seasonOf(40), { periodS: 40, slots: 40, stepMs: 1000, lookMs: 1000 }],
  [seasonOf(1), { periodS: 2, slots: 2, stepMs: 1000, lookMs: 1000 }]
])('divides a season into slots and steps: %j', (found, expected) => {
  expect(found).toEqual(expected);
  const slot = slotOf(found, NOW);
  expect(slotOf(found, beginOf(found, slot + 1))).toBe(slot + 1);
  expect(slotOf(found, beginOf(found, slot + 1) - 1)).toBe(slot);
});

test.each([
  ['half of it or less, apart from the present band', LOW, {}, true],
  ['more than half', { expected: 51, low: 41, high: 60 }, {}, false],
  ['bands that overlap', { expected: 40, low: 10, high: 95 }, {}, false],
  ['a forecast of then that is not trusted', { ...LOW, doubt: 'slot' }, {}, false],
  ['a forecast of now that is not trusted', LOW, { doubt: 'shift' }, false],
  ['a forecast without numbers', { ...LOW, expected: null, high: null }, {}, false]
])('decides by %s', (_what, next, here, is) => {
  const falls = capacityFalls(next, here);
  expect(falls.ahead(NOW) !== null).toBe(is);
  expect(falls.counters.decided).toBe(Number(is));
});

test('counts a fall once, however often it is asked', () => {
  const falls = capacityFalls(LOW);
  expect(falls.ahead(NOW)).toBe(falls.ahead(NOW + 1000));
  expect(falls.counters.decided).toBe(1);
  expect(falls.last).toMatchObject({ at: NOW + 60000, expected: 40, verdict: 'open' });
});

test.each([
  [100, 45, 'right'],
  [100, 70, 'right'],
  [100, 71, 'wrong'],
  [100, null, 'unknown'],
  [null, 45, 'unknown']
])('judges %s before and %s then as %s', (before, after, verdict) => {
  const falls = capacityFalls(LOW);
  if (before !== null) falls.observe(values(before), NOW);
  falls.ahead(NOW);
  if (after !== null) falls.observe(values(after), NOW + SLOT_MS);
  expect(falls.last?.verdict).toBe('open');
  falls.observe(new Map(), NOW + 2 * SLOT_MS);
  expect(falls.last).toMatchObject({ before, after, verdict });
  expect(falls.counters[/** @type {'right'} */ (verdict)]).toBe(1);
});

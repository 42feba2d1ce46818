'use strict';
// ForecastTable as JavaScript uses it. Its model is tested in native/test/forecast.

const { ForecastTable } = require('../../native');

const SEASON = { periodS: 8, slots: 8 };
const BEGIN = 1e12;

/** Observes whole seasons of eight values. @param {ForecastTable} table @param {number} seasons */
function learn(table, seasons, device = 'd') {
  for (let slot = 0; slot < seasons * 8; slot++) {
    const value = 10 + (slot % 8) + ((slot * 7) % 5) / 100;
    expect(table.observe(device, 'x', value, BEGIN + slot * 1000 + 500)).toBe(true);
  }
}

test('forecasts the slots of a season, and says why it is not trusted', () => {
  const table = new ForecastTable(SEASON, null);
  expect(table.restored).toBe('done');
  expect(table.look('d', 'x', BEGIN)).toBe(null);
  learn(table, 2);
  expect(table.look('d', 'x', BEGIN + 16000)).toMatchObject({ doubt: 'seasons', seasons: 2 });
  const later = new ForecastTable(SEASON, table.save());
  learn(later, 6, 'e');
  for (let slot = 48; slot < 56; slot++) {
    const { doubt, expected, low, high } = /** @type {any} */ (later.look('e', 'x', BEGIN + slot * 1000));
    expect(doubt).toBe('');
    expect(expected).toBeCloseTo(10 + (slot % 8), 0);
    expect(low).toBeLessThan(expected);
    expect(high).toBeGreaterThan(expected);
  }
  // To look ahead teaches nothing.
  expect(later.look('e', 'x', BEGIN + 48000)).toEqual(later.look('e', 'x', BEGIN + 48000));
  expect(later.look('d', 'x', BEGIN + 16000)).toMatchObject({ doubt: 'seasons', seasons: 2 });
});

test('keeps what it has learned in the bytes of save()', () => {
  const table = new ForecastTable(SEASON, null);
  learn(table, 4);
  const content = table.save();
  const at = BEGIN + 32000;
  const again = new ForecastTable(SEASON, content);
  expect([again.restored, again.look('d', 'x', at)]).toEqual(['done', table.look('d', 'x', at)]);
  const other = new ForecastTable({ ...SEASON, slots: 4 }, content);
  expect([other.restored, other.look('d', 'x', at)]).toEqual(['other', null]);
  for (const damaged of [content.subarray(0, 3), content.subarray(0, -1), Buffer.from('x')])
    expect(new ForecastTable(SEASON, damaged).restored).toBe('damaged');
});

test('refuses what is no number, and more series than it may have', () => {
  const table = new ForecastTable({ ...SEASON, maxSeries: 1 }, null);
  for (const value of [NaN, Infinity, 1e31, '1', null, undefined])
    expect(() => table.observe('d', 'x', /** @type {any} */ (value), 0)).toThrow(/value must be a number/);
  for (const ts of [-1, 1.5, NaN]) expect(() => table.observe('d', 'x', 1, ts)).toThrow(/ts must be/);
  expect(() => table.look(/** @type {any} */ (1), 'x', 0)).toThrow(/device must be/);
  expect(table.observe('d', 'x', -1e-7, BEGIN)).toBe(true);
  expect(table.observe('e', 'x', 1, BEGIN)).toBe(false);
  expect(table.look('e', 'x', BEGIN)).toBe(null);
  for (const settings of [null, { slots: 1 }, { periodS: 5, slots: 8 }, { maxSeries: 0 }])
    expect(() => new ForecastTable(/** @type {any} */ (settings), null)).toThrow(/must|slot|series/);
  expect(() => new ForecastTable(SEASON, /** @type {any} */ ('x'))).toThrow(/content must be/);
});

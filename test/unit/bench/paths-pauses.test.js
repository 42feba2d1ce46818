'use strict';

const { around, longest, pauseList, pausesOf, seconds, wentOnAfter } = require('../../../bench/paths/pauses');

describe('pauses of delivery', () => {
  test('begin and end with a record; short ones and time before the window do not count', () => {
    const arrivals = [100, 900, 1000, 1100, 2600, 2700, 2900];
    expect(pausesOf(arrivals, 1000, 3000)).toEqual([
      { at: 1100, ms: 1500 },
      { at: 2700, ms: 200 }
    ]);
  });

  test('have their full length when they end after the load', () => {
    expect(pausesOf([100, 200, 9000, 12000], 0, 3000)).toEqual([{ at: 200, ms: 8800 }]);
  });

  test('last at least until the end of the load when nothing arrives', () => {
    expect(pausesOf([100], 0, 3000)).toEqual([{ at: 100, ms: 2900, atEnd: true }]);
    expect(pausesOf([], 500, 3000)).toEqual([{ at: 500, ms: 2500, atEnd: true }]);
  });
});

test('give the time after an event until delivery resumes', () => {
  const pauses = [
    { at: 5000, ms: 16000 },
    { at: 25000, ms: 5000, atEnd: true }
  ];
  expect(wentOnAfter(pauses, 20000)).toBe(1000);
  expect(wentOnAfter(pauses, 22000)).toBe(0);
  expect(wentOnAfter(pauses, 26000)).toBe(Infinity);
  expect(longest(pauses)).toBe(pauses[0]);
  expect(longest([]).ms).toBe(0);
});

test('belong to an event when they last through it, or begin within a second', () => {
  const pauses = [
    { at: 1000, ms: 900 },
    { at: 4900, ms: 300 },
    { at: 5800, ms: 400 },
    { at: 6100, ms: 2000 }
  ];
  expect(around(pauses, 5000)).toBe(pauses[2]);
  expect(around(pauses, 3000).ms).toBe(0);
});

test('list the longest few in the order of time', () => {
  const pauses = [300, 900, 400, 800, 700].map((ms, i) => ({ at: i * 1000, ms }));
  expect(pauseList(pauses, 2)).toBe('0.90 (1.0), 0.80 (3.0)');
  expect(pauseList([{ at: 5000, ms: 25000, atEnd: true }])).toBe('≥ 25.00 (5.0)');
  expect(pauseList([])).toBe('< 0.20');
});

test('show seconds of events that never happened or are unknown', () => {
  expect([1234, Infinity, NaN].map((ms) => seconds(ms))).toEqual(['1.23', 'never', '–']);
});

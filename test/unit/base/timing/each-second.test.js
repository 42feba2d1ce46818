'use strict';

const { eachSecond } = require('../../../../nodes/lib/base/timing/each-second');

beforeEach(() => void jest.useFakeTimers());
afterEach(() => {
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

test('has one timer for all calls, and none without calls', () => {
  /** @type {string[]} */
  const calls = [];
  const ends = ['a', 'b', 'c'].map((name) => eachSecond(() => void calls.push(name)));
  expect(jest.getTimerCount()).toBe(1);
  jest.advanceTimersByTime(1000);
  ends[1]();
  ends[1]();
  jest.advanceTimersByTime(1000);
  expect(calls.join('')).toBe('abcac');
  ends[0]();
  ends[2]();
});

test('lets a call end another call, or itself', () => {
  const other = jest.fn();
  const endFirst = eachSecond(() => {
    endOther();
    endFirst();
  });
  const endOther = eachSecond(other);
  jest.advanceTimersByTime(2000);
  expect(other).not.toHaveBeenCalled();
});

test('makes the other calls if one call throws', () => {
  const faults = jest.fn();
  const other = jest.fn();
  const end = eachSecond(() => {
    throw new Error('broken');
  }, faults);
  const endOther = eachSecond(other);
  jest.advanceTimersByTime(2000);
  expect(faults).toHaveBeenCalledTimes(2);
  expect(other).toHaveBeenCalledTimes(2);
  end();
  endOther();
});

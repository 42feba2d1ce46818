'use strict';

const { eachSecond, hurry, latenessMs, onWake } = require('../../../../nodes/lib/base/timing/each-second');

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

describe('a call that asks for rest', () => {
  /** @param {number} seconds */
  const pass = (seconds) => {
    for (let i = 0; i < seconds; i++) jest.advanceTimersByTime(1000);
  };

  test('skips seconds', () => {
    const first = jest.fn(() => 3);
    const second = jest.fn(() => 1);
    const ends = [eachSecond(first), eachSecond(second)];
    const counts = Array.from({ length: 9 }, () => {
      jest.advanceTimersByTime(1000);
      return [first.mock.calls.length, second.mock.calls.length];
    });
    expect(counts.map(([count]) => count)).toEqual([1, 1, 1, 1, 2, 2, 2, 2, 3]);
    expect(counts.map(([, count]) => count)).toEqual([1, 1, 2, 2, 3, 3, 4, 4, 5]);
    for (const end of ends) end();
  });

  test('leaves the other calls at once a second', () => {
    const other = jest.fn();
    const resting = jest.fn(() => 4);
    const ends = [eachSecond(resting), eachSecond(other)];
    pass(6);
    expect([resting.mock.calls.length, other.mock.calls.length]).toEqual([2, 6]);
    for (const end of ends) end();
  });

  test('runs within a second after hurry(), and after a new call', () => {
    const resting = jest.fn(() => 9);
    const end = eachSecond(resting);
    pass(3);
    hurry();
    pass(1);
    expect(resting).toHaveBeenCalledTimes(2);
    pass(3);
    const endOther = eachSecond(() => {});
    pass(1);
    expect(resting).toHaveBeenCalledTimes(3);
    end();
    endOther();
  });
});

test('reports the delay of each wake-up, and the present one', () => {
  const clock = jest.spyOn(performance, 'now').mockReturnValue(0);
  const late = jest.fn();
  const ends = [onWake(late), eachSecond(() => 4), eachSecond(() => {})];
  for (const now of [1700, 2800]) {
    clock.mockReturnValue(now);
    jest.advanceTimersByTime(1000);
  }
  expect(late.mock.calls).toEqual([[700], [100]]);
  clock.mockReturnValue(4000);
  expect(latenessMs()).toBe(200);
  for (const end of ends) end();
  expect(latenessMs()).toBe(0);
  clock.mockRestore();
});

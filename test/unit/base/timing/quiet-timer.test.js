'use strict';

const { QuietTimer } = require('../../../../nodes/lib/base/timing/quiet-timer');

/** What the look returns. @type {unknown} */
let seen;
const look = jest.fn(() => seen);
const work = jest.fn();
/** @type {QuietTimer} */
let timer;

beforeEach(() => {
  jest.useFakeTimers();
  seen = 7;
  look.mockReset().mockImplementation(() => seen);
  work.mockReset();
  timer = new QuietTimer(look, work);
});
afterEach(() => {
  timer.close();
  jest.useRealTimers();
});

test('works each second, and after three seconds without a change wakes up each third and works each ninth', () => {
  jest.advanceTimersByTime(4000);
  expect(work).toHaveBeenCalledTimes(4);
  const woken = jest.spyOn(global, 'setTimeout');
  jest.advanceTimersByTime(27_000);
  expect(woken).toHaveBeenCalledTimes(9);
  expect(work).toHaveBeenCalledTimes(6);
});

test('works in the second of a look that finds a change, and in the next ones', () => {
  jest.advanceTimersByTime(5000);
  work.mockClear();
  seen = 8;
  jest.advanceTimersByTime(2999);
  expect(work).not.toHaveBeenCalled();
  jest.advanceTimersByTime(3001);
  expect(work).toHaveBeenCalledTimes(4);
});

test('works a second after a stir', () => {
  jest.advanceTimersByTime(5500);
  work.mockClear();
  timer.stir();
  jest.advanceTimersByTime(1000);
  expect(work).toHaveBeenCalledTimes(1);
  jest.advanceTimersByTime(3000);
  expect(work).toHaveBeenCalledTimes(3);
});

test('continues after work that throws', () => {
  work.mockImplementationOnce(() => {
    throw new Error('x');
  });
  expect(() => jest.advanceTimersByTime(1000)).toThrow('x');
  jest.advanceTimersByTime(1000);
  expect(work).toHaveBeenCalledTimes(2);
});

test('ends when its work closes it, and does not wait twice after a stir of its work', () => {
  work.mockImplementation(() => timer.stir());
  jest.advanceTimersByTime(10_000);
  expect(jest.getTimerCount()).toBe(1);
  work.mockImplementation(() => timer.close());
  jest.advanceTimersByTime(10_000);
  expect(jest.getTimerCount()).toBe(0);
});

test('does not begin again when it is stirred after its end', () => {
  jest.advanceTimersByTime(5500);
  timer.close();
  timer.stir();
  expect(jest.getTimerCount()).toBe(0);
});

test('wakes up and works each third second while the load is light', () => {
  timer.close();
  timer = new QuietTimer(
    () => ++seen,
    work,
    () => true
  );
  jest.advanceTimersByTime(4000);
  work.mockClear();
  const woken = jest.spyOn(global, 'setTimeout');
  jest.advanceTimersByTime(30_000);
  expect(work).toHaveBeenCalledTimes(10);
  expect(woken).toHaveBeenCalledTimes(10);
});

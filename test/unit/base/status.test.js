'use strict';

const { Status, shorten, rate } = require('../../../nodes/lib/base/status');

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

function shownBy(act) {
  const texts = [];
  const status = new Status({ status: ({ text }) => texts.push(text) });
  act(status);
  return texts;
}

const green = (text) => ({ fill: 'green', shape: 'dot', text });

test('shows the first status at once', () => {
  expect(shownBy((status) => status.set(green('a')))).toEqual(['a']);
});

test('shows only the latest status of a second, when the second is over', () => {
  const texts = shownBy((status) => {
    for (const text of ['a', 'b', 'c']) status.set(green(text));
    jest.advanceTimersByTime(999);
  });
  expect(texts).toEqual(['a']);
  jest.advanceTimersByTime(1);
  expect(texts).toEqual(['a', 'c']);
});

test('does not send the same status again', () => {
  const texts = shownBy((status) => {
    for (let second = 0; second < 5; second++) {
      status.set(green('a'));
      jest.advanceTimersByTime(1000);
    }
  });
  expect(texts).toEqual(['a']);
});

test('does not send a status that was restored within the second', () => {
  const texts = shownBy((status) => {
    status.set(green('a'));
    status.set(green('b'));
    status.set(green('a'));
    jest.advanceTimersByTime(5000);
  });
  expect(texts).toEqual(['a']);
});

test('shows nothing after close', () => {
  const texts = shownBy((status) => {
    status.set(green('a'));
    status.set(green('b'));
    status.close();
    jest.advanceTimersByTime(5000);
    // A thread that ends reports its last state.
    status.red('The series are closed.');
    jest.advanceTimersByTime(5000);
  });
  expect(texts).toEqual(['a']);
});

test('cuts a text to the length that the canvas shows, but keeps its tail', () => {
  expect(shorten('x'.repeat(48))).toHaveLength(48);
  expect(shorten('x'.repeat(49))).toBe(`${'x'.repeat(47)}…`);
  expect(shorten('x'.repeat(49), ' · 12.3 k kept')).toBe(`${'x'.repeat(33)}… · 12.3 k kept`);
});

test.each([
  [0, '0'],
  [0.4, '0'],
  [640.4, '640'],
  [9999, '9999'],
  [9999.5, '10.0 k'],
  [96000, '96.0 k'],
  [1200000, '1.2 M']
])('shows %p a second as %p', (value, text) => expect(rate(value)).toBe(text));

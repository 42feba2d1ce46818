'use strict';

const { Owed } = require('../../../nodes/lib/shadow/owed');

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('tries a failed device again after another one was added again during its own try', async () => {
  /** Calls of each device, with what ends them. @type {Map<string, ((isDone: boolean) => void)[]>} */
  const calls = new Map();
  const owed = new Owed(
    (device) => new Promise((end) => calls.set(device, [...(calls.get(device) ?? []), end]))
  );
  /** @param {string} device @param {boolean} isDone */
  const end = async (device, isDone) => {
    calls.get(device)?.at(-1)?.(isDone);
    await jest.advanceTimersByTimeAsync(0);
  };
  for (const device of ['a', 'b']) owed.add(device);
  for (const device of ['a', 'b']) await end(device, false);
  await jest.advanceTimersByTimeAsync(10000);
  expect([calls.get('a')?.length, calls.get('b')?.length]).toEqual([2, 1]);
  // Too many others are derived, so that the device waits for a second try of its own.
  for (let i = 0; i < 1000; i++) owed.add(`other-${i}`);
  owed.add('a');
  await end('a', false);
  for (let i = 0; i < 1000; i++) await end(`other-${i}`, true);
  await end('a', true);
  expect(calls.get('a')).toHaveLength(3);
  await jest.advanceTimersByTimeAsync(10000);
  expect(calls.get('b')).toHaveLength(2);
  owed.close();
});

'use strict';

const { Worker } = require('node:worker_threads');
const { compactAgain, compactWhenIdle } = require('../../../nodes/lib/base/compact-heap');

/** CPU time of the process so far, µs. */
let used = 0;
/** @type {jest.Mock<void, []>} */
let compact;

beforeEach(() => {
  jest.useFakeTimers();
  used = 1_000_000;
  compact = jest.fn();
  jest
    .spyOn(process, 'cpuUsage')
    .mockImplementation((before) => ({ user: used - (before?.user ?? 0), system: 0 }));
  compactWhenIdle(compact);
});

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

/** @param {number} ms @param {number} cores that the process takes meanwhile */
function pass(ms, cores) {
  used += ms * 1000 * cores;
  jest.advanceTimersByTime(ms);
}

test('waits while the process works', () => {
  pass(10_000, 0.9);
  pass(10_000, 0.1);
  expect(compact).not.toHaveBeenCalled();
  pass(10_000, 0.01);
  expect(compact).toHaveBeenCalledTimes(1);
});

test('compacts once', () => {
  for (let i = 0; i < 10; i++) pass(10_000, 0.001);
  expect(compact).toHaveBeenCalledTimes(1);
  expect(jest.getTimerCount()).toBe(0);
});

test('compacts again after a thread requests it, when the process is idle again', async () => {
  pass(10_000, 0.001);
  await toldAgain();
  pass(10_000, 0.5);
  expect(compact).toHaveBeenCalledTimes(1);
  pass(10_000, 0.001);
  expect(compact).toHaveBeenCalledTimes(2);
  for (let i = 0; i < 10; i++) pass(10_000, 0.001);
  expect(compact).toHaveBeenCalledTimes(2);
});

/** Returns when the message has arrived: the looks are counted by a timer of its receiver. */
async function toldAgain() {
  compactAgain();
  while (jest.getTimerCount() === 0)
    await new Promise((resolve) => jest.requireActual('node:timers').setImmediate(resolve));
}

test('reaches the other threads without loading modules there', async () => {
  const file = require.resolve('../../../nodes/lib/base/compact-heap');
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
    const { setInterval: start } = globalThis;
    let timers = 0;
    globalThis.setInterval = (...args) => {
      if (++timers === 2)
        setImmediate(() => parentPort.postMessage(process.moduleLoadList.filter((name) => !before.has(name))));
      return start(...args);
    };
    require(${JSON.stringify(file)}).compactWhenIdle(() => {});
    const before = new Set(process.moduleLoadList);
    parentPort.postMessage('ready');
    parentPort.once('message', () => {});`,
    { eval: true }
  );
  const next = () => new Promise((resolve) => worker.once('message', resolve));
  try {
    expect(await next()).toBe('ready');
    const told = next();
    compactAgain();
    expect(await told).toEqual([]);
  } finally {
    await worker.terminate();
  }
});

test('does not take the time in which the process was stopped for idleness', () => {
  const now = jest.spyOn(performance, 'now');
  now.mockReturnValue(performance.now() + 10_500);
  pass(10_000, 0.001);
  expect(compact).not.toHaveBeenCalled();
  now.mockRestore();
});

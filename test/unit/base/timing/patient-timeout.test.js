'use strict';

const { patientTimeout } = require('../../../../nodes/lib/base/timing/patient-timeout');
const { HandshakeLimit } = require('../../../../nodes/lib/tls/handshake-limit');

/** Blocks this thread. @param {number} ms */
const standStill = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** @param {number} ms */
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test('calls after the time, once', async () => {
  const run = jest.fn();
  patientTimeout(run, 1);
  const end = patientTimeout(run, 1);
  end();
  end();
  await wait(50);
  expect(run).toHaveBeenCalledTimes(1);
});

test('gives the time once more to a peer whose answer came while the thread stood still', async () => {
  const run = jest.fn();
  const end = patientTimeout(run, 100);
  standStill(1200);
  await wait(1);
  expect(run).not.toHaveBeenCalled();
  await wait(1000);
  expect(run).toHaveBeenCalledTimes(1);
  end();
});

test('keeps the handshake of a device that goes on after the thread stood still', async () => {
  const limit = new HandshakeLimit({ maxConnections: 1, maxHalfOpen: 1, handshakeTimeoutMs: 100 });
  const end = jest.fn();
  const pass = limit.enter(end);
  standStill(1200);
  await wait(1);
  expect(limit.opened(pass)).toBe(true);
  expect(end).not.toHaveBeenCalled();
  limit.leave(pass);
});

'use strict';
// What a service manager hears, with a clock and a socket of the test.

const { stalledWorker, STILL_MS } = require('../../../flows/service/progress');
const { ServiceManager, takeManager } = require('../../../flows/service/service-manager');

describe('takeManager', () => {
  test('takes the variables out of the environment, so that no child speaks for the gateway', () => {
    const env = { NOTIFY_SOCKET: '/run/n', WATCHDOG_USEC: '30000000', WATCHDOG_PID: '7', PATH: '/bin' };
    expect(takeManager(env, 7)).toEqual({ socket: '/run/n', watchdogMs: 30000 });
    expect(env).toEqual({ PATH: '/bin' });
  });

  test.each([
    ['no socket', { WATCHDOG_USEC: '1' }, null],
    ['no watchdog', { NOTIFY_SOCKET: '@n' }, { socket: '@n', watchdogMs: 0 }],
    [
      "another process's watchdog",
      { NOTIFY_SOCKET: '@n', WATCHDOG_USEC: '9000000', WATCHDOG_PID: '8' },
      { socket: '@n', watchdogMs: 0 }
    ],
    [
      'a watchdog time that is no number',
      { NOTIFY_SOCKET: '@n', WATCHDOG_USEC: 'x' },
      { socket: '@n', watchdogMs: 0 }
    ]
  ])('reads %s', (_what, env, manager) => {
    expect(takeManager(env, 7)).toEqual(manager);
  });
});

test('names a worker that stands still, but none that is starting', () => {
  const read = (/** @type {number[]} */ ...silentMs) => stalledWorker([{ name: 'e', silentMs }]);
  expect([read(), read(-1, 0), read(STILL_MS, STILL_MS)]).toEqual(['', '', '']);
  expect(read(0, STILL_MS + 1)).toBe('Worker 1 of the engine e makes no progress.');
});

describe('ServiceManager', () => {
  /** @type {string[]} */
  let sent;
  /** @type {string[]} */
  let reports;
  let silent, status, failure;
  const make = (watchdogMs = 6000) =>
    new ServiceManager(
      { socket: '@n', watchdogMs },
      {
        send: (address, message) => {
          expect(address).toBe('@n');
          if (failure) throw new Error(failure);
          sent.push(message);
        },
        report: (sentence) => reports.push(sentence),
        read: () => ({ engines: [{ name: 'e', silentMs: [silent] }], status })
      }
    );
  beforeEach(() => {
    sent = [];
    reports = [];
    [silent, status, failure] = [0, 'ok', ''];
  });

  test('reports ready once, and its status in one line', () => {
    const service = make();
    status = 'degraded: a\nb';
    service.ready();
    service.ready();
    expect(sent).toEqual(['READY=1\nSTATUS=degraded: a b']);
  });

  test('sends the watchdog only while the workers make progress, and says why it stopped', () => {
    const service = make();
    service.ready();
    service.tick();
    silent = 2001;
    service.tick();
    service.tick();
    silent = 3;
    service.tick();
    const still = 'Worker 0 of the engine e makes no progress.';
    expect(sent.slice(1)).toEqual(['WATCHDOG=1', `STATUS=${still}`, 'WATCHDOG=1\nSTATUS=ok']);
    expect(reports).toEqual([still]);
  });

  test('sends no watchdog message unless requested', () => {
    const service = make(0);
    service.ready();
    service.tick();
    status = 'degraded';
    service.tick();
    expect(sent.slice(1)).toEqual(['STATUS=degraded']);
  });

  test('keeps the watchdog alive while it stops, and is never ready after that', () => {
    const service = make();
    service.stopping();
    service.stopping();
    service.ready();
    service.tick();
    expect(sent).toEqual(['STOPPING=1\nSTATUS=stopping: delivering held records', 'WATCHDOG=1']);
  });

  test('survives a socket that fails, and reports it once', () => {
    const service = make();
    failure = 'ECONNREFUSED';
    service.ready();
    service.tick();
    service.tick();
    expect(reports).toEqual(['The service manager cannot be notified: ECONNREFUSED.']);
  });

  test('warns about a watchdog time that a working gateway cannot keep', () => {
    make(2999);
    make(3000);
    expect(reports).toEqual([expect.stringMatching(/shorter than 3 s/)]);
  });
});

'use strict';
// The pace at which an engine's figures are read, under a load of records that the test sets.

const { hurry } = require('../../../nodes/lib/base/timing/each-second');
const { Commands } = require('../../../nodes/lib/commands');
const { Upkeep } = require('../../../nodes/lib/engine/upkeep');

const zeros = [0, 0, 0, 0, 0, 0, 0, 0, 0];

/** Records that come in a second. */
let perS = 0;
/** @type {Upkeep} */
let upkeep;
/** @type {jest.Mock} */
let stats;
/** Of an engine whose devices do not answer. @type {Commands} */
let commands;

beforeEach(() => {
  jest.useFakeTimers();
  perS = 0;
  let received = 0;
  const counting = setInterval(() => (received += perS), 1000);
  counting.unref();
  stats = jest.fn(() => ({
    stages: [],
    counters: { recordsReceived: received, recordsPushed: 0 },
    heldBytes: 0,
    heldRecords: zeros,
    storedRecords: zeros,
    backlogRecords: zeros,
    deliveredRecords: zeros,
    drops: {},
    workers: []
  }));
  /** @type {any} */
  const engine = { command: () => 0, takeCommandResults: () => [] };
  /** @type {any} */
  const store = { load: () => [], add: (_, done) => done(null, 1), remove() {}, flush() {}, close() {} };
  commands = new Commands({ engine, directory: '', store, began: hurry, warn() {} });
  /** @type {any} */
  const host = {
    engine: { stats, fingerprint: () => received },
    members: [],
    plan: {},
    uplinks: { tenants: null, links: new Map(), allConnected: true },
    commands,
    deliveries: { size: 0, tick() {} }
  };
  upkeep = new Upkeep(host, {
    bells: [() => commands.ring()],
    judge() {},
    releaseMemory() {},
    releaseProgramPages() {},
    onFault(error) {
      throw error;
    },
    warn() {}
  });
  host.upkeep = upkeep;
});

afterEach(() => {
  upkeep.close();
  commands.close();
  jest.useRealTimers();
});

/** @param {number} seconds @param {() => void} [each] @returns {number} readings of the figures meanwhile */
function readings(seconds, each = () => {}) {
  const before = stats.mock.calls.length;
  for (let second = 0; second < seconds; second++) {
    jest.advanceTimersByTime(1000);
    each();
  }
  return stats.mock.calls.length - before;
}

test('reads the figures each third second while few records come, although messages of a tap ring', () => {
  perS = 640;
  readings(20);
  expect(readings(30, () => upkeep.ring())).toBe(10);
  expect(upkeep.rates.counters.recordsReceived).toBeGreaterThan(600);
});

test('reads them each second while many records come', () => {
  perS = 5000;
  readings(20);
  expect(readings(30)).toBe(30);
});

test('reads them each second while a viewer looks, and for some seconds after that', () => {
  perS = 640;
  readings(20);
  expect(readings(30, () => upkeep.watched())).toBeGreaterThanOrEqual(28);
  readings(10);
  expect(readings(30)).toBe(10);
});

test('reads them in the seconds after a ring in silence', () => {
  readings(20);
  upkeep.ring();
  expect(readings(3)).toBe(3);
});

test.each([20, 21, 22])('stores a command in time that comes in second %i of a light load', (second) => {
  perS = 640;
  readings(second);
  const watch = jest.fn();
  commands.send({ device: 'd', topic: 'cmd/d', payload: Buffer.from('1'), qos: 1 }, watch);
  readings(2);
  expect(watch).toHaveBeenCalledWith('queued', 'The device has not acknowledged the command yet.');
});

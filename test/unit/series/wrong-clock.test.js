'use strict';
// A clock that was ahead for hours must not keep the points of the present out.

const { HOUR_MS, Rig, START } = require('../../fixtures/series/series-rig');

const DAY_MS = 24 * HOUR_MS;
/** @type {Rig} */
let at;
beforeEach(() => {
  at = new Rig({ days: 30 });
});
afterEach(() => at.remove());

test.each([
  ['is set right', false],
  ['is set right while the gateway is off', true]
])(
  'takes points again when a clock that was ahead for hours %s, and keeps the means',
  async (_how, isOff) => {
    at.put({ temp: 1 });
    at.pass(2 * HOUR_MS);
    at.store.flush(true);
    at.store.retention.runAll();
    at.now += 300 * DAY_MS;
    at.store.retention.runAll();
    at.pass(2 * HOUR_MS);
    at.store.retention.runAll();
    expect(await at.rows()).toHaveLength(0);
    at.now -= 300 * DAY_MS;
    if (isOff) at.reopen();
    const time = at.now;
    at.put({ temp: 2 });
    at.store.retention.runAll();
    at.pass(HOUR_MS);
    at.store.retention.runAll();
    expect(at.store.counters.old).toBe(0);
    expect(at.problems.join()).toMatch(/Points up to 2027-08-20 have expired, .* a clock was wrong/);
    const { length } = at.problems;
    at.reopen();
    at.put({ temp: 3 }, time + 1);
    expect([...(await at.rows())]).toEqual([
      [time, 2],
      [time + 1, 3]
    ]);
    at.put({ temp: 9 }, START + 1000);
    at.pass(2 * HOUR_MS);
    at.store.flush(true);
    at.store.retention.runAll();
    const { columns } = await at.rows({ step: HOUR_MS });
    expect(columns).toMatchObject({ ts: [START, time], value: [1, 2.5], count: [1, 2] });
    // Its hour has only a mean.
    expect(at.store.counters.old).toBe(1);
    expect(at.problems).toHaveLength(length);
  }
);

describe('a clock that is not set yet', () => {
  const keptFrom = () => at.store.writable.meta('keptFrom');
  /** Hours that have expired. @type {number} */
  let expired;
  /** When the gateway was turned off. @type {number} */
  let off;
  beforeEach(() => {
    at.put({ temp: 1 });
    at.pass(2 * HOUR_MS);
    at.store.flush(true);
    at.store.retention.runAll();
    at.pass(31 * DAY_MS);
    at.store.retention.runAll();
    expired = keptFrom();
    expect(expired).toBeGreaterThan(START);
    off = at.now;
    at.put({ temp: 2 });
    at.now = 1000;
    at.crash();
  });

  test('changes nothing of what has expired, also after a second start', async () => {
    expect(keptFrom()).toBe(expired);
    at.put({ temp: 3 });
    at.pass(600000);
    at.store.retention.runAll();
    at.reopen();
    at.store.retention.runAll();
    expect(keptFrom()).toBe(expired);
    at.now = off + 2 * HOUR_MS;
    at.store.retention.runAll();
    expect(keptFrom()).toBe(expired);
    expect(at.problems.join()).not.toMatch('have expired');
    // The point of 1970.
    expect(at.store.counters.old).toBe(1);
    expect([...(await at.rows())]).toEqual([[off, 2]]);
    at.put({ temp: 4 }, START);
    expect(at.store.counters.old).toBe(2);
  });

  test('is believed after an hour', () => {
    at.pass(HOUR_MS + 60000);
    at.store.retention.runAll();
    expect(at.problems.join()).toMatch(/have expired, which is ahead of the gateway's clock/);
    expect(keptFrom()).toBe(0);
  });
});

test('points of the present are kept while the time up to which points have expired is ahead', async () => {
  at.now += 300 * DAY_MS;
  at.put({ temp: 1 });
  at.pass(31 * DAY_MS);
  at.store.flush(true);
  at.store.retention.runAll();
  at.now = START;
  at.reopen();
  at.put({ temp: 2 });
  at.crash();
  at.store.flush(true);
  at.pass(1800000);
  at.put({ temp: 3 });
  at.store.flush(true);
  at.pass(1800000 - 60000);
  at.now += HOUR_MS / 2;
  at.store.retention.runAll();
  expect(at.store.retention.counters.hours).toBe(1);
  expect([...(await at.rows())]).toEqual([
    [START, 2],
    [START + 1800000, 3]
  ]);
});

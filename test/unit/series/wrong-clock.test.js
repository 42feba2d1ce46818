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
    expect(at.store.counters.old).toBe(0);
    at.store.retention.runAll();
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
    expect(at.problems).toHaveLength(length);
  }
);

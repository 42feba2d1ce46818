'use strict';

// The choice of a session's URL, without sessions: a clock of the test, and seeded jitter.

const { seeded } = require('../../fixtures/random');
const { UrlChoice } = require('../../../nodes/lib/uplink/urls/url-choice');

const TIMES = { reconnectMinMs: 500, reconnectMaxMs: 5000, refusedMinMs: 30000, refusedMaxMs: 300000 };
const DEAD = { code: 'ECONNREFUSED', reason: '', refused: false };
const REFUSED = { code: 'CONNACK 135', reason: '', refused: true, slow: true };

/** @param {number} count of URLs @param {object} [more] */
function make(count, more = {}) {
  const clock = { now: 0 };
  const addresses = Array.from({ length: count }, (_, i) => ({ host: `h${i}`, port: 1, secure: true }));
  const choice = new UrlChoice(addresses, { ...TIMES, now: () => clock.now, random: () => 1, ...more });
  return { choice, clock };
}

/** Makes a session that lasted at a URL. */
function settled(count, index) {
  const made = make(count);
  while (made.choice.index !== index) made.choice.failed(DEAD);
  made.choice.accepted();
  made.choice.connected();
  made.choice.lasted();
  return made;
}

test('tries each URL once, in the order of priority and at once, and then waits', () => {
  const { choice } = make(3);
  expect(choice.index).toBe(0);
  expect([choice.failed(DEAD), choice.index]).toEqual([0, 1]);
  expect([choice.failed(REFUSED), choice.index]).toEqual([0, 2]);
  expect([choice.failed(DEAD), choice.index]).toEqual([500, 0]);
});

test('begins a round at the top after a failure of a later URL', () => {
  const { choice } = settled(3, 1);
  expect([choice.failed(DEAD), choice.index]).toEqual([0, 0]);
  expect([choice.failed(DEAD), choice.index]).toEqual([0, 2]);
});

test('stays with a URL whose connection was lost without its fault', () => {
  const { choice } = settled(3, 1);
  expect([choice.lost(), choice.index]).toEqual([500, 1]);
  expect([choice.lost(), choice.index]).toEqual([1000, 1]);
});

test('backs off for each URL on its own: one that refuses the login does not delay the other', () => {
  const { choice, clock } = make(2);
  choice.failed(REFUSED);
  const waits = [];
  for (let i = 0; i < 6; i++) {
    const wait = choice.failed(DEAD);
    expect(choice.index).toBe(1);
    waits.push(wait);
    clock.now += wait;
  }
  expect(waits).toEqual([500, 1000, 2000, 4000, 5000, 5000]);
  clock.now = 30001;
  expect([choice.failed(DEAD), choice.index]).toEqual([0, 0]);
});

test('takes the first URL first when the network returns, because no URL was to blame', () => {
  const seed = Date.now() % 2 ** 31;
  const random = seeded(seed);
  const { choice, clock } = make(3, { random: random.next });
  const order = [];
  for (let i = 0; i < 300; i++) {
    order.push(choice.index);
    clock.now += choice.failed(DEAD);
  }
  const rounds = Array.from({ length: 100 }, (_, i) => order.slice(3 * i, 3 * i + 3).join(''));
  expect({ seed, rounds: [...new Set(rounds)] }).toEqual({ seed, rounds: ['012'] });
});

test('never waits longer than the longest back-off, and tries every URL again and again', () => {
  const seed = Date.now() % 2 ** 31;
  const random = seeded(seed);
  for (let run = 0; run < 50; run++) {
    const { choice, clock } = make(1 + random.integer(8), { random: random.next });
    const count = choice.hasSeveral ? 200 : 20;
    const tried = new Map();
    for (let i = 0; i < count; i++) {
      tried.set(choice.index, (tried.get(choice.index) ?? 0) + 1);
      const wait =
        random.integer(4) === 0 ? choice.lost() : choice.failed(random.integer(5) ? DEAD : REFUSED);
      expect({ seed, wait, ok: wait >= 0 && wait <= TIMES.refusedMaxMs }).toMatchObject({ seed, ok: true });
      clock.now += wait + random.integer(3000);
    }
    expect(Math.min(...tried.values())).toBeGreaterThan(0);
  }
});

test('gives a URL less time to answer while another one is left to try', () => {
  const { choice } = make(2);
  expect(choice.limitMs(15000)).toBe(5000);
  choice.failed(DEAD);
  expect(choice.limitMs(15000)).toBe(15000);
  expect(make(1).choice.limitMs(15000)).toBe(15000);
});

test('goes back to the URL that it left if the one it was sent to fails', () => {
  const { choice, clock } = settled(3, 2);
  clock.now = 100;
  choice.goTo(1);
  expect(choice.index).toBe(1);
  expect([choice.failed(DEAD), choice.index]).toEqual([0, 2]);
  expect([choice.failed(DEAD), choice.index]).toEqual([0, 0]);
});

test('follows: it stays, whatever fails, until it is sent elsewhere', () => {
  const failures = [];
  const { choice } = make(2, { follows: true, onFailed: (index, { code }) => failures.push([index, code]) });
  expect(choice.limitMs(15000)).toBe(15000);
  expect([choice.failed(DEAD), choice.index]).toEqual([500, 0]);
  expect([choice.failed(REFUSED), choice.index]).toEqual([30000, 0]);
  choice.goTo(1);
  expect([choice.failed(DEAD), choice.index]).toEqual([500, 1]);
  expect(failures).toEqual([
    [0, 'ECONNREFUSED'],
    [0, 'CONNACK 135'],
    [1, 'ECONNREFUSED']
  ]);
});

test('with one URL it behaves as a back-off', () => {
  const { choice } = make(1);
  expect([choice.failed(DEAD), choice.failed(DEAD), choice.lost(), choice.failed(REFUSED)]).toEqual([
    500, 1000, 2000, 30000
  ]);
  choice.lasted();
  expect([choice.failed(DEAD), choice.failed(REFUSED)]).toEqual([500, 60000]);
  choice.accepted();
  expect(choice.failed(REFUSED)).toBe(30000);
});

'use strict';

const { StallWatch } = require('../../../../nodes/lib/uplink/sending/stall-watch');

const SECOND = 1000;

/** A session whose state the test sets. */
function session() {
  const state = { waiting: /** @type {any} */ (null), moved: 0, isPausing: false, at: 0 };
  const done = { wakes: 0, renewals: 0, problems: /** @type {string[]} */ ([]) };
  const watch = new StallWatch({
    waiting: () => state.waiting,
    isPausing: () => state.isPausing,
    activity: () => state.moved,
    wake: () => done.wakes++,
    renew: () => done.renewals++,
    now: () => state.at,
    problem: (code, reason) => done.problems.push(`${code} ${reason}`)
  });
  /** @param {number} seconds */
  const wait = (seconds) => {
    for (let i = 0; i < seconds; i++) {
      state.at += SECOND;
      watch.check();
    }
  };
  return { state, done, watch, wait };
}

test('wakes everybody when records wait for five seconds and nothing moves', () => {
  const { state, done, watch, wait } = session();
  wait(60);
  expect(watch.isAlert).toBe(false);
  state.waiting = 'log';
  wait(5);
  expect(done.wakes).toBe(0);
  expect(watch.isAlert).toBe(true);
  wait(1);
  expect(done.wakes).toBe(1);
  expect(watch.count).toBe(1);
  expect(done.problems).toEqual([
    expect.stringMatching(/^STALL Records that wait on disk did not move for 5 s/)
  ]);
  expect(watch.isRepeating).toBe(false);
});

test('is silent while something moves, and while nothing waits', () => {
  const { state, done, wait } = session();
  state.waiting = 'live';
  for (let i = 0; i < 60; i++) {
    state.moved++;
    wait(4);
  }
  state.waiting = null;
  wait(60);
  expect(done.wakes).toBe(0);
});

test('leaves a session alone that pauses for a reason, but not for longer than two minutes', () => {
  const { state, done, wait } = session();
  Object.assign(state, { waiting: 'taken', isPausing: true });
  wait(119);
  expect(done.wakes).toBe(0);
  wait(2);
  expect(done.wakes).toBe(1);
});

test('repeats when a second stall follows within ten minutes, and until ten minutes passed without one', () => {
  const { state, watch, wait } = session();
  state.waiting = 'backlog';
  wait(6);
  state.moved++;
  expect(watch.isRepeating).toBe(false);
  wait(300);
  expect(watch.isRepeating).toBe(true);
  state.waiting = null;
  wait(590);
  expect(watch.isRepeating).toBe(true);
  wait(11);
  expect(watch.isRepeating).toBe(false);
  state.waiting = 'backlog';
  wait(6);
  expect(watch.isRepeating).toBe(false);
});

test.each(['live', 'backlog', 'taken'])('makes the session again after three wake-ups: %s', (waiting) => {
  const { state, done, wait } = session();
  state.waiting = waiting;
  wait(11);
  expect(done.renewals).toBe(0);
  wait(5);
  expect(done).toMatchObject({ wakes: 3, renewals: 1 });
});

test('does not make the session again for a disk that does not answer', () => {
  const { state, done, wait } = session();
  state.waiting = 'log';
  wait(60);
  expect(done.wakes).toBeGreaterThan(9);
  expect(done.renewals).toBe(0);
});

'use strict';

const { Starts, LEAST_CLASS } = require('../../../docker/tenants/lib/life/tenant/starts');

/** @param {import('../../../docker/tenants/lib/life/tenant/starts').Turn} turn */
async function isGranted(turn) {
  const granted = turn.granted.then(() => true);
  return Promise.race([granted, new Promise((resolve) => setImmediate(() => resolve(false)))]);
}

describe('starts at once', () => {
  test('wait in order of their class, then of their arrival', async () => {
    const starts = new Starts(1);
    const first = starts.take(5);
    const [second, third, urgent] = [starts.take(5), starts.take(5), starts.take(3)];
    expect(await isGranted(first)).toBe(true);
    expect(await isGranted(urgent)).toBe(false);
    expect(starts.waiting).toBe(3);
    for (const [ends, next] of [
      [first, urgent],
      [urgent, second],
      [second, third]
    ]) {
      ends.end();
      expect(await isGranted(next)).toBe(true);
    }
  });

  test('are one more for class 1, and not two', async () => {
    const starts = new Starts(2);
    const others = [starts.take(LEAST_CLASS), starts.take(2), starts.take(2)];
    const [alarm, another] = [starts.take(1), starts.take(1)];
    expect(await isGranted(alarm)).toBe(true);
    expect(await isGranted(another)).toBe(false);
    expect(await isGranted(others[2])).toBe(false);
    // The extra place is for class 1 again, and one of the others has to wait until two run.
    others[0].end();
    expect(await isGranted(another)).toBe(true);
    expect(await isGranted(others[2])).toBe(false);
    alarm.end();
    expect(await isGranted(others[2])).toBe(false);
    another.end();
    expect(await isGranted(others[2])).toBe(true);
  });

  test('begin at once when a waiting one becomes urgent', async () => {
    const starts = new Starts(1);
    const [first, second] = [starts.take(4), starts.take(4)];
    expect(await isGranted(first)).toBe(true);
    expect(await isGranted(second)).toBe(false);
    second.urge(1);
    expect(await isGranted(second)).toBe(true);
  });

  test('pass over one that gave up', async () => {
    const starts = new Starts(1);
    const [first, second, third] = [starts.take(4), starts.take(4), starts.take(4)];
    second.giveUp();
    await expect(second.granted).rejects.toThrow('given up');
    first.giveUp(); // has begun
    expect(await isGranted(third)).toBe(false);
    first.end();
    first.end();
    expect(await isGranted(third)).toBe(true);
    expect(starts.waiting).toBe(0);
  });
});

'use strict';
// Commits of questions: few for many, also when the disk is slow, full, or fails.

const { DemandStore } = require('../../../nodes/lib/demand/demand-store');

/** @type {{ changes: any[], done: (error: Error | null) => void }[]} */
let commits;
/** @type {DemandStore} */
let store;
beforeEach(() => {
  jest.useFakeTimers();
  commits = [];
  store = new DemandStore({
    load: () => ({ questions: [], restores: [] }),
    write: (changes, done) => void commits.push({ changes, done }),
    close: () => {}
  });
});
afterEach(() => jest.useRealTimers());

const put = (device, restore = null) =>
  store.put({ device, by: 'ann', everyMs: 100, forMs: 1000, endsAt: 2000 }, restore);
const namesOf = ({ changes }) => changes.map(({ name, values }) => `${name} ${values[0]}`);

test('commits all that comes during a commit, or soon after one, at once', async () => {
  const answered = [];
  for (let i = 0; i < 3; i++) void put(`d${i}`).then(() => answered.push(i));
  await jest.advanceTimersByTimeAsync(0);
  expect(commits.map(namesOf)).toEqual([['putQuestion d0', 'putQuestion d1', 'putQuestion d2']]);
  for (let i = 3; i < 500; i++) void put(`d${i}`).then(() => answered.push(i));
  await jest.advanceTimersByTimeAsync(2000);
  expect([commits.length, answered]).toEqual([1, []]);
  commits[0].done(null);
  await jest.advanceTimersByTimeAsync(0);
  expect([commits.length, commits[1].changes.length, answered]).toEqual([2, 497, [0, 1, 2]]);
  commits[1].done(null);
  store.restored('d1');
  await jest.advanceTimersByTimeAsync(49);
  expect([commits.length, answered.length]).toEqual([2, 500]);
  await jest.advanceTimersByTimeAsync(1);
  expect(namesOf(commits[2])).toEqual(['removeRestore d1']);
  commits[2].done(null);
  expect(jest.getTimerCount()).toBe(0);
});

test('writes the restore in the commit of its question', async () => {
  void put('a', { device: 'a', topic: 'cmd/a/rate', payload: Buffer.from('0'), since: 5 });
  await jest.advanceTimersByTimeAsync(0);
  expect(namesOf(commits[0])).toEqual(['putRestore a', 'putQuestion a']);
});

test('rejects the questions of a commit that failed, and tries its removals again, in their order', async () => {
  store.remove('a', 'ann');
  store.restored('a');
  const asked = put('b').catch(({ message }) => message);
  await jest.advanceTimersByTimeAsync(0);
  commits[0].done(new Error('disk full'));
  expect(await asked).toBe('disk full');
  void put('a');
  await jest.advanceTimersByTimeAsync(50);
  expect(namesOf(commits[1])).toEqual(['removeQuestion a', 'removeRestore a', 'putQuestion a']);
});

test('tries removals again by itself after a second, and not more often', async () => {
  store.remove('a', 'ann');
  await jest.advanceTimersByTimeAsync(0);
  for (const tries of [1, 2]) {
    commits[tries - 1].done(new Error('disk full'));
    await jest.advanceTimersByTimeAsync(999);
    expect(commits).toHaveLength(tries);
    await jest.advanceTimersByTimeAsync(1);
    expect(commits).toHaveLength(tries + 1);
  }
  commits[2].done(null);
  expect(jest.getTimerCount()).toBe(0);
});

test('is full with 4,096 changes that wait or are under way, until the disk has taken them', async () => {
  for (let i = 0; i < 4000; i++) void put(`d${i}`);
  await jest.advanceTimersByTimeAsync(0);
  for (let i = 0; i < 95; i++) void put(`e${i}`);
  expect(store.isFull).toBe(false);
  void put('f');
  expect(store.isFull).toBe(true);
  commits[0].done(null);
  expect(store.isFull).toBe(false);
});

test('gives what waits to the writer when it is closed, also during a commit', async () => {
  void put('a');
  await jest.advanceTimersByTimeAsync(0);
  const last = put('b');
  const closed = store.close();
  expect(commits.map(namesOf)).toEqual([['putQuestion a'], ['putQuestion b']]);
  for (const { done } of commits) done(null);
  await Promise.all([last, closed]);
  expect(jest.getTimerCount()).toBe(0);
});

test('writes everything again after the file was lost, before what came since, until a commit has it', async () => {
  const question = { device: 'a', by: 'ann', everyMs: 100, forMs: 1000, endsAt: 2000 };
  const restore = { device: 'a', topic: 'cmd/a/rate', payload: Buffer.from('0'), since: 5 };
  store.contents = () => ({ questions: [question], restores: [restore] });
  const asked = put('b').catch(({ message }) => message);
  await jest.advanceTimersByTimeAsync(0);
  commits[0].done(Object.assign(new Error('damaged'), { isLost: true }));
  expect(await asked).toBe('damaged');
  const all = ['putRestore a', 'putQuestion a'];
  await jest.advanceTimersByTimeAsync(1000);
  expect(namesOf(commits[1])).toEqual(all);
  void put('c').catch(() => {});
  await jest.advanceTimersByTimeAsync(2000);
  expect(commits).toHaveLength(2);
  commits[1].done(new Error('disk full'));
  await jest.advanceTimersByTimeAsync(50);
  expect(namesOf(commits[2])).toEqual([...all, 'putQuestion c']);
  commits[2].done(null);
  await jest.advanceTimersByTimeAsync(2000);
  expect([commits.length, jest.getTimerCount()]).toEqual([3, 0]);
});

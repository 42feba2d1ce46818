'use strict';

const { NetworkWatch } = require('../../../nodes/lib/engine/network-watch');

const bad = { interface: 'wwan0', ok: false, kind: 'fq_codel', reason: 'One queue for all.', bands: [] };
const session = (localAddress, state = 'connected') => ({ state, localAddress });

/** A watch that gets these views in sequence, the last one repeatedly. */
function watchWith(...views) {
  const seen = { asked: [], logged: [], views: [] };
  const check = async (address) => {
    seen.asked.push(address);
    const view = views.length > 1 ? views.shift() : views[0];
    if (view instanceof Error) throw view;
    return view;
  };
  const changed = (view) => seen.views.push(view);
  return {
    ...seen,
    watch: new NetworkWatch({ check, changed, warn: (sentence) => seen.logged.push(sentence) })
  };
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());
const settle = () => jest.advanceTimersByTimeAsync(0);

test('inspects when a session connects, and each minute after that', async () => {
  const { watch, asked } = watchWith(bad);
  watch.follow({ state: 'connecting', sessions: [session('', 'connecting'), session('', 'connecting')] });
  await settle();
  expect(asked).toEqual([]);
  const sessions = [session('10.0.0.1'), session('', 'connecting')];
  watch.follow({ state: 'connecting', sessions });
  watch.follow({ state: 'connecting', sessions });
  await settle();
  expect(asked).toEqual(['10.0.0.1']);
  watch.follow({ state: 'connected', sessions: [session('10.0.0.1'), session('10.0.0.1')] });
  await settle();
  expect(asked).toHaveLength(2);
  await jest.advanceTimersByTimeAsync(120000);
  expect(asked).toHaveLength(4);
  watch.stop();
  await jest.advanceTimersByTimeAsync(120000);
  expect(asked).toHaveLength(4);
  expect(jest.getTimerCount()).toBe(0);
});

test('inspects again when a session returns with another address', async () => {
  const { watch, asked } = watchWith(bad);
  for (const address of ['10.0.0.1', '10.9.9.9']) {
    watch.follow({ state: 'connected', sessions: [session(address)] });
    watch.follow({ state: 'reconnecting', sessions: [session('', 'reconnecting')] });
  }
  await settle();
  expect(asked).toEqual(['10.0.0.1', '10.9.9.9']);
  watch.stop();
});

test('reports one queue for several sessions once, with the remedy', async () => {
  const { watch, logged, views } = watchWith(bad);
  watch.follow({ state: 'connected', sessions: [session('10.0.0.1'), session('10.0.0.1')] });
  await jest.advanceTimersByTimeAsync(180000);
  expect(logged).toEqual([
    'Urgent records wait behind others in the queue of the interface wwan0: One queue for all. ' +
      '"seganet-net plan --interface wwan0" shows what would let them go first.'
  ]);
  expect(views.at(-1)).toEqual(bad);
  expect(watch.view).toEqual(bad);
  watch.stop();
  expect(watch.view).toBeNull();
});

test('reports a queue that could not be inspected as unknown, with the reason', async () => {
  const reason = "'tc' is not installed. Install iproute2 (apt-get install iproute2).";
  const { watch, logged } = watchWith({ ...bad, kind: 'none', reason });
  watch.follow({ state: 'connected', sessions: [session('10.0.0.1'), session('10.0.0.1')] });
  await settle();
  expect(logged).toEqual([
    `Whether urgent records wait behind others in the queue of the interface wwan0 is unknown: ${reason}`
  ]);
  watch.stop();
});

test.each([
  ['one session', bad, 1],
  ['a healthy interface', { ...bad, ok: true }, 2],
  ['loopback', { ...bad, interface: 'lo' }, 2],
  ['an interface that does not exist', { ...bad, interface: '' }, 2],
  ['a check that failed', new Error('no such module'), 2]
])('does not warn of %s', async (_what, view, count) => {
  const { watch, logged } = watchWith(view);
  watch.follow({ state: 'connected', sessions: Array.from({ length: count }, () => session('10.0.0.1')) });
  await settle();
  expect(logged).toEqual([]);
  expect(watch.view).not.toBeNull();
  watch.stop();
});

test('does not show an answer that comes after the end', async () => {
  const { watch, views, logged } = watchWith(bad);
  watch.follow({ state: 'connected', sessions: [session('10.0.0.1'), session('10.0.0.1')] });
  watch.stop();
  await settle();
  expect([views, logged, watch.view]).toEqual([[], [], null]);
});

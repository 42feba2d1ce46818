'use strict';

const { Replicas } = require('../../../nodes/lib/engine/replicas');

/** @param {'wait' | 'degrade'} whenMissing */
function watch(whenMissing) {
  const at = { now: 0, missing: 'the flows are starting', /** @type {(string | boolean)[]} */ calls: [] };
  const replicas = new Replicas(
    { whenMissing, timeoutMs: 5000 },
    {
      missing: () => at.missing,
      setDiskCounts: (counts) => at.calls.push(counts),
      changed: (state, before, reason) => at.calls.push(`${before} > ${state}: ${reason}`),
      now: () => at.now
    }
  );
  open.push(replicas);
  const after = (/** @type {number} */ ms, missing = at.missing) => {
    at.now += ms;
    at.missing = missing;
    replicas.tick();
    return replicas.state;
  };
  return { at, replicas, after };
}

/** @type {Replicas[]} */
const open = [];
afterEach(() => open.splice(0).forEach((each) => each.close()));

test('wait: only the clouds acknowledge, however long one is missing', () => {
  const { at, replicas, after } = watch('wait');
  expect(after(60000)).toBe('waiting');
  expect(after(1000, '')).toBe('replicated');
  expect(replicas.view()).toEqual({ state: 'replicated', reason: '' });
  expect(after(1000, 'b is disconnected')).toBe('waiting');
  expect(after(3600000)).toBe('waiting');
  expect(replicas.view()).toEqual({ state: 'waiting', reason: 'b is disconnected' });
  expect(after(1000, '')).toBe('replicated');
  expect(at.calls).toEqual([
    'waiting > replicated: ',
    'replicated > waiting: b is disconnected',
    'waiting > replicated: '
  ]);
});

test('degrade: the disk counts when a cloud has been missing for the time, and until all are back for it', () => {
  const { at, after } = watch('degrade');
  expect(after(0, '')).toBe('replicated');
  expect(after(1000, 'b is stalled')).toBe('waiting');
  expect(after(4900)).toBe('waiting');
  expect(after(50, '')).toBe('replicated');
  expect(after(50, 'b is stalled')).toBe('waiting');
  expect(after(4999)).toBe('waiting');
  at.calls.splice(0);
  expect(after(1, 'b is disconnected')).toBe('degraded');
  expect(at.calls.splice(0)).toEqual([true, 'waiting > degraded: b is disconnected']);
  // A cloud that comes and goes does not make devices wait again and again.
  expect(after(1000, '')).toBe('degraded');
  expect(after(4000, 'b is disconnected')).toBe('degraded');
  expect(after(1000, '')).toBe('degraded');
  expect(after(4999)).toBe('degraded');
  expect(after(1)).toBe('replicated');
  expect(at.calls).toEqual([false, 'degraded > replicated: ']);
});

test('degrade: a gateway that starts without its cloud waits for the time, too', () => {
  const { after } = watch('degrade');
  expect(after(4999)).toBe('waiting');
  expect(after(1)).toBe('degraded');
});

test('a log on two machines acknowledges, whatever the clouds do', () => {
  const { at, replicas, after } = watch('wait');
  after(0, 'b is disconnected');
  replicas.setLogCounts(true);
  expect(replicas.state).toBe('replicated');
  expect(after(60000)).toBe('replicated');
  replicas.setLogCounts(false);
  expect(replicas.view()).toEqual({ state: 'waiting', reason: 'b is disconnected' });
  expect(at.calls).toEqual([
    true,
    'waiting > replicated: ',
    // Before the log goes on with commits on one machine.
    false,
    'replicated > waiting: b is disconnected'
  ]);
  expect(after(0, '')).toBe('replicated');
});

'use strict';

// The values of an uplink in a step of time.

const { UplinkFigures } = require('../../../../nodes/lib/forecast/network/uplink-figures');

const session = (of = {}) => ({ group: 1, classes: [1], state: 'connected', busyMs: 0, busyBytes: 0, ...of });
const path = (of = {}) => ({ name: 'eth0', state: 'up', quality: null, rttMs: -1, bytesAcked: -1, ...of });
/** @param {object[]} sessions @param {object} [of] @returns {any} */
const state = (sessions, of) => ({
  state: 'connected',
  connects: 1,
  acknowledged: 0,
  rttMs: 0,
  sessions,
  ...of
});

/** @param {any[]} states at the ends of two steps of ten seconds @returns {object} */
function valuesBetween([first, second]) {
  const figures = new UplinkFigures();
  figures.take(first, 0);
  figures.look(second);
  return Object.fromEntries(figures.take(second, 10000));
}

test('capacity is what was acknowledged while the link was the limit, of all sessions', () => {
  const first = state([session({ busyMs: 5000, busyBytes: 1e6 }), session({ group: 2 })]);
  const busy = [
    session({ busyMs: 5500, busyBytes: 1.1e6 }),
    session({ group: 2, busyMs: 2000, busyBytes: 3e5 })
  ];
  expect(valuesBetween([first, state(busy)])).toEqual({ connected: 1, capacity: 200000 });
});

test.each([
  [
    'a link that was the limit for a moment only',
    { busyMs: 200, busyBytes: 1e6 },
    { busyMs: 0, busyBytes: 0 }
  ],
  ['a thread that began again', { busyMs: 900, busyBytes: 1e3 }, { busyMs: 800, busyBytes: 1e6 }],
  ['a session without these counters', {}, {}]
])('there is no capacity of %s', (_what, after, before) => {
  expect(valuesBetween([state([session(before)]), state([session(after)])])).toEqual({ connected: 1 });
});

test('there is a round trip if something was acknowledged', () => {
  const first = state([session()], { acknowledged: 3, rttMs: 20 });
  expect(valuesBetween([first, first])).toEqual({ connected: 1 });
  expect(valuesBetween([first, { ...first, acknowledged: 4 }])).toEqual({ connected: 1, roundTrip: 20 });
});

test('it is connected if the session of the least urgent class is, for a share of the time', () => {
  const figures = new UplinkFigures();
  for (const name of ['connected', 'stalled', 'disconnected', 'connected', 'refused', 'stopped'])
    figures.look(state([session({ state: 'connected' }), session({ group: 2, state: name })]));
  figures.look(state([session({ state: 'connecting' })], { connects: 0 }));
  expect(Object.fromEntries(figures.take(state([session()]), 0))).toEqual({ connected: 0.5 });
  expect([...figures.take(state([session()]), 1)]).toEqual([]);
});

test('a path has its own figures, where they are known', () => {
  const paths = [path({ bytesAcked: 1000, rttMs: 30 }), path({ name: 'wwan0', state: 'down' })];
  const after = [
    path({ bytesAcked: 901000, rttMs: 30, quality: { rttMs: 12 } }),
    path({ name: 'wwan0', state: 'down' })
  ];
  const busy = { busyMs: 9000, busyBytes: 9e5 };
  expect(valuesBetween([state([session({ paths })]), state([session({ ...busy, paths: after })])])).toEqual({
    connected: 1,
    capacity: 100000,
    'path/eth0/connected': 1,
    'path/eth0/roundTrip': 12,
    'path/eth0/capacity': 90000,
    'path/wwan0/connected': 0
  });
  // A new subflow, and a link that was the limit for half of the time.
  const renewed = [path({ bytesAcked: 10, rttMs: 30 })];
  const half = session({ busyMs: 5000, busyBytes: 9e5, paths: after });
  expect(valuesBetween([state([session({ paths })]), state([half])])).not.toHaveProperty(
    'path/eth0/capacity'
  );
  const again = session({ ...busy, paths: renewed });
  expect(valuesBetween([state([session({ paths })]), state([again])])).not.toHaveProperty(
    'path/eth0/capacity'
  );
});

test('a state without sessions has what is known', () => {
  const only = /** @type {any} */ ({ state: 'disconnected', connects: 1 });
  expect(valuesBetween([only, only])).toEqual({ connected: 0 });
  expect(valuesBetween([{ state: 'stopped' }, { state: 'stopped' }])).toEqual({});
});

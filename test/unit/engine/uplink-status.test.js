'use strict';

const { uplinkShown } = require('../../../nodes/lib/engine/uplink-status');

const zeros = [0, 0, 0, 0, 0, 0, 0, 0, 0];
const normal = (count) => [0, 0, 0, count, 0, 0, 0, 0, 0];
const stats = { latency: [], heldRecords: zeros, storedRecords: zeros, backlogRecords: zeros };
const medians = [
  { class: 1, p50: 1.2 },
  { class: 3, p50: 430 }
];
const backlog = { heldRecords: normal(12345), storedRecords: normal(12345), backlogRecords: normal(12345) };

test.each([
  [{ state: 'connected' }, {}, 'green', 'connected'],
  [{ state: 'connected', rttMs: 2.1 }, {}, 'green', 'connected · 3 ms'],
  [{ state: 'connected' }, { latency: medians }, 'green', 'connected · critical 2 ms · normal 430 ms'],
  [
    { state: 'connected' },
    { latency: medians, ...backlog },
    'green',
    'connected · critical 2 ms · backlog 12.3 k'
  ],
  [{ state: 'connected', rttMs: 2, url: 1, urls: [{}, {}] }, {}, 'green', 'connected · 2 ms'],
  [
    { state: 'connected', url: 2, urls: [{}, {}] },
    { latency: medians },
    'green',
    'connected · URL 2 of 2 · critical 2 ms'
  ],
  [{ state: 'connected', quotaWait: 900 }, backlog, 'yellow', 'refused for now · 12.3 k kept'],
  [
    { state: 'connected', compressedFrom: 6000, compressedTo: 1000 },
    {},
    'green',
    'connected · compressed to 17 %'
  ],
  [
    { state: 'connected', compressedFrom: 6000, compressedTo: 1000, compressing: ['chosen'] },
    {},
    'green',
    'connected · compressed to 17 %'
  ],
  [
    { state: 'connected', compressedFrom: 6000, compressedTo: 1000, compressing: ['metered'] },
    {},
    'green',
    'connected · compressed to 17 % (metered)'
  ],
  [
    {
      state: 'connected',
      rttMs: 2.1,
      compressedFrom: 6000,
      compressedTo: 1000,
      compressing: ['busy', 'metered']
    },
    {},
    'green',
    'connected · 3 ms · compressed to 17 %'
  ],
  [
    { state: 'connected', compressedFrom: 6000, compressedTo: 1000, compressing: [] },
    {},
    'green',
    'connected'
  ],
  [
    { state: 'connected', compressedFrom: 6000, compressedTo: 1000 },
    { latency: medians, ...backlog },
    'green',
    'connected · critical 2 ms · backlog 12.3 k'
  ],
  [{ state: 'connecting' }, {}, 'yellow', 'connecting'],
  [{ state: 'connecting' }, backlog, 'yellow', 'connecting · 12.3 k kept'],
  [{ state: 'stalled', oldestMs: 7200 }, {}, 'red', 'stalled 7 s'],
  [{ state: 'stalled' }, backlog, 'red', 'stalled · 12.3 k kept'],
  [{ state: 'disconnected' }, {}, 'red', 'disconnected'],
  [{ state: 'disconnected', code: 'ECONNREFUSED' }, backlog, 'red', 'nothing listens there · 12.3 k kept'],
  [
    { state: 'reconnecting', code: 'KEEPALIVE' },
    { heldRecords: normal(9) },
    'red',
    'no answer · 9 in memory'
  ],
  [{ state: 'stopped' }, backlog, 'grey', 'stopped']
])('shows %j with %j: %s %s', (state, more, fill, text) => {
  expect(uplinkShown(state, { ...stats, ...more }, true)).toMatchObject({ fill, text });
});

test.each([
  [{ code: 'NO_MPTCP' }, {}, 'connected · fell back to TCP · critical 2 ms'],
  [{ code: 'NO_MPTCP_HERE' }, backlog, 'connected · TCP, no MPTCP here · backlog 12.3 k'],
  [{ sessions: [[1, 1]] }, {}, 'connected · 2 of 2 paths · critical 2 ms'],
  [
    {
      sessions: [
        [0, 1],
        [0, 1]
      ]
    },
    {},
    'connected · 1 of 2 paths · critical 2 ms'
  ],
  [{ sessions: [[1]] }, {}, 'connected · critical 2 ms · normal 430 ms']
])('shows several paths %j with %j: %s', ({ code, sessions = [] }, more, text) => {
  const reported = sessions.map((each) => ({
    state: 'connected',
    paths: each.map((subflows, i) => ({ name: `p${i}`, subflows }))
  }));
  const state = /** @type {any} */ ({ state: 'connected', code, sessions: reported });
  expect(uplinkShown(state, { ...stats, latency: medians, ...more }, true)).toMatchObject({
    fill: 'green',
    text
  });
  expect(text.length).toBeLessThanOrEqual(48);
});

test.each([
  [['up', 'down'], {}, 'connected · 1 of 2 paths · eth0 down'],
  [['up', 'down', 'down'], {}, 'connected · 1 of 3 paths · critical 2 ms'],
  [['up', 'down'], backlog, 'connected · 1 of 2 paths · backlog 12.3 k']
])('names the path that is down among paths %j: %#', (states, more, text) => {
  const paths = states.map((state, i) => ({ name: `eth${1 - i}`, state, subflows: state === 'up' ? 1 : 0 }));
  const state = /** @type {any} */ ({ state: 'connected', sessions: [{ state: 'connected', paths }] });
  expect(uplinkShown(state, { ...stats, latency: medians, ...more }, true).text).toBe(text);
  expect(text.length).toBeLessThanOrEqual(48);
});

test('gives the room of the figures to a path with a long name that is down', () => {
  const paths = [
    { name: 'eth0', state: 'up', subflows: 1 },
    { name: 'enx00249b2b2b2b', state: 'down', subflows: 0 }
  ];
  const state = /** @type {any} */ ({ state: 'connected', sessions: [{ state: 'connected', paths }] });
  expect(uplinkShown(state, { ...stats, latency: medians }, true).text).toBe(
    'connected · 1 of 2 paths · enx00249b2b2b2b down'
  );
});

test('cuts a long reason, but not the count of kept records', () => {
  const state = {
    state: 'refused',
    reason: 'The broker refused the user name or password. Check them in the broker node.'
  };
  const { text } = uplinkShown(state, { ...stats, ...backlog }, true);
  expect(text).toMatch(/^The broker refused .*… · 12\.3 k kept$/);
  expect(text.length).toBeLessThanOrEqual(48);
});

test('shows no count with several brokers because it would cover all of them', () => {
  expect(uplinkShown({ state: 'connected' }, { ...stats, ...backlog }, false).text).toBe('connected');
  expect(uplinkShown({ state: 'disconnected' }, { ...stats, ...backlog }, false).text).toBe('disconnected');
});

describe('with several sessions', () => {
  const up = { state: 'connected', code: '' };
  const refused = { state: 'disconnected', code: 'ECONNREFUSED' };
  /** @param {any[]} states of the sessions of classes 1 and 2, 3 and 4 to 8 */
  const shownOf = (worst, states, more = {}) => {
    const groups = states.length === 2 ? [[1, 2], [3, 4, 5, 6, 7, 8]] : [[1], [2, 4], [3, 5, 6, 7, 8]]; // prettier-ignore
    const sessions = states.map((each, i) => ({ group: i + 1, classes: groups[i], ...each }));
    return uplinkShown({ ...worst, sessions }, { ...stats, ...more }, true);
  };

  test('shows the same as with one session when all are connected', () => {
    expect(shownOf({ state: 'connected', rttMs: 3 }, [up, up])).toMatchObject({
      fill: 'green',
      text: 'connected · 3 ms'
    });
  });

  test('names the classes of a session that is down, and the reason', () => {
    expect(shownOf(refused, [up, refused], backlog)).toEqual({
      fill: 'red',
      shape: 'ring',
      text: 'classes 3–8: nothing listens there · 12.3 k kept'
    });
    expect(shownOf(refused, [refused, up]).text).toBe('classes 1,2: nothing listens there');
  });

  test('does not show a connecting session as a fault', () => {
    expect(shownOf({ state: 'connecting' }, [up, { state: 'connecting', code: '' }])).toMatchObject({
      fill: 'yellow',
      text: 'classes 3–8: connecting'
    });
  });

  test('shows the worst, and the most urgent of equals', () => {
    const states = [
      { state: 'connecting', code: '' },
      refused,
      { state: 'reconnecting', code: 'ECONNRESET' }
    ];
    expect(shownOf(refused, states).text).toBe('classes 2,4: nothing listens there');
    const stalls = [
      up,
      { state: 'stalled', code: '', oldestMs: 7100 },
      { state: 'stalled', code: '', oldestMs: 90 }
    ];
    expect(shownOf({ state: 'stalled' }, stalls).text).toBe('classes 2,4: stalled 7 s');
  });

  test('shows a problem of all sessions as one of the uplink', () => {
    expect(shownOf(refused, [refused, refused]).text).toBe('nothing listens there');
  });
});

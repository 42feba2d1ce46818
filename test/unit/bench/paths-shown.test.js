'use strict';

const { textAt, texts } = require('../../../bench/paths/shown');

/**
 * @param {number} ms
 * @param {string} state
 * @param {string} code
 * @param {number[][]} subflows of each path, by session
 */
const status = (ms, state, code, subflows) => ({
  ms,
  state,
  code,
  reason: '',
  transport: '',
  paths: subflows.map((each, i) => ({
    name: `p${i + 1}`,
    role: 'active',
    state: 'up',
    why: '',
    address: '',
    subflows: each
  }))
});

const statuses = [
  status(100, 'connected', '', [
    [1, 1],
    [1, 1]
  ]),
  status(5000, 'connected', '', [
    [0, 0],
    [1, 1]
  ]),
  status(5100, 'connected', '', [
    [0, 0],
    [2, 1]
  ]),
  status(6000, 'stalled', '', [[0], [0]]),
  status(7000, 'disconnected', 'PATHS_GONE', [[0], [0]]),
  status(8000, 'connected', 'NO_MPTCP', [[1], [0]])
];

test('lists the texts that the canvas shows, each once', () => {
  expect(texts(statuses)).toEqual([
    { ms: 100, text: 'connected · 2 of 2 paths' },
    { ms: 5000, text: 'connected · 1 of 2 paths' },
    { ms: 6000, text: 'stalled' },
    { ms: 7000, text: 'disconnected: PATHS_GONE' },
    { ms: 8000, text: 'connected · fell back to TCP' }
  ]);
});

test('finds the text shown at a moment', () => {
  expect(textAt(statuses, 50)).toBe('');
  expect(textAt(statuses, 5500)).toBe('connected · 1 of 2 paths');
  expect(textAt(statuses, 99999)).toBe('connected · fell back to TCP');
});

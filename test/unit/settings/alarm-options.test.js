'use strict';

const { alarmWarning } = require('../../../nodes/lib/settings/alarm-options');
const { checkOptions } = require('../../../nodes/lib/settings/uplink-options');

/** @param {object} more */
const options = (more) =>
  checkOptions({ url: 'mqtt://h', gateway: 'g', paths: 'auto', redundantAlarms: 'all-paths', ...more }, '');

test('changes no session by default', () => {
  expect(options({ redundantAlarms: undefined })).toMatchObject({
    redundantAlarms: 'off',
    groups: [
      [1, 2],
      [3, 4, 5, 6, 7, 8]
    ],
    clientIds: ['g-1', 'g-2']
  });
});

test('gives class 1 two sessions, and leaves ids and sockets to the others', () => {
  const { groups, clientIds, sockets } = options({ groups: '1,2/3', priority: '5,1' });
  expect(groups).toEqual([[1], [1], [2], [3, 4, 5, 6, 7, 8]]);
  expect(clientIds).toEqual(['g-a1', 'g-a2', 'g-1', 'g-2']);
  expect(sockets.map(({ priority }) => priority)).toEqual([5, 5, 5, 1]);
});

test('replaces a session of class 1 alone', () => {
  const { groups, clientIds, sockets } = options({ groups: '1/2,3', clientId: 'c' });
  expect(groups).toEqual([[1], [1], [2, 3, 4, 5, 6, 7, 8]]);
  expect(clientIds).toEqual(['c-a1', 'c-a2', 'c-2']);
  expect(sockets).toHaveLength(3);
});

test('gives alarms the priority of an urgent session where all classes had one', () => {
  const { groups, clientIds, sockets } = options({ groups: 'all' });
  expect(groups).toEqual([[1], [1], [2, 3, 4, 5, 6, 7, 8]]);
  expect(clientIds).toEqual(['g-a1', 'g-a2', 'g']);
  expect(sockets.map(({ priority }) => priority)).toEqual([6, 6, 0]);
});

test.each([
  [{ paths: '' }, /list of paths is empty\. Enter the paths/],
  [{ sparkplugGroup: 'plant' }, /with Sparkplug.*Remove the group id/],
  [{ redundantAlarms: 'both' }, /redundantAlarms is both; it must be off or all-paths or unmetered-paths/]
])('throws a TypeError with a sentence for %j', (more, sentence) => {
  expect(() => options(more)).toThrow(TypeError);
  expect(() => options(more)).toThrow(sentence);
});

test('warns of records without a key', () => {
  expect(alarmWarning({ redundantAlarms: 'all-paths', protocolVersion: 5 })).toBe('');
  expect(alarmWarning({ redundantAlarms: 'off', protocolVersion: 4 })).toBe('');
  expect(alarmWarning({ redundantAlarms: 'all-paths', protocolVersion: 4 })).toMatch(/Choose MQTT 5/);
});

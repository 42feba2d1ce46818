'use strict';

const { parseDevices } = require('../../../nodes/lib/settings/device-classes');

test('takes the list of the dialog, or JSON text that wins over it', () => {
  const list = [
    { device: ' pump-* ', class: '2', extra: 1 },
    { device: 'm-??', class: 'bulk' }
  ];
  expect(parseDevices(list, '')).toEqual([
    { device: 'pump-*', class: 2 },
    { device: 'm-??', class: 4 }
  ]);
  expect(parseDevices(list, '[{"device":"x","class":8}]')).toEqual([{ device: 'x', class: 8 }]);
  expect(parseDevices(undefined, undefined)).toEqual([]);
  expect(parseDevices([], [{ device: 'parsed already', class: 1 }])).toHaveLength(1);
});

test.each([
  ['{', /not valid JSON/],
  ['{}', /JSON array/],
  ['[1]', /device 1 must be an object/],
  ['[null]', /device 1 must be an object/],
  ['[{"class":1}]', /device 1 has no device/],
  ['[{"device":" ","class":1}]', /has no device/],
  ['[{"device":7,"class":1}]', /has no device/],
  ['[{"device":"a","class":1},{"device":"b"}]', /device 2 has no class: use 1 to 8/],
  ['[{"device":"a","class":9}]', /device 1: The priority "9"/],
  ['[{"device":"a\\u0000","class":1}]', /NUL/]
])('refuses %s', (json, reason) => {
  expect(() => parseDevices([], json)).toThrow(reason);
});

test('allows at most 1,000 entries, of at most 256 bytes', () => {
  const many = (count) => Array.from({ length: count }, () => ({ device: 'd', class: 1 }));
  expect(parseDevices(many(1000), '')).toHaveLength(1000);
  expect(() => parseDevices(many(1001), '')).toThrow(/1000/);
  expect(parseDevices([{ device: 'x'.repeat(256), class: 1 }], '')).toHaveLength(1);
  expect(() => parseDevices([{ device: 'x'.repeat(257), class: 1 }], '')).toThrow(/256 bytes/);
});

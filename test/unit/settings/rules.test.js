'use strict';

const { parseRules, filterProblem } = require('../../../nodes/lib/settings/rules');

test('cleans rules of the dialog', () => {
  const list = [
    { topic: 'alarm/#', device: '', class: '1' },
    { device: 'pump-*', class: 'bulk', extra: 1 },
    { class: 2 },
    { topic: 'log', class: '8' }
  ];
  expect(parseRules(list, '')).toEqual([
    { topic: 'alarm/#', class: 1 },
    { device: 'pump-*', class: 4 },
    { class: 2 },
    { topic: 'log', class: 8 }
  ]);
});

test('prefers JSON text to the list when it is not blank', () => {
  expect(parseRules([{ class: 1 }], '[{"class":3}]')).toEqual([{ class: 3 }]);
  expect(parseRules([{ class: 1 }], ' ')).toEqual([{ class: 1 }]);
  expect(parseRules(undefined, undefined)).toEqual([]);
});

test('accepts rules that Node-RED has already parsed', () => {
  expect(parseRules([], [{ class: 3 }])).toEqual([{ class: 3 }]);
});

test.each([
  ['{', /not valid JSON/],
  ['{}', /JSON array/],
  ['7', /JSON array/],
  ['[1]', /Rule 1 must be an object/],
  ['[null]', /Rule 1 must be an object/],
  ['[{"class":1},{"topic":"a"}]', /Rule 2 has no class/],
  ['[{"class":9}]', /Rule 1: The priority "9"/],
  ['[{"class":1,"topic":7}]', /"topic" must be text/],
  ['[{"class":1,"topic":"a#"}]', /# only as its last level/],
  ['[{"class":1,"topic":"#/a"}]', /# only as its last level/],
  ['[{"class":1,"topic":"a+/b"}]', /\+ only as a whole level/]
])('refuses %s', (json, reason) => {
  expect(() => parseRules([], json)).toThrow(reason);
});

test('allows at most 1,000 rules, of at most 256 bytes of device', () => {
  const many = (count) => Array.from({ length: count }, () => ({ class: 1 }));
  expect(parseRules(many(1000), '')).toHaveLength(1000);
  expect(() => parseRules(many(1001), '')).toThrow(/1000/);
  expect(() => parseRules([{ device: 'x'.repeat(257), class: 1 }], '')).toThrow(/256 bytes/);
});

test.each(['#', '+', 'a/#', '+/+/#', '/', 'a//b', 'a/+'])('accepts %s as a topic filter', (filter) => {
  expect(filterProblem(filter)).toBe('');
});

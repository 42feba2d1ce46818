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

test('keeps conditions on the payload, and names the rule of a wrong one', () => {
  expect(
    parseRules(
      [
        { when: ' temp > 80 ', class: 1 },
        { when: ' ', class: 2 }
      ],
      ''
    )
  ).toEqual([{ when: ' temp > 80 ', class: 1 }, { class: 2 }]);
  const wrong = () => parseRules([], '[{"class":1},{"when":"temp >","class":1}]');
  expect(wrong).toThrow(
    /^Rule 2: the condition "temp >" is invalid \(column 7: expected a number or a string after >\)\.$/
  );
  expect(() => parseRules([{ when: 1, class: 1 }], '')).toThrow('Rule 1: "when" must be text.');
});

test('allows conditions that read at most 256 different values together', () => {
  const reading = (count) => Array.from({ length: count }, (_, i) => ({ when: `m${i} > 0`, class: 1 }));
  expect(parseRules(reading(256), '')).toHaveLength(256);
  expect(() => parseRules(reading(257), '')).toThrow(/^Rule 257: .*more than 256 values/);
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

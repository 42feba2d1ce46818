'use strict';

const { cpuList } = require('../../../nodes/lib/base/cpus');
const { choice, flag, integer, recordClass } = require('../../../nodes/lib/base/options');
const { asText, shown } = require('../../../nodes/lib/base/values');

describe('a value in a sentence', () => {
  test.each([
    ['a\nb\0c', 'a b c'],
    [['x', 1], '["x",1]'],
    [{ toString: 'x' }, '{"toString":"x"}'],
    [undefined, 'undefined'],
    [Object.create(null), '{}'],
    ['mqtts://me:secret/x@host:1', 'mqtts://…@host:1']
  ])('shows %j as %j', (value, expected) => {
    expect(shown(value)).toBe(expected);
  });

  test('cuts a long value', () => {
    expect(shown('x'.repeat(65536))).toHaveLength(101);
  });
});

test.each([[{ toString: 'x' }], [[1]], [{}]])('rejects %j as not a single value', (value) => {
  expect(() => asText(value)).toThrow(/^must be a single value, not /);
  for (const parse of [integer(0, 1, 0), choice(['a'], 'a'), flag(false)])
    expect(() => parse(value)).toThrow(RangeError);
  expect(() => recordClass(0)(value)).toThrow(/must be a class: 1 to 8, or critical/);
});

test('reads a class by number and by name in any case', () => {
  const parse = recordClass(3);
  expect([parse(''), parse('High'), parse('8'), parse(1)]).toEqual([3, 2, 8, 1]);
  expect(() => parse('9')).toThrow('must be a class: 1 to 8, or critical, high, normal or bulk, not "9".');
});

describe('a list of cores', () => {
  const parse = cpuList(() => new Set([0, 1, 2, 3]));

  test.each(['', '0', '1-3', '0,2-3', ' 1 '])('accepts %j', (list) => {
    expect(parse(list)).toBe(list.trim());
  });

  test.each(['3-1', '1-', 'x', '1,,2', '0-99999', '1,'.repeat(5000)])('rejects %j as a list', (list) => {
    expect(() => parse(list)).toThrow(/^must be a list of cores such as 1-3,5, not /);
  });

  test('names a core that the process may not use, with those that it may use', () => {
    expect(() => parse('2-5')).toThrow(
      'names core 4, which this process may not use. It may use the cores 0,1,2,3.'
    );
    expect(cpuList(() => null)('77')).toBe('77');
  });
});

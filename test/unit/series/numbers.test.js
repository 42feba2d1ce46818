'use strict';

const { parsePath, sqlPath, valueAt } = require('../../../nodes/lib/series/json-path');
const { nameOf, numbersOf } = require('../../../nodes/lib/series/numbers');
const { parseChoices, schema } = require('../../../nodes/lib/series/series-settings');
const { seeded } = require('../../fixtures/random');
const { cpuMs } = require('../../fixtures/cpu-time');

const all = { choices: [], maxValues: 64, byTopic: false };
const pairs = ({ names, values }) => Object.fromEntries(names.map((name, at) => [name, values[at]]));
const read = (payload, options = {}, topic = 'd/pump-1/temp') =>
  pairs(numbersOf(payload, topic, { ...all, ...options }));

describe('the numbers of a record', () => {
  test.each([
    [21.5, { value: 21.5 }],
    ['21.5', { value: 21.5 }],
    [Buffer.from(' -1e3\n'), { value: -1000 }],
    ['+5', { value: 5 }],
    ['5.', { value: 5 }],
    ['.5e1', { value: 5 }],
    [' '.repeat(200) + '+5' + ' '.repeat(200), { value: 5 }],
    ['+' + '1'.repeat(64), {}],
    [Buffer.from('{"t":1,"s":"2","b":true,"n":null}'), { t: 1 }],
    [{ a: { b: [1, { c: 2 }] } }, { 'a.b.0': 1, 'a.b.1.c': 2 }],
    ['[3,4]', { 0: 3, 1: 4 }],
    ['on', {}],
    ['', {}],
    ['NaN', {}],
    ['1e999', {}],
    [Buffer.from([0xff, 0xfe]), {}],
    [undefined, {}],
    [null, {}],
    [true, {}],
    [Infinity, {}]
  ])('are found in %p', (payload, expected) => expect(read(payload)).toEqual(expected));

  test.each([
    ['$', 21.5, '', false],
    ['$', 21.5, '', true],
    ['t', { t: 21.5 }, '', false],
    ['$.a.b[1].c', { a: { b: [1, { c: 21.5 }] } }, '', true],
    ['$.t', { t: 21.5, u: 1 }, 'warmth = t, $.u', true],
    ['["is on"]', { 'is on': 21.5 }, 'on = ["is on"]', false]
  ])('have the name of their path: %p in %j', (path, payload, list, byTopic) => {
    const options = { choices: parseChoices(list), byTopic, maxValues: 64 };
    const name = nameOf('d/pump-1/temp', parsePath(path), options);
    const { names, values } = numbersOf(payload, 'd/pump-1/temp', options);
    expect(name).toBe(names[values.indexOf(21.5)]);
  });

  test('have no name if they are not chosen, too deep, or named too long', () => {
    expect(nameOf('t', ['u'], { choices: parseChoices('t'), byTopic: false })).toBeNull();
    expect(nameOf('t', new Array(9).fill('a'), { choices: [], byTopic: false })).toBeNull();
    expect(nameOf('x'.repeat(129), [], { choices: [], byTopic: true })).toBeNull();
  });

  test('are those of the chosen paths, with true and false as 1 and 0', () => {
    const choices = parseChoices('temperature = $.t, radio.rssi, on = ["is on"], list[1], missing = a.b');
    const payload = { t: 20, radio: { rssi: -70 }, 'is on': true, list: [1, 2], other: 9 };
    expect(read(payload, { choices })).toEqual({ temperature: 20, rssi: -70, on: 1, 1: 2 });
  });

  test('have names that begin with the last level of the topic, if the node is configured so', () => {
    expect(read(5, { byTopic: true })).toEqual({ temp: 5 });
    expect(read({ a: 5 }, { byTopic: true }, 'x/y/')).toEqual({ 'y.a': 5 });
    expect(read(5, { byTopic: true }, '')).toEqual({ value: 5 });
  });

  test('beyond the limit, below the eighth level, or with long names are left and counted', () => {
    const many = Object.fromEntries(Array.from({ length: 70 }, (_, i) => [`n${i}`, i]));
    const { names, left } = numbersOf(many, '', all);
    expect([names.length, left]).toEqual([64, 6]);
    expect(numbersOf({ ['x'.repeat(129)]: 1 }, '', all)).toEqual({ names: [], values: [], left: 1 });
    const deep = JSON.parse('{"a":'.repeat(9) + '1' + '}'.repeat(9));
    expect(read(deep)).toEqual({});
  });

  test.each(['1', ' ', '1 ', '.1', '1e'])('are sought in a long run of "%s" in linear time', (unit) => {
    const text = unit.repeat(262000 / unit.length);
    const begin = cpuMs();
    for (const end of ['x', '.x', ' x', '\0']) expect(read(Buffer.from(text + end))).toEqual({});
    expect(cpuMs() - begin).toBeLessThan(2000);
  });

  test('of an object that contains itself are found in limited time', () => {
    const circle = { a: 1 };
    for (let i = 0; i < 10; i++) circle[`self${i}`] = circle;
    expect(numbersOf(circle, '', all).names).toHaveLength(64);
  });

  test('have no bar, no control character and no lone surrogate in their names', () => {
    expect(read({ 'a|b\n': 1, 'c\ud800': 2 })).toEqual({ a_b_: 1, 'c\ufffd': 2 });
  });
});

describe('a path', () => {
  test.each([
    ['$', []],
    ['$.a.b', ['a', 'b']],
    ['a[0].b', ['a', 0, 'b']],
    ['a["0"][\'1\']', ['a', '0', '1']],
    ['$["x y"][\'z\']', ['x y', 'z']],
    ['größe', ['größe']]
  ])('%s has the keys %p', (path, keys) => expect(parsePath(path)).toEqual(keys));

  test.each(['a..b', 'a b', '$a.', '[', '["x]', 'a[-1]', 'a[*]', '.'.repeat(300), 'a.'.repeat(20) + 'a'])(
    '%s is refused with a sentence',
    (path) => expect(() => parsePath(path)).toThrow(/^The path ".*" (is wrong|has more)/)
  );

  test('does not reach what an object inherits', () => {
    expect(valueAt({ a: 1 }, ['constructor'])).toBeUndefined();
    expect(valueAt([1], ['length'])).toBe(1);
  });

  test('of random characters is parsed or refused', () => {
    const random = seeded(3);
    const alphabet = '$.[]"\'\\ab0 é';
    for (let i = 0; i < 5000; i++) {
      const path = Array.from(
        { length: random.integer(12) },
        () => alphabet[random.integer(alphabet.length)]
      ).join('');
      try {
        const keys = parsePath(path);
        expect(keys.every((key) => typeof key === 'string' || Number.isInteger(key))).toBe(true);
        if (!keys.some((key) => String(key).includes('"'))) sqlPath(keys);
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
    }
  });
});

describe('the settings', () => {
  test('name the values of the list', () => {
    expect(parseChoices('')).toEqual([]);
    expect(parseChoices('a = $.x.y\nb["k,1"]')).toEqual([
      { name: 'a', keys: ['x', 'y'] },
      { name: 'k,1', keys: ['b', 'k,1'] }
    ]);
  });

  test.each([
    ['t, x.t', /"t" occurs twice/],
    ['a|b = t', /no bar/],
    ['a = [', /The path/],
    [Array.from({ length: 65 }, (_, i) => `a${i}`).join(), /at most 64 values, not 65/]
  ])('refuse the list %s', (list, reason) => expect(() => parseChoices(list)).toThrow(reason));

  test.each([
    ['maxSeries', 100001],
    ['maxValues', 0],
    ['days', 0],
    ['limitMiB', 7],
    ['search', 'some']
  ])('refuse %s = %p', (name, value) => expect(() => schema[name](value)).toThrow(RangeError));
});

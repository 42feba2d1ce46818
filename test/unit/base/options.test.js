'use strict';

const { zeroByClass } = require('../../../nodes/lib/base/classes');
const {
  integer,
  choice,
  text,
  secret,
  numbers,
  durations,
  weights,
  patience,
  parseOptions
} = require('../../../nodes/lib/base/options');

const schema = {
  port: integer(0, 65535, 1883),
  mode: choice(['a', 'b'], 'a'),
  host: text('here', /^\w+$/, 'a word')
};

test('reads strings, numbers and surrounding blanks', () => {
  expect(parseOptions({ port: ' 80 ', mode: 'b', host: ' there ' }, schema)).toEqual({
    values: { port: 80, mode: 'b', host: 'there' },
    problems: []
  });
  expect(parseOptions({ port: 80 }, schema).values.port).toBe(80);
});

test.each([
  [' two words ', ' two words '],
  ['  ', '  '],
  ['${p@ss}', '${p@ss}'],
  ['$(a b)', '$(a b)'],
  ['a${NAME}', 'a${NAME}'],
  [12345, '12345'],
  ['${NOT_SET}', ''],
  ['$(NOT_SET)', ''],
  ['', ''],
  [undefined, '']
])('reads the password %p as %p', (given, password) => {
  expect(parseOptions({ given }, { given: secret })).toEqual({ values: { given: password }, problems: [] });
});

test.each([undefined, null, '', '  ', '${NOT_SET}', '$(NOT_SET)'])('uses the default for %p', (blank) => {
  const { values, problems } = parseOptions({ port: blank, mode: blank, host: blank }, schema);
  expect(values).toEqual({ port: 1883, mode: 'a', host: 'here' });
  expect(problems).toEqual([]);
});

test.each(['-1', '65536', '1.5', '0x10', '1e3', 'NaN', true])('refuses port %p with the range', (port) => {
  const { problems } = parseOptions({ port }, schema);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(/^"port" must be a whole number from 0 to 65535, not ".*"\. Correct it/);
});

test.each([[[]], [{}]])('refuses port %p because it is not a single value', (port) => {
  const { problems } = parseOptions({ port }, schema);
  expect(problems).toEqual([
    expect.stringMatching(/^"port" must be a single value, not (\[\]|\{\})\. Correct it/)
  ]);
});

test('includes the ends of the range', () => {
  expect(parseOptions({ port: '0' }, schema).values.port).toBe(0);
  expect(parseOptions({ port: '65535' }, schema).values.port).toBe(65535);
});

test('reports every problem, not only the first', () => {
  const { problems } = parseOptions({ port: 'x', mode: 'c', host: 'not a word' }, schema);
  expect(problems.map((problem) => problem.split(' ')[0])).toEqual(['"port"', '"mode"', '"host"']);
});

describe('per-class settings', () => {
  const perClass = { mib: numbers(1000), ttl: durations() };
  const read = (config) => parseOptions(config, perClass);

  test.each([undefined, '', ' ', '${NOT_SET}'])('reads %p as zero for each class', (blank) => {
    expect(read({ mib: blank, ttl: blank })).toEqual({
      values: { mib: zeroByClass(), ttl: zeroByClass() },
      problems: []
    });
  });

  test('reads numbers and times, as text or as an array from a flow file', () => {
    expect(read({ mib: '0, 1,256,1000', ttl: '0,90s,15m,2d' }).values).toEqual({
      mib: [0, 0, 1, 256, 1000, 0, 0, 0, 0],
      ttl: [0, 0, 90, 900, 172800, 0, 0, 0, 0]
    });
    expect(read({ mib: [1, 2, 3, 4], ttl: ['0', '0', '1h', '0s'] }).values).toEqual({
      mib: [0, 1, 2, 3, 4, 0, 0, 0, 0],
      ttl: [0, 0, 0, 3600, 0, 0, 0, 0, 0]
    });
  });

  test('reads one to eight values; omitted classes have none', () => {
    expect(read({ mib: '7', ttl: '1m' }).values).toEqual({
      mib: [0, 7, 0, 0, 0, 0, 0, 0, 0],
      ttl: [0, 60, 0, 0, 0, 0, 0, 0, 0]
    });
    expect(read({ mib: '1,2,3,4,5,6,7,8' }).values.mib).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test.each([
    '1,2,3,4,5,6,7,8,9',
    ',',
    '1,2,3,',
    '1,2,3,-4',
    '1,2,3,1001',
    '1,2,3,4.5',
    'a,b,c,d',
    '1;2;3;4'
  ])('refuses numbers %j with an example', (mib) => {
    expect(read({ mib }).problems).toEqual([
      expect.stringMatching(
        /^"mib" must be one to eight whole numbers from 0 to 1000, .* such as 0,0,256,128, not ".*"\. /
      )
    ]);
  });

  test.each([
    '7',
    '0,0,7,1d',
    '0,0,7w,1d',
    '0,0,7 d,1d',
    '0,0,-1d,1d',
    '0,0,1.5d,1d',
    '0,0,36501d,0',
    '0,0,1e3s,0'
  ])('refuses times %j with an example', (ttl) => {
    expect(read({ ttl }).problems).toEqual([
      expect.stringMatching(/^"ttl" must be one to eight times .*0,0,7d,1d, not/)
    ]);
  });
});

describe('the patience of classes', () => {
  const read = (value) => parseOptions({ p: value }, { p: patience() });

  test.each([
    ['', [0, 0, 100, 1000, 10000, 0, 0, 0, 0]],
    [undefined, [0, 0, 100, 1000, 10000, 0, 0, 0, 0]],
    ['0', [0, 0, 0, 0, 0, 0, 0, 0, 0]],
    [' 0, 5 ,3600000', [0, 0, 5, 3600000, 0, 0, 0, 0, 0]]
  ])('reads %j as %j', (value, expected) => {
    expect(read(value)).toEqual({ values: { p: expected }, problems: [] });
  });

  test.each(['1', '100,1000', '0,3600001', '0,1.5', '0,-1', '0,1s', '0,8,', '0,1,1,1,1,1,1,1,1'])(
    'refuses %j with an example and with the rule for class 1',
    (value) => {
      expect(read(value).problems).toEqual([
        expect.stringMatching(
          /^"p" must be one to eight times in ms: 0 for class 1, .* such as 0,100,1000,10000/
        )
      ]);
    }
  );
});

describe('class weights', () => {
  const read = (value) => parseOptions({ w: value }, { w: weights() });

  test.each([
    ['', [0, 0, 8, 4, 1, 1, 1, 1, 1]],
    ['${NOT_SET}', [0, 0, 8, 4, 1, 1, 1, 1, 1]],
    ['0', [0, 0, 1, 1, 1, 1, 1, 1, 1]],
    [' 0, 1000 ,1', [0, 0, 1000, 1, 1, 1, 1, 1, 1]],
    [
      [0, 5],
      [0, 0, 5, 1, 1, 1, 1, 1, 1]
    ],
    ['0,7,6,5,4,3,2,1', [0, 0, 7, 6, 5, 4, 3, 2, 1]]
  ])('reads %j as %j', (value, expected) => {
    expect(read(value)).toEqual({ values: { w: expected }, problems: [] });
  });

  test.each(['8,4,1', '0,0,1', '0,1001', '0,1.5', '0,-1', '0,8,', '0,1,1,1,1,1,1,1,1'])(
    'refuses %j with an example and with the rule for class 1',
    (value) => {
      expect(read(value).problems).toEqual([
        expect.stringMatching(/^"w" must be one to eight weights: 0 for class 1, .* such as 0,8,4,1, not/)
      ]);
    }
  );
});

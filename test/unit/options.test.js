'use strict';

const { integer, choice, text, parseOptions } = require('../../nodes/lib/options');

const schema = {
  port: integer(0, 65535, 1883),
  mode: choice(['a', 'b'], 'a'),
  host: text('here', /^\w+$/, 'a word')
};

test('strings, numbers and surrounding blanks are read', () => {
  expect(parseOptions({ port: ' 80 ', mode: 'b', host: ' there ' }, schema)).toEqual({
    values: { port: 80, mode: 'b', host: 'there' },
    problems: []
  });
  expect(parseOptions({ port: 80 }, schema).values.port).toBe(80);
});

test.each([undefined, null, '', '  ', '${NOT_SET}', '$(NOT_SET)'])('%p means the default', (blank) => {
  const { values, problems } = parseOptions({ port: blank, mode: blank, host: blank }, schema);
  expect(values).toEqual({ port: 1883, mode: 'a', host: 'here' });
  expect(problems).toEqual([]);
});

test.each(['-1', '65536', '1.5', '0x10', '1e3', 'NaN', true, [], {}])(
  'port %p is refused with the range',
  (port) => {
    const { problems } = parseOptions({ port }, schema);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^"port" must be a whole number from 0 to 65535, not ".*"\. Correct it/);
  }
);

test('the ends of the range are in it', () => {
  expect(parseOptions({ port: '0' }, schema).values.port).toBe(0);
  expect(parseOptions({ port: '65535' }, schema).values.port).toBe(65535);
});

test('every problem is told, not the first alone', () => {
  const { problems } = parseOptions({ port: 'x', mode: 'c', host: 'not a word' }, schema);
  expect(problems.map((problem) => problem.split(' ')[0])).toEqual(['"port"', '"mode"', '"host"']);
});

'use strict';
// A property that is the value of an environment variable.

const { resolved, variableIn } = require('../../../nodes/lib/base/variable-reference');

test.each([
  ['${NAME}', 'NAME'],
  ['$(NAME)', 'NAME'],
  ['${A.b-1}', 'A.b-1'],
  ['${}', ''],
  ['${A B}', ''],
  ['$NAME', ''],
  ['${NAME)', ''],
  ['x${NAME}', ''],
  ['${NAME}/log', ''],
  ['${A}x${B}', ''],
  ['', ''],
  [7, ''],
  [undefined, '']
])('finds in %j the variable %j', (value, name) => {
  expect(variableIn(value)).toBe(name);
});

test('gives the value of the variable, nothing for one that is not set, and other values as text', () => {
  const env = { A: 'x' };
  expect(['${A}', '${B}', '${A}/log', 7, null].map((value) => resolved(value, env))).toEqual([
    'x',
    '',
    '${A}/log',
    '7',
    ''
  ]);
});

'use strict';

const { readable } = require('../../../nodes/lib/base/readable');

test.each([
  ['d/pump-7/x', '"d/pump-7/x"'],
  ['a"b\\c', '"a\\"b\\\\c"'],
  ['a\nb\u0001c\u009fd', '"a\\u000ab\\u0001c\\u009fd"'],
  ['\u202eevil\ufffe\uffff\ufeff', '"\\u202eevil\\ufffe\\uffff\\ufeff"'],
  ['\ud800', '"\\ud800"'],
  ['\u{1fffe}', '"\\u{1fffe}"'],
  ['größe/温度', '"größe/温度"'],
  ['x'.repeat(300), `"${'x'.repeat(200)}…"`]
])('writes %j on one line, without invisible characters', (text, shown) => {
  expect(readable(text)).toBe(shown);
});

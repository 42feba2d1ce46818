'use strict';
// The rows of the settings: each is complete, and the parsers follow it.

const { initialOf, parserOf } = require('../../../nodes/lib/settings/rows');
const { TABLE } = require('../../../nodes/lib/settings/table');

const all = Object.entries(TABLE).flatMap(([type, rows]) =>
  Object.entries(rows).map(([name, row]) => ({ name: `${type} ${name}`, row }))
);

test.each(all)('$name accepts its own values and explains its variable', ({ row }) => {
  const parse = parserOf(row);
  expect(() => parse(initialOf(row))).not.toThrow();
  if ('default' in row) expect(parse('')).toBe(row.default);
  if (row.variable) expect(row.help).toMatch(/^\S.*\.$/);
  else expect(row.help).toBe(undefined);
});

test('no variable sets two properties', () => {
  const names = all.flatMap(({ row }) => row.variable ?? []);
  expect(names).toEqual([...new Set(names)]);
});

'use strict';
// The rows of the settings: each is complete, and the parsers follow it.

const { parseOptions } = require('../../../nodes/lib/base/options');
const { schema: batch } = require('../../../nodes/lib/settings/batch');
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

describe('a batch node of an earlier flow', () => {
  test.each([undefined, '', 'ndjson', '${SEGANET_BATCH_FORMAT}'])('keeps the format %j', (format) => {
    const { values, problems } = parseOptions({ format }, batch);
    expect([values.format, problems]).toEqual(['ndjson', []]);
  });

  test('with another format is refused', () => {
    const [problem] = parseOptions({ format: 'cbor' }, batch).problems;
    expect(problem).toMatch(/^"format" must be one of ndjson, not "cbor"/);
  });
});

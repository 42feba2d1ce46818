'use strict';

const { spawnSync } = require('node:child_process');
const {
  readGrafanaQuery,
  readGrafanaSearch,
  readPage,
  readQuestion,
  readRange
} = require('../../../nodes/lib/series/parameters');
const { textOf } = require('../../../nodes/lib/series/range-text');
const { seeded } = require('../../fixtures/random');

const NOW = Date.UTC(2026, 10, 23, 12);

describe('a range', () => {
  const read = (query) => readRange({ device: 'a', ...query }, NOW);

  test('is the last hour without parameters, at most 10,000 rows of NDJSON', () => {
    expect(read({})).toEqual({
      wanted: [{ device: 'a', name: '' }],
      range: { from: NOW - 3600000, to: NOW, step: 0, limit: 10000 },
      format: 'ndjson'
    });
  });

  test.each([
    [
      { from: '-1d', step: '5m' },
      { from: NOW - 86400000, step: 300000 }
    ],
    [
      { from: '2026-11-01', to: '2026-11-02T00:00:00Z' },
      { from: Date.UTC(2026, 10, 1), to: Date.UTC(2026, 10, 2) }
    ],
    [
      { from: '2026-11-01T06:00', to: '2026-11-01 07:00:01.5' },
      { from: Date.UTC(2026, 10, 1, 6), to: Date.UTC(2026, 10, 1, 7, 0, 1, 500) }
    ],
    [
      { from: '2026-11-01T06:00+01:00', to: '2026-11-01T06:00:00Z' },
      { from: Date.UTC(2026, 10, 1, 5), to: Date.UTC(2026, 10, 1, 6) }
    ],
    [
      { from: '1000', to: '2000', step: '500', limit: '100000' },
      { from: 1000, to: 2000, step: 500, limit: 100000 }
    ]
  ])('%p is %p', (query, expected) => expect(read(query).range).toMatchObject(expected));

  test('is in UTC without an offset, wherever the gateway is', () => {
    const file = require.resolve('../../../nodes/lib/series/parameters');
    const script = `const { readRange } = require(${JSON.stringify(file)});
      const times = { from: '2026-11-01T06:00', to: '2026-11-01T07:00' };
      process.stdout.write(String(readRange({ device: 'a', ...times }).range.from))`;
    const env = { ...process.env, TZ: 'Asia/Tokyo' };
    const { stdout } = spawnSync(process.execPath, ['-e', script], { env, encoding: 'utf8' });
    expect(stdout).toBe(String(Date.UTC(2026, 10, 1, 6)));
  });

  test.each([
    [{ device: '' }, /device is missing/],
    [{ from: 'yesterday' }, /from must be a time/],
    [{ from: '-1y' }, /from must be a duration/],
    [{ from: '2000', to: '1000' }, /from must be before to/],
    [{ from: '0' }, /at most 3,660 days/],
    [{ step: '-5' }, /step must be a duration/],
    [{ limit: '100001' }, /limit must be a whole number from 1 to 100000/],
    [{ limit: '0' }, /limit must be/],
    [{ format: 'xml' }, /format must be ndjson or csv/],
    [{ name: ['a', 'b'] }, /name must be given once/],
    [{ device: 'x'.repeat(600) }, /at most 512 characters/],
    [{ nam: 'x' }, /no parameter "nam"/]
  ])('%p is refused', (query, reason) => expect(() => read(query)).toThrow(reason));
});

test('a page has limits', () => {
  expect(readPage({ limit: '10', contains: 'p' }, true)).toEqual({
    device: '',
    name: '',
    contains: 'p',
    after: 0,
    limit: 10,
    withValues: true
  });
  expect(() => readPage({ limit: '10001' }, true)).toThrow(/from 1 to 10000/);
});

test.each([
  [{}, /q .* or path .* is missing/],
  [{ q: 'a', value: '1' }, /need a path/],
  [{ path: 'a', op: 'like' }, /op must be one of/],
  [{ path: 'a b' }, /The path/],
  [{ q: 'a', limit: '1001' }, /limit must be/]
])('the question %p is refused', (query, reason) => expect(() => readQuestion(query)).toThrow(reason));

describe('a query of Grafana', () => {
  const body = {
    range: { from: '2026-11-23T00:00:00.000Z', to: '2026-11-23T12:00:00.000Z' },
    intervalMs: 30000,
    maxDataPoints: 400,
    targets: [{ target: 'a|b|temp', refId: 'A' }, { refId: 'B' }, { target: 'x|y', hide: true }]
  };

  test('has the steps that its points allow, and the last bar before the name', () => {
    expect(readGrafanaQuery(body)).toMatchObject({
      wanted: [{ device: 'a|b', name: 'temp' }],
      range: { step: 108000 }
    });
    expect(readGrafanaQuery({ ...body, intervalMs: 3600000 }).range.step).toBe(3600000);
  });

  test.each([
    [undefined, /range must have/],
    [{ ...body, targets: [{ target: 'temp' }] }, /not like device\|name/],
    [{ ...body, targets: [{ target: {} }] }, /not like device\|name/],
    [{ ...body, targets: Array(21).fill({ target: 'a|b' }) }, /at most 20/],
    [{ ...body, targets: null }, /targets must be a list/],
    [{ ...body, maxDataPoints: 0 }, /maxDataPoints/],
    [{ ...body, intervalMs: 'x' }, /intervalMs/],
    [{ ...body, range: { from: body.range.to, to: body.range.from } }, /from must be before to/]
  ])('%# is refused', (given, reason) => expect(() => readGrafanaQuery(given)).toThrow(reason));

  test('of any shape is read or refused with a sentence', () => {
    const random = seeded(4);
    const values = [undefined, null, 0, -1, 1e300, NaN, '', 'x', '2026-11-23', [], {}, [null], [{}], true];
    for (let i = 0; i < 2000; i++) {
      const pick = () => values[random.integer(values.length)];
      const given = {
        ...body,
        [['range', 'intervalMs', 'maxDataPoints', 'targets'][random.integer(4)]]: pick()
      };
      try {
        readGrafanaQuery(random.integer(9) ? given : pick());
        readGrafanaSearch(random.integer(9) ? { target: pick() } : pick());
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
    }
  });
});

describe('the text of an answer', () => {
  const answer = {
    series: [
      { device: '=a,"b"', name: 't', columns: { ts: [NOW], value: [1.5], low: [1], high: [2], count: [3] } }
    ],
    next: null
  };

  test('as CSV quotes fields, and defuses formulas', async () => {
    expect((await textOf(answer, 'csv', false)).text).toBe(
      `ts,device,name,value\r\n2026-11-23T12:00:00.000Z,"'=a,""b""",t,1.5\r\n`
    );
    expect((await textOf(answer, 'csv', true)).text).toMatch(/mean,min,max,count\r\n.*,1.5,1,2,3\r\n$/s);
  });

  test('as NDJSON has an object a line', async () => {
    expect(JSON.parse((await textOf(answer, 'ndjson', true)).text)).toEqual({
      ts: NOW,
      device: '=a,"b"',
      name: 't',
      mean: 1.5,
      min: 1,
      max: 2,
      count: 3
    });
    expect(JSON.parse((await textOf(answer, 'ndjson', false)).text)).toEqual({
      ts: NOW,
      device: '=a,"b"',
      name: 't',
      value: 1.5
    });
  });

  test('for Grafana has pairs of value and time', async () => {
    expect(JSON.parse((await textOf(answer, 'grafana', true)).text)).toEqual([
      { target: '=a,"b"|t', datapoints: [[1.5, NOW]] }
    ]);
  });
});

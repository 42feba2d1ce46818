'use strict';

const { TakenBatch } = require('../../../nodes/lib/uplink/sending/taken-batch');
const { MemorySource } = require('../../fixtures/uplink/memory-source');
const { RecordReader } = require('../../../nodes/lib/parquet/uplink/record-reader');
const { compileStage } = require('../../../nodes/lib/parquet/uplink/stage');
const { dateOf } = require('../../../nodes/lib/parquet/files/row');

const ENVELOPE = 1;
const PLAIN = compileStage({ valuePath: '', unitPath: '' });

/** @param {Parameters<MemorySource['push']>[0]} given @param {typeof PLAIN} [stage] */
function read(given, stage = PLAIN) {
  const source = new MemorySource();
  source.push(given);
  const batch = new TakenBatch();
  batch.load(source.take(batch.buffer, batch.meta, false, false), 1, 0);
  return new RecordReader('gw').read(batch, stage);
}

test('makes a row of each record of a batch, with its own key', () => {
  const rows = read({
    class: 2,
    records: [
      { device: 'a/b', topic: 'x', payload: '21.5' },
      { device: 'c', topic: '', payload: Buffer.from([0xff, 0]) }
    ]
  });
  expect(rows).toMatchObject([
    {
      gateway: 'gw',
      boot: '1000',
      class: 2,
      sequence: 1,
      part: 0,
      device: 'a/b',
      topic: 'x',
      value: 21.5,
      unit: null
    },
    { part: 1, device: 'c', topic: '', value: null }
  ]);
  expect(Buffer.from(rows[1].payload)).toEqual(Buffer.from([0xff, 0]));
});

test('keeps its payload when the bytes of the batch are used again', () => {
  const source = new MemorySource();
  source.push({ payload: 'first' });
  source.push({ payload: 'other' });
  const batch = new TakenBatch();
  const reader = new RecordReader('gw');
  const take = (/** @type {number} */ order) => {
    batch.load(source.take(batch.buffer, batch.meta, false, false), order, 0);
    return reader.read(batch, PLAIN);
  };
  const [one] = take(1);
  const [two] = take(2);
  expect([one, two].map(({ payload }) => Buffer.from(payload).toString())).toEqual(['first', 'other']);
  expect(one.part).toBe(-1);
});

test('makes a row of each line of an envelope', () => {
  const lines = [
    '{"k":"gw/1/3/1","d":"a","t":"x","ts":1000,"s":7,"c":3,"p":{"v":4,"u":"bar"}}',
    '{"d":"b","t":"y","ts":2000,"s":8,"c":2,"b":"AAE="}'
  ];
  const stage = compileStage({ valuePath: '$.v', unitPath: '$.u' });
  const rows = read({ kind: ENVELOPE, payload: lines.join('\n'), count: 2 }, stage);
  expect(rows).toMatchObject([
    { device: 'a', topic: 'x', ts: 1000, seq: 7, class: 3, part: 0, value: 4, unit: 'bar' },
    { device: 'b', topic: 'y', ts: 2000, seq: 8, class: 3, part: 1, value: null, unit: null }
  ]);
  expect(rows.map(({ payload }) => Buffer.from(payload).toString('latin1'))).toEqual([
    '{"v":4,"u":"bar"}',
    '\0\x01'
  ]);
});

test.each([['no line'], ['{"d":"a"}\n{"d":"b","t":"y","ts":2000,"s":8,"c":2,"p":1}'], ['']])(
  'keeps an envelope that has something else in it as one row: %j',
  (payload) => {
    const rows = read({ kind: ENVELOPE, payload, count: 1 });
    expect(rows).toHaveLength(1);
    expect(Buffer.from(rows[0].payload).toString()).toBe(payload);
  }
);

test.each([
  ['21.5', '', 21.5],
  [' -1e3 ', '', -1000],
  ['+.5', '', 0.5],
  ['"5"', '', null],
  ['true', '', 1],
  ['{"t":5}', '', null],
  ['{"t":5}', '$.t', 5],
  ['{"t":"5"}', '$.t', null],
  ['[1,2]', '$[1]', 2],
  ['{"__proto__":1}', '$.toString', null],
  ['{"t":', '$.t', null],
  ['1e999', '', null],
  ['', '', null],
  ['NaN', '', null],
  [`{"t":1,"x":"${'y'.repeat(2 ** 20)}"}`, '$.t', null]
])('reads %.20j at "%s" as %p', (payload, valuePath, value) => {
  const [row] = read({ payload }, compileStage({ valuePath, unitPath: '' }));
  expect(row.value).toBe(value);
});

test.each([
  [0, '1970-01-01'],
  [Date.parse('2026-11-30T23:59:59.999Z'), '2026-11-30'],
  [Date.parse('2026-12-01T00:00:00Z'), '2026-12-01'],
  [Date.parse('2026-11-30T00:00:00Z'), '2026-11-30'],
  [-1, '__HIVE_DEFAULT_PARTITION__'],
  [253402300800000, '__HIVE_DEFAULT_PARTITION__'],
  [NaN, '__HIVE_DEFAULT_PARTITION__']
])('puts the time %p into the folder %s', (ts, date) => {
  expect(dateOf(ts)).toBe(date);
});

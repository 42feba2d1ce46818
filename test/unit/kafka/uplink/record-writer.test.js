'use strict';

const { RecordWriter } = require('../../../../nodes/lib/kafka/uplink/record-writer');
const { checkStage, compileStage } = require('../../../../nodes/lib/kafka/uplink/stage');

const RECORDS_KIND = 2;
const HEAD_BYTES = 8;
const stage = compileStage(checkStage({}), 'gw');

/**
 * A batch of records as the engine gives it.
 * @param {{ cls: number, first: number, at: number, records: [string, string, string][] }} parts at: ms since 1970;
 *   records: device, topic and value of each
 */
function batchOf({ cls, first, at, records }) {
  const entries = records.map(([device, topic, value]) => {
    const head = Buffer.alloc(HEAD_BYTES);
    head[1] = device.length - 1;
    head.writeUInt16LE(topic.length, 2);
    return Buffer.concat([head, Buffer.from(device + topic + value)]);
  });
  const meta = new Float64Array(16);
  meta[6] = meta[7] = at;
  meta[12] = 36;
  meta[13] = first;
  const starts = new Uint32Array(records.length + 1);
  entries.forEach((entry, i) => (starts[i + 1] = starts[i] + entry.length));
  const batch = { buffer: Buffer.concat(entries), kind: RECORDS_KIND, meta, starts, class: cls, order: 1 };
  return /** @type {any} */ ({ ...batch, isEnvelope: false, isBacklog: false, records: records.length });
}

/** @param {import('../../../../nodes/lib/kafka/uplink/record-writer').Message} message */
function shown({ key, value, headers, timestamp }) {
  const texts = headers.map(String);
  const named = Object.fromEntries(texts.flatMap((name, i) => (i % 2 === 0 ? [[name, texts[i + 1]]] : [])));
  return { key: String(key), value: String(value), timestamp, ...named };
}

test('writes the records of two classes, which count their batches on their own', () => {
  const writer = new RecordWriter('gw');
  const batches = [
    batchOf({ cls: 2, first: 7, at: 1000, records: [['a', 't/a', '1']] }),
    batchOf({ cls: 3, first: 8, at: 2000, records: [['b', 't/b', '2']] })
  ];
  const seen = batches.map((batch) => {
    writer.bytesOf(batch, 0);
    return [
      writer.topicOf(batch, 0, stage),
      String(writer.keyOf(batch, 0)),
      shown(writer.write(batch, 0, stage))
    ];
  });
  expect(seen[0].slice(1)).toEqual([
    'a',
    { value: '1', timestamp: 1000, topic: 't/a', ts: '1000', class: '2', key: 'gw/10/2/7.0' }
  ]);
  expect(seen[1][2]).toMatchObject({
    value: '2',
    timestamp: 2000,
    topic: 't/b',
    class: '3',
    key: 'gw/10/3/8.0'
  });
  expect(seen[0][0]).not.toBe(seen[1][0]);
});

test('writes other records when the object of a batch is used again', () => {
  const writer = new RecordWriter('gw');
  const batch = batchOf({ cls: 3, first: 1, at: 1000, records: [['a', 'x', '1']] });
  expect(shown(writer.write(batch, 0, stage))).toMatchObject({ value: '1', key: 'gw/10/3/1.0' });
  const next = batchOf({ cls: 3, first: 2, at: 3000, records: [['b', 'y', '2']] });
  Object.assign(batch, next, { order: 2 });
  expect(shown(writer.write(batch, 0, stage))).toMatchObject({
    value: '2',
    topic: 'y',
    key: 'gw/10/3/2.0',
    ts: '3000'
  });
});

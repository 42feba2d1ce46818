'use strict';

const { toRecordArgs } = require('../../../nodes/lib/kafka/source/message-record');

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const options = /** @type {const} */ ({ deviceFrom: 'key', device: '', classHeader: 'class', class: 0 });

/** @param {Record<string, string>} [headers] */
const message = (headers = {}) => ({
  id: 1,
  topic: 'readings',
  key: Buffer.from('pump-1'),
  value: Buffer.from('{"v":1}'),
  headers: /** @type {[string, Buffer][]} */ (
    Object.entries(headers).map(([name, value]) => [name, Buffer.from(value)])
  ),
  ts: 1700000000000
});

test('makes a record of the key, the value and the time', () => {
  expect(toRecordArgs(message(), options)).toEqual({
    deviceId: 'pump-1',
    topic: 'readings',
    payload: Buffer.from('{"v":1}'),
    cls: 3,
    flags: 1,
    ts: 1700000000000,
    seq: -1,
    trace: ''
  });
});

test('uses the headers of a kafka uplink: topic, class and trace context', () => {
  const headers = { topic: 'd/pump-1/t', class: 'critical', traceparent: TRACEPARENT, tracestate: 'a=b' };
  expect(toRecordArgs(message(headers), options)).toMatchObject({
    topic: 'd/pump-1/t',
    cls: 1,
    trace: `${TRACEPARENT}a=b`
  });
});

test.each([
  ['0', 0],
  ['4294967295', 4294967295],
  ['4294967296', -1],
  ['-1', -1],
  ['1e3', -1],
  ['', -1],
  ['99999999999', -1]
])('has the number of the header seq %s: %i', (seq, expected) => {
  expect(toRecordArgs(message({ seq }), options).seq).toBe(expected);
});

test.each([
  [-1, 0],
  [0, 0],
  [NaN, 0],
  [8.64e15, 8.64e15],
  [1.7e18, 0]
])('takes the time %d of the record as %d, where 0 is the time of arrival', (ts, expected) => {
  expect(toRecordArgs({ ...message(), ts }, options).ts).toBe(expected);
});

test('takes the time of the header ts if the record has none', () => {
  expect(toRecordArgs({ ...message({ ts: '1700000000001' }), ts: -1 }, options).ts).toBe(1700000000001);
  expect(toRecordArgs({ ...message({ ts: 'soon' }), ts: -1 }, options).ts).toBe(0);
});

test('keeps the name of the topic if the header is not a topic to publish to', () => {
  expect(toRecordArgs(message({ topic: 'd/#' }), options).topic).toBe('readings');
});

test('refuses a record without a device, with a sentence', () => {
  expect(() => toRecordArgs({ ...message(), key: null }, options)).toThrow(/its key is missing or empty/);
  expect(() => toRecordArgs(message(), { ...options, deviceFrom: 'header', device: 'id' })).toThrow(
    /its header "id" is missing or empty/
  );
});

'use strict';

const native = require('../../../native');
const { frameLength, frameStage, frameMessage, sealReasons } = require('../../../nodes/lib/base/frame');
const { writeFrame } = require('../../nodes/support/frames');

test('turns a record frame into a record message', () => {
  const payload = Buffer.from([0, 255, 10]);
  const bytes = writeFrame({
    stage: 9,
    cls: 2,
    flags: 3,
    seq: 4294967295,
    ts: 1.5,
    device: 'dé',
    topic: 't/1',
    payload
  });
  expect(frameLength(bytes, 0, bytes.length)).toBe(bytes.length);
  expect(frameStage(bytes, 0)).toBe(9);
  expect(frameMessage(bytes, 0, { protocol: 'mqtt', nodeId: 'n' })).toEqual({
    topic: 't/1',
    payload,
    deviceId: 'dé',
    priority: 2,
    ts: 1.5,
    seq: 4294967295,
    qos: 1,
    retain: true,
    source: { protocol: 'mqtt', nodeId: 'n' }
  });
});

test('turns the trace of a record into properties', () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const bytes = writeFrame({ stage: 1, payload: Buffer.from('x'), trace: `${traceparent}a=b` });
  expect(frameMessage(bytes, 0, undefined)).toMatchObject({
    payload: Buffer.from('x'),
    traceparent,
    tracestate: 'a=b'
  });
  expect(frameMessage(writeFrame({ stage: 1 }), 0, undefined)).not.toHaveProperty('traceparent');
});

test('adds the members of the note to the message', () => {
  const note = '{"forecast":{"expected":21.5}}';
  const bytes = writeFrame({ stage: 1, payload: Buffer.from('x'), trace: '', note });
  expect(frameMessage(bytes, 0, undefined)).toMatchObject({
    payload: Buffer.from('x'),
    forecast: { expected: 21.5 }
  });
});

test('omits the source of a record whose origin is unknown', () => {
  expect(frameMessage(writeFrame({ stage: 1 }), 0, undefined)).not.toHaveProperty('source');
});

test('turns an envelope frame into a batch message', () => {
  const payload = Buffer.from('{}\n');
  const bytes = writeFrame({
    stage: 1,
    kind: 1,
    cls: 4,
    reason: 2,
    count: 3,
    ts: 5,
    lastTs: 6,
    batchId: 2 ** 40,
    bytes: 77,
    payload
  });
  expect(frameMessage(bytes, 0, undefined)).toEqual({
    topic: '',
    payload,
    batch: { id: 2 ** 40, count: 3, bytes: 77, priority: 4, firstTs: 5, lastTs: 6, reason: 'delay' }
  });
});

test('copies the payload because the buffer is reused', () => {
  const bytes = writeFrame({ stage: 1, payload: Buffer.from('abc') });
  const msg = frameMessage(bytes, 0, undefined);
  bytes.fill(0);
  expect(msg.payload.toString()).toBe('abc');
});

test('reads consecutive frames', () => {
  const bytes = Buffer.concat([
    writeFrame({ stage: 1, topic: 'abc' }),
    writeFrame({ stage: 2, topic: 'abcdefghi' })
  ]);
  const second = frameLength(bytes, 0, bytes.length);
  expect(frameStage(bytes, second)).toBe(2);
  expect(second + frameLength(bytes, second, bytes.length)).toBe(bytes.length);
});

test.each([
  ['no bytes', Buffer.alloc(0)],
  ['one byte short of a header', Buffer.alloc(79)],
  ['a length of zero', Buffer.alloc(80)],
  ['a length beyond the end', Buffer.concat([Buffer.from([88, 0, 0, 0]), Buffer.alloc(80)])],
  ['a length that is no multiple of 8', Buffer.concat([Buffer.from([81, 0, 0, 0]), Buffer.alloc(80)])]
])('rejects %s as a frame', (_what, bytes) => {
  expect(() => frameLength(bytes, 0, bytes.length)).toThrow(RangeError);
});

test('refuses strings that do not fit into the frame', () => {
  const bytes = writeFrame({ stage: 1 });
  bytes.writeUInt32LE(1, 28);
  expect(() => frameMessage(bytes, 0, undefined)).toThrow(/is truncated/);
});

test('names the reasons to seal a batch as the engine does', () => {
  expect(sealReasons).toEqual(native.SealReason);
});

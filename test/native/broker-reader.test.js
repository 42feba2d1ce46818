'use strict';

const mqttPacket = require('mqtt-packet');
const { BrokerReader } = require('../../native');

const make = (packet, protocolVersion = 5) => mqttPacket.generate(packet, { protocolVersion });
const connack = make({
  cmd: 'connack',
  reasonCode: 0,
  sessionPresent: false,
  properties: { receiveMaximum: 20 }
});
const stream = [
  connack,
  make({ cmd: 'puback', messageId: 1, reasonCode: 0 }),
  make({ cmd: 'puback', messageId: 258 }, 4),
  make({ cmd: 'puback', messageId: 65535, reasonCode: 0x87, properties: { reasonString: 'r'.repeat(200) } }),
  make({ cmd: 'pingresp' }),
  make({ cmd: 'publish', topic: 't', payload: Buffer.alloc(300, '@\x02') }),
  make({ cmd: 'puback', messageId: 3, reasonCode: 0x10 }),
  make({ cmd: 'disconnect', reasonCode: 0x8b })
];
const others = Buffer.concat([stream[0], stream[4], stream[5], stream[7]]);
const acks = [
  [1, 0],
  [258, 0],
  [65535, 0x87],
  [3, 0x10]
];

function collect() {
  const seen = { acks: [], others: [] };
  const reader = new BrokerReader(
    (pairs) => {
      for (let i = 0; i < pairs.length; i += 2) seen.acks.push([pairs[i], pairs[i + 1]]);
    },
    (bytes) => seen.others.push(bytes)
  );
  return { reader, seen, rest: () => Buffer.concat(seen.others) };
}

test('reads PUBACKs, and leaves everything else unchanged', () => {
  const { reader, seen, rest } = collect();
  reader.read(Buffer.concat(stream));
  expect(seen.acks).toEqual(acks);
  expect(rest()).toEqual(others);
});

test('reads the same when split at every byte', () => {
  const whole = Buffer.concat(stream);
  for (let at = 0; at <= whole.length; at++) {
    const { reader, seen, rest } = collect();
    reader.read(whole.subarray(0, at));
    reader.read(whole.subarray(at));
    expect(seen.acks).toEqual(acks);
    expect(rest()).toEqual(others);
  }
});

test('reads the same byte by byte', () => {
  const { reader, seen, rest } = collect();
  for (const byte of Buffer.concat(stream)) reader.read(Buffer.from([byte]));
  expect(seen.acks).toEqual(acks);
  expect(rest()).toEqual(others);
});

test.each([
  ['a PUBACK without an identifier', [0x40, 0x00]],
  ['a PUBACK of one byte', [0x40, 0x01, 0x05]],
  ['a PUBACK of one byte, its length in two', [0x40, 0x81, 0x00, 0x05]],
  ['a PUBACK of nothing, its length in three', [0x40, 0x80, 0x80, 0x00]],
  ['a length of five bytes', [0x40, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00]]
])('leaves %s to mqtt.js', (_, bytes) => {
  const { reader, seen, rest } = collect();
  reader.read(Buffer.from(bytes));
  expect(seen.acks).toEqual([]);
  expect(rest()).toEqual(Buffer.from(bytes));
});

test('passes a huge foreign packet without holding it', () => {
  const { reader, rest, seen } = collect();
  const huge = Buffer.alloc(1000000);
  huge.set([0x30, 0xbb, 0x84, 0x3d]); // 4 + 999995 bytes
  reader.read(huge.subarray(0, 10));
  reader.read(huge.subarray(10, 500000));
  expect(rest()).toHaveLength(500000);
  reader.read(Buffer.concat([huge.subarray(500000, 999999), stream[1]]));
  expect(seen.acks).toEqual([[1, 0]]);
});

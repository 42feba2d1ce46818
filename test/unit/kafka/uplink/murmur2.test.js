'use strict';

const { murmur2, partitionOf } = require('../../../../nodes/lib/kafka/uplink/murmur2');

// The vectors of Kafka's own test (org.apache.kafka.common.utils.UtilsTest).
test.each([
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ['abc', 479470107]
])('hashes %s as Java does', (key, hash) => expect(murmur2(Buffer.from(key))).toBe(hash));

test('hashes the empty key, and chooses a partition that exists', () => {
  expect(partitionOf(Buffer.alloc(0), 1)).toBe(0);
  for (let i = 0; i < 1000; i++) {
    const partition = partitionOf(Buffer.from(`device-${i}`), 7);
    expect(partition >= 0 && partition < 7).toBe(true);
  }
});

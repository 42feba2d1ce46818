'use strict';
// A broker's packets to a source: it reads PUBLISH and PUBREL itself and leaves the rest to mqtt.js; nothing malformed
// passes.

const { PublishTap } = require('../../../nodes/lib/sources/mqtt-source/publish-tap');

/** @param {number} head @param {number[] | Buffer} body */
const packet = (head, body) =>
  Buffer.concat([Buffer.from([head, ...lengthOf(body.length)]), Buffer.from(body)]);
/** @param {number} length */
function lengthOf(length) {
  const bytes = [];
  do {
    bytes.push((length % 128) | (length >= 128 ? 128 : 0));
    length = Math.floor(length / 128);
  } while (length > 0);
  return bytes;
}
const text = (value) => Buffer.concat([Buffer.from([0, Buffer.byteLength(value)]), Buffer.from(value)]);
const publish = (head, topic, ...rest) => packet(head, Buffer.concat([text(topic), ...rest.map((each) => Buffer.from(each))])); // prettier-ignore

/** Reads everything in pieces of `size`. */
function read(bytes, { version = 4, max = 1000, size = bytes.length, hasRoom = () => true } = {}) {
  const seen = { packets: [], large: [], released: [], others: [] };
  const tap = new PublishTap(version, max, {
    onPublish: ({ payload, ...rest }) => seen.packets.push({ ...rest, payload: String(payload) }),
    onTooLarge: (bytesOf, head) => seen.large.push([bytesOf, head]),
    onPubrel: (id) => seen.released.push(id),
    onOther: (other) => seen.others.push(...other),
    hasRoom
  });
  for (let at = 0; at < bytes.length; at += size) tap.read(bytes.subarray(at, at + size));
  return { ...seen, tap };
}

const user = (name, value) => Buffer.concat([Buffer.from([0x26]), text(name), text(value)]);
const properties = (...each) => {
  const all = Buffer.concat(each);
  return Buffer.concat([Buffer.from(lengthOf(all.length)), all]);
};
const ALL = properties(
  Buffer.from([0x01, 1]),
  Buffer.from([0x02, 0, 0, 0, 9]),
  Buffer.concat([Buffer.from([0x03]), text('application/json')]),
  Buffer.concat([Buffer.from([0x08]), text('answers')]),
  Buffer.concat([Buffer.from([0x09]), text('x')]),
  Buffer.from([0x0b, 0xff, 0x01]),
  user('priority', '1'),
  user('device', 'é')
);

test('reads packets of all kinds, in pieces of every size', () => {
  const bytes = Buffer.concat([
    packet(0x20, [0, 0]),
    publish(0x30, 'a', 'zero'),
    publish(0x3b, 'a/b', [0, 7], 'one'),
    packet(0xd0, []),
    publish(0x34, 'ä', [1, 0], ''),
    packet(0x62, [1, 0])
  ]);
  for (let size = 1; size <= bytes.length; size++) {
    const { packets, released, others } = read(bytes, { size });
    expect(packets).toEqual([
      { topic: 'a', qos: 0, id: 0, dup: false, retain: false, userProperties: [], payload: 'zero' },
      { topic: 'a/b', qos: 1, id: 7, dup: true, retain: true, userProperties: [], payload: 'one' },
      { topic: 'ä', qos: 2, id: 256, dup: false, retain: false, userProperties: [], payload: '' }
    ]);
    expect(released).toEqual([256]);
    expect(others).toEqual([0x20, 2, 0, 0, 0xd0, 0]);
  }
});

test('skips all properties of MQTT 5, and keeps user properties', () => {
  const bytes = publish(0x32, 'a', [0, 1], ALL, 'p');
  for (let size = 1; size <= bytes.length; size++) {
    expect(read(bytes, { version: 5, size }).packets).toMatchObject([
      { payload: 'p', userProperties: [['priority', '1'], ['device', 'é']] } // prettier-ignore
    ]);
  }
});

const alone = (property) => publish(0x30, 'a', properties(Buffer.from(property)));

test.each([
  ['QoS 3', 4, publish(0x36, 'a', [0, 1])],
  ['DUP with QoS 0', 4, publish(0x38, 'a')],
  ['identifier 0', 4, publish(0x32, 'a', [0, 0])],
  ['no identifier', 4, publish(0x32, 'a')],
  ['an empty topic', 4, publish(0x30, '')],
  ['a topic with +', 4, publish(0x30, 'a/+')],
  ['a topic with #', 4, publish(0x30, '#')],
  ['a topic with NUL', 4, publish(0x30, 'a\0')],
  ['a topic that is not UTF-8', 4, packet(0x30, [0, 2, 0xc3, 0x28])],
  ['a topic with a surrogate', 4, packet(0x30, [0, 3, 0xed, 0xa0, 0x80])],
  ['a topic longer than the packet', 4, packet(0x30, [0, 9, 0x61])],
  ['an empty PUBLISH', 4, packet(0x30, [])],
  ['a length of five bytes', 4, Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, 1])],
  ['another packet over the limit', 4, packet(0x20, Buffer.alloc(2000))],
  ['a large PUBLISH whose topic is longer', 4, packet(0x30, Buffer.concat([Buffer.from([0xff, 0xff]), Buffer.alloc(2000)]))], // prettier-ignore
  ['a PUBREL with wrong flags', 4, packet(0x60, [0, 1])],
  ['a PUBREL without identifier', 4, packet(0x62, [])],
  ['a PUBREL of identifier 0', 4, packet(0x62, [0, 0])],
  ['properties longer than the packet', 5, publish(0x30, 'a', [9])],
  ['no properties', 5, publish(0x30, 'a')],
  ['an unknown property', 5, alone([0x7f, 0])],
  ['a property of other packets', 5, alone([0x11, 0, 0, 0, 1])],
  ['a property twice', 5, alone([0x01, 1, 0x01, 1])],
  ['a property that is cut off', 5, alone([0x02, 0, 0])],
  ['a topic alias', 5, alone([0x23, 0, 1])],
  ['a number of five bytes', 5, alone([0x0b, 0xff, 0xff, 0xff, 0xff, 1])],
  ['a user property that is not UTF-8', 5, alone([0x26, 0, 1, 0xff, 0, 0])]
])('rejects %s as malformed', (_name, version, bytes) => {
  for (const size of [bytes.length, 1]) {
    expect(() => read(bytes, { version, size })).toThrow(/invalid MQTT/);
  }
});

test('never holds a PUBLISH over the limit: reports its identifier and skips its bytes', () => {
  const large = publish(0x32, 'a', [0, 5], Buffer.alloc(5000));
  const bytes = Buffer.concat([large, publish(0x30, 'b', 'next')]);
  for (const size of [1, 7, 100, bytes.length]) {
    const { packets, large: reported, tap } = read(bytes, { size });
    expect(reported).toEqual([[large.length, { qos: 1, id: 5 }]]);
    expect(packets).toMatchObject([{ topic: 'b' }]);
    expect(tap.rest).toHaveLength(0);
  }
});

test('holds the next PUBLISH, and everything behind it, without room', () => {
  let room = 1;
  const bytes = Buffer.concat([publish(0x30, 'a'), publish(0x30, 'b'), packet(0xd0, []), publish(0x30, 'c')]);
  const { packets, others, tap } = read(bytes, { hasRoom: () => room-- > 0 });
  expect(packets).toMatchObject([{ topic: 'a' }]);
  expect([tap.waits, others]).toEqual([true, []]);
  room = 2;
  tap.resume();
  expect(packets.map(({ topic }) => topic)).toEqual(['a', 'b', 'c']);
  expect([tap.waits, others]).toEqual([false, [0xd0, 0]]);
});

'use strict';
// Writes the seeds of the MQTT fuzzers: node native/fuzz/make-mqtt-corpus.js
// Each is a stream as a device sends it, and two bytes that mqtt_session_fuzz.cc reads as its mode.

const fs = require('node:fs');
const path = require('node:path');

const folder = path.join(__dirname, 'corpus', 'mqtt');

/** @param {number} value */
const u16 = (value) => Buffer.from([value >> 8, value & 255]);

/** @param {string | Buffer} text */
const str = (text) => Buffer.concat([u16(Buffer.byteLength(text)), Buffer.from(text)]);

/**
 * @param {number} first
 * @param {...(string | Buffer | number[])} parts
 */
function packet(first, ...parts) {
  const body = Buffer.concat(parts.map((part) => Buffer.from(/** @type {any} */ (part))));
  const head = [first];
  let left = body.length;
  for (; left >= 128; left >>= 7) head.push((left & 127) | 128);
  head.push(left);
  return Buffer.concat([Buffer.from(head), body]);
}

const connect = packet(0x10, str('MQTT'), [4, 2, 0, 60], str('dev-1'));
const publish0 = packet(0x30, str('a/b'), '21.5');
/** @param {number} id */
const publish1 = (id) => packet(0x32, str('plant/7'), u16(id), '{"t":21.5}');
const subscribe = packet(0x82, u16(2), str('cmd/#'), [1], str('+/x'), [2], str('no'), [0]);
const unsubscribe = packet(0xa2, u16(3), str('cmd/#'), str('+/x'));
const ping = packet(0xc0);
const disconnect = packet(0xe0);

/** @param {...(string | Buffer | number[])} parts */
const props = (...parts) => packet(0, ...parts).subarray(1);
const connect5 = packet(0x10, str('MQTT'), [5, 2, 0, 60], props(), str('dev-5'));
/**
 * @param {number} first
 * @param {string} topic
 * @param {Buffer} properties
 * @param {string | Buffer} payload
 */
const publish5 = (first, topic, properties, payload) =>
  packet(first, str(topic), first & 6 ? u16(7) : [], properties, payload);
const subscribe5 = packet(0x82, u16(2), props([0x0b, 5]), str('cmd/#'), [0x2d], str('+/b'), [1]);
const full5 = packet(
  ...[0x10, str('MQTT'), [5, 0xee, 0, 60]],
  props(
    [0x11, 0, 0, 0, 10, 0x21, 0, 2, 0x27, 0, 0, 1, 0, 0x22, 0, 5, 0x17, 0, 0x19, 1, 0x26],
    str('k'),
    str('v')
  ),
  ...[str('d'), props([0x18, 0, 0, 0, 5, 1, 1, 0x26], str('k'), str('v')), str('w/d'), str('gone')],
  ...[str('user'), str('pass')]
);

const CONNECTED = 1; // the fuzzer puts a CONNECT before the stream
const LATE = 2; // acknowledged out of order
const SMALL = 4; // tight limits
const FIVE = 8; // a CONNECT of MQTT 5 instead
const REFUSES = 16; // some records are refused

/** @type {Record<string, [number, ...Buffer[]]>} */
const seeds = {
  connect: [0, connect],
  'connect-full': [
    0,
    packet(0x10, str('MQTT'), [4, 0xee, 0, 60], str('d'), str('w/d'), str('gone'), str('user'), str('pass'))
  ],
  'connect-31': [0, packet(0x10, str('MQIsdp'), [3, 0xc2, 0, 10], str('old'), str('user'))],
  'connect-5': [0, packet(0x10, str('MQTT'), [5, 2, 0, 60, 3, 0x21, 0, 10], str('new'))],
  'connect-anonymous': [0, packet(0x10, str('MQTT'), [4, 0, 0, 0], str(''))],
  http: [0, Buffer.from('GET / HTTP/1.1\r\nHost: gateway\r\n\r\n')],
  session: [0, connect, publish0, publish1(1), subscribe, ping, unsubscribe, disconnect],
  publish: [CONNECTED, publish0, publish1(1), packet(0x3b, str('a'), u16(1))],
  'publish-late': [CONNECTED | LATE, ...[5, 6, 7, 5, 8].map(publish1)],
  'publish-small': [CONNECTED | SMALL, publish1(1), packet(0x30, str('a/b/c/d'))],
  'publish-large': [CONNECTED, packet(0x31, str('large'), Buffer.alloc(300, 'x')), publish1(9)],
  'publish-utf8': [CONNECTED, packet(0x30, str('grüße/\u{1f321}/\ufeff'), 'x')],
  'publish-bad-utf8': [CONNECTED, packet(0x30, str(Buffer.from([0x61, 0xed, 0xa0, 0x80])))],
  'publish-qos2': [
    CONNECTED,
    packet(0x34, str('a'), u16(1)),
    packet(0x3c, str('a'), u16(1)),
    packet(0x62, u16(1))
  ],
  'publish-qos2-late': [
    CONNECTED | LATE,
    ...[1, 2, 3].map((id) => packet(0x34, str('a'), u16(id))),
    packet(0x62, u16(1))
  ],
  command: [CONNECTED, subscribe, publish0, packet(0x40, u16(1)), packet(0x40, u16(2)), publish1(1)],
  'command-small': [CONNECTED | SMALL, packet(0x82, u16(2), str('#'), [1]), packet(0x40, u16(1))],
  'connect-5-full': [0, full5],
  'connect-5-auth': [0, packet(0x10, str('MQTT'), [5, 2, 0, 0], props([0x15], str('SCRAM')), str('d'))],
  'connect-5-anonymous': [0, packet(0x10, str('MQTT'), [5, 0, 0, 0], props(), str('')), ping],
  'session-5': [
    ...[0, connect5, publish5(0x30, 'a/b', props(), '1'), subscribe5, publish5(0x32, 'a/b', props(), '2')],
    ...[packet(0x40, u16(1), [0x87]), packet(0xa2, u16(3), props(), str('cmd/#')), packet(0xe0, [4])]
  ],
  'publish-5': [
    FIVE,
    publish5(
      0x32,
      'a/b',
      props([1, 1, 2, 0, 0, 0, 60, 0x26], str('k'), str('v'), [3], str('text/plain')),
      'x'
    ),
    publish5(0x32, 'a/b', props([8], str('r'), [9], str('c'), [0x23, 0, 1]), 'y'),
    publish5(0x30, '', props([0x23, 0, 1]), 'z'),
    publish5(0x32, 'a', props([1, 1]), Buffer.from([0xff]))
  ],
  'publish-5-small': [
    FIVE | SMALL,
    publish5(0x32, 'a/b', props([0x23, 0, 2]), 'x'),
    publish5(0x34, '', props([0x23, 0, 2]), '')
  ],
  'publish-5-refused': [
    FIVE | REFUSES,
    publish5(0x32, 'a', props(), ''),
    publish5(0x34, 'a', props(), '123')
  ],
  'qos2-5': [
    FIVE,
    publish5(0x34, 'a', props(), '1'),
    publish5(0x3c, 'a', props(), '1'),
    packet(0x62, u16(7), [0], props())
  ],
  'subscribe-5': [
    FIVE,
    subscribe5,
    packet(0x82, u16(2), props(), str('$share/g/a'), [1]),
    packet(0x40, u16(1), [0], props([0x1f], str('why')))
  ],
  'disconnect-5': [FIVE, packet(0xe0, [0], props([0x11, 0, 0, 0, 20, 0x1f], str('bye')))],
  'auth-5': [FIVE, packet(0xf0, [0x18], props([0x15], str('SCRAM')))],
  subscribe: [CONNECTED, subscribe, unsubscribe, packet(0x40, u16(9))],
  'subscribe-bad': [CONNECTED, packet(0x82, u16(2), str('a#'), [1])],
  'huge-claim': [CONNECTED, Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f, 0, 1])]
};

fs.mkdirSync(folder, { recursive: true });
for (const [name, [mode, ...packets]] of Object.entries(seeds)) {
  fs.writeFileSync(path.join(folder, name), Buffer.concat([...packets, Buffer.from([7, mode])]));
}

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

const CONNECTED = 1; // the fuzzer puts a CONNECT before the stream
const LATE = 2; // acknowledged out of order
const SMALL = 4; // tight limits

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
  'publish-qos2': [CONNECTED, packet(0x34, str('a'), u16(1))],
  subscribe: [CONNECTED, subscribe, unsubscribe, packet(0x40, u16(9))],
  'subscribe-bad': [CONNECTED, packet(0x82, u16(2), str('a#'), [1])],
  'huge-claim': [CONNECTED, Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f, 0, 1])]
};

fs.mkdirSync(folder, { recursive: true });
for (const [name, [mode, ...packets]] of Object.entries(seeds)) {
  fs.writeFileSync(path.join(folder, name), Buffer.concat([...packets, Buffer.from([7, mode])]));
}

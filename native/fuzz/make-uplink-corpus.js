'use strict';
// Writes the seeds of broker_reader_fuzz.cc and publish_writer_fuzz.cc: node native/fuzz/make-uplink-corpus.js

const fs = require('node:fs');
const path = require('node:path');

/** @param {number} value */
const u16 = (value) => Buffer.from([value >> 8, value & 255]);

/** @param {number} first @param {...(string | Buffer | number[])} parts */
function packet(first, ...parts) {
  const body = Buffer.concat(parts.map((part) => Buffer.from(/** @type {any} */ (part))));
  const head = [first];
  let left = body.length;
  for (; left >= 128; left >>= 7) head.push((left & 127) | 128);
  return Buffer.concat([Buffer.from([...head, left]), body]);
}

const ping = packet(0xd0);
/** @param {number} id @param {number[]} code */
const puback = (id, ...code) => packet(0x40, u16(id), code);
const reason = packet(0x40, u16(9), [0x87, 203, 1, 0x1f, 0, 200], Buffer.alloc(200, 'r'));
const connack = packet(0x20, [0, 0, 3, 0x21, 0, 20]);
const session = [connack, puback(1, 0), puback(258), reason, ping, puback(3, 0x10), packet(0xe0, [0x8b])];
const large = packet(0x30, [0, 1], 't', Buffer.alloc(300, '@'));

/** When PassAll() comes, how the stream is cut, the stream. @type {Record<string, [number, number, ...Buffer[]]>} */
const broker = {
  session: [0, 1, ...session],
  'session-pass': [3, 0, ...session],
  'session-pass-cut': [4, 2, ...session],
  others: [0, 7, ping, large, ping, puback(2)],
  'no-identifier': [0, 3, packet(0x40), packet(0x40, [5]), Buffer.from([0x40, 0x81, 0, 5]), puback(2)],
  'no-length': [0, 4, puback(1), Buffer.from([0x40, 255, 255, 255, 255, 1]), puback(2)],
  'half-puback': [2, 5, ping, puback(1), puback(513, 0).subarray(0, 4)],
  largest: [0, 200, packet(0x40, u16(1), Buffer.alloc(65530, 'x')), puback(2)],
  larger: [0, 200, packet(0x40, u16(1), Buffer.alloc(65531, 'x')), puback(2)]
};

/** @param {string} text */
const str = (text) => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);
/** @param {number} value */
const number = (value) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
};
/** Parts of a topic: a text, 1 = the device, 2 = the record's own. @param {...(string | number)} parts */
const topic = (...parts) =>
  Buffer.concat([
    Buffer.from([parts.length]),
    ...parts.map((part) =>
      typeof part === 'string' ? Buffer.concat([Buffer.from([0]), str(part)]) : Buffer.from([part])
    )
  ]);
const key = [number(7), number(1806041088126029), number(10423)];
const gateway = [str('g'), str('g')];
const strings = [str('meter-7'), str('hall/meter-7')];
const odd = [str('x/../+/#/\0'), str('a/b')];
const lines = Buffer.from('{"d":"a","s":1}\n{"d":"b","s":2}\n');
const longText = Buffer.from([255, 0x78, 255, 254]);

/** Envelope, MQTT 5, Retain Available, DUP, flags, class - 1; identifier, key; topics, gateways, strings, payload. */
const publish = {
  single: [
    [0, 1, 1, 0, 1, 2],
    ...key,
    topic('e'),
    topic(2),
    ...gateway,
    ...strings,
    Buffer.from('{"kWh":1}')
  ],
  'single-4': [[0, 0, 0, 1, 3, 0], ...key, topic('e'), topic('a/', 1), ...gateway, ...odd, lines],
  envelope: [[1, 1, 0, 0, 0, 3], ...key, topic('gw/', 'normal'), topic(2), ...gateway, lines],
  'envelope-4': [[1, 0, 1, 1, 2, 3], ...key, topic('gw'), topic(), ...gateway, Buffer.from('{ \t}')],
  'envelope-of-flow': [
    [0, 1, 1, 1, 6, 7],
    ...key,
    topic('e'),
    topic(2),
    ...gateway,
    str('d'),
    str(''),
    lines
  ],
  brace: [[1, 1, 0, 0, 0, 3], ...key, topic('e'), topic(), ...gateway, Buffer.from('{')],
  'long-topic': [[0, 1, 0, 0, 0, 3], ...key, topic('e'), topic(2, 'x'), ...gateway, str('d'), longText],
  'too-long-topic': [[0, 1, 0, 0, 0, 3], ...key, topic('e'), topic(2, 'xx'), ...gateway, str('d'), longText],
  'long-gateway': [[1, 1, 0, 0, 0, 3], ...key, topic('e'), topic(), longText, longText, lines]
};

for (const [name, seeds] of Object.entries({ broker, publish })) {
  const folder = path.join(__dirname, 'corpus', name);
  fs.mkdirSync(folder, { recursive: true });
  for (const [seed, parts] of Object.entries(seeds)) {
    const pieces = parts.map((part) => (typeof part === 'number' ? Buffer.from([part]) : Buffer.from(part)));
    fs.writeFileSync(path.join(folder, seed), Buffer.concat(pieces));
  }
}

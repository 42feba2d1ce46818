'use strict';
// A format below a compression: the writer packs what the coder made, and an unbatch node recognizes it by its first
// byte.

const zlib = require('node:zlib');
const { FORMATS, encode, writerOf } = require('../fixtures/gateway/format-check');
const { readEnvelope } = require('../../nodes/lib/unbatch/unbatch');
const { encodingOf } = require('../../nodes/lib/unbatch/payload-encoding');

const lines = Buffer.from(
  Array.from(
    { length: 30 },
    (_, s) =>
      `${JSON.stringify({ d: 'm-7', t: 'hall', ts: 1763712000123 + s, s, c: 3, p: { temp: 21.37, on: true } })}\n`
  ).join('')
);

test.each(FORMATS)('%s with deflate and MQTT 3.1.1 has a prefix with its number', (format) => {
  const plain = encode(writerOf(format), lines);
  const packed = encode(writerOf(format, false, { compress: 'deflate' }), lines);
  expect(packed.length).toBeLessThan(plain.length / 2);
  const encoded = encodingOf({ payload: packed });
  expect(encoded).toMatchObject({ format: 1 + FORMATS.indexOf(format), encoding: 'deflate' });
  const content = zlib.inflateSync(encoded.bytes);
  expect(content.equals(plain)).toBe(true);
  expect(readEnvelope(content).records).toHaveLength(30);
});

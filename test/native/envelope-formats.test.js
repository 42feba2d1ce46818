'use strict';
// The formats of envelopes, from the PUBLISH writer to the unbatch node. ROUNDS=10000 is the long form.

const mqttPacket = require('mqtt-packet');
const { FORMATS, checkFormats, encode, writerOf } = require('../fixtures/gateway/format-check');
const { cut, readPieces } = require('../../nodes/lib/uplink/sending/envelope-pieces');
const { open, readEnvelope } = require('../../nodes/lib/unbatch/unbatch');

const line = (fields) =>
  Buffer.from(
    `${JSON.stringify({ d: 'm-7', t: 'hall', ts: 1763712000123, s: 41, c: 3, p: 21.5, ...fields })}\n`
  );
const META = Float64Array.of(1, 3, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 46656, 7, 0, 0);
const KEY = 'gw/1000/3/7';

const seed = Number(process.env.SEED) || Date.now() % 2 ** 31;
const rounds = Number(process.env.ROUNDS) || 300;
test(`every format carries ${rounds} random envelopes to the unbatch node (SEED=${seed})`, () => {
  checkFormats(seed, rounds);
}, 600000);

/**
 * @param {ReturnType<typeof writerOf>} writer
 * @param {Buffer} bytes
 * @param {{ from: number, to: number, number: number }} [piece] default: all bytes
 * @returns {any} a packet of MQTT 5
 */
function packetOf(writer, bytes, { from, to, number } = { from: 0, to: bytes.length, number: -1 }) {
  const packet = Buffer.alloc(writer.prepare(1, bytes, META, from, to, number));
  writer.write(packet, 0, 0, false);
  let read;
  const parser = mqttPacket.parser({ protocolVersion: 5 });
  parser.on('packet', (each) => (read = each));
  parser.parse(packet);
  return read;
}

test.each([
  ['json', 'application/json', '['],
  ['cbor', 'application/cbor-seq', '\xa7'],
  ['senml-json', 'application/senml+json', '['],
  ['senml-cbor', 'application/senml+cbor', '\x81']
])('%s has the content type %s in MQTT 5', (format, contentType, start) => {
  const { payload, properties } = packetOf(writerOf(/** @type {any} */ (format), true), line());
  expect(properties).toMatchObject({ contentType, userProperties: { 'seganet-key': KEY } });
  expect(payload.toString('latin1')[0]).toBe(start);
  const opened = open({ payload, userProperties: properties.userProperties }, '');
  expect(opened).toMatchObject({ key: { key: KEY }, envelope: { count: 1, faults: [] } });
});

test('NDJSON has no content type, and neither has an envelope with fields of its own, which stays NDJSON', () => {
  expect(packetOf(writerOf('ndjson', true), line()).properties).not.toHaveProperty('contentType');
  const own = line({ unit: '°C' });
  for (const format of /** @type {const} */ (['json', 'cbor', 'senml-json', 'senml-cbor'])) {
    const { payload, properties } = packetOf(writerOf(format, true), own);
    expect(properties).not.toHaveProperty('contentType');
    expect(payload.toString()).toBe(own.toString().replace('{', `{"k":"${KEY}",`));
  }
});

test('a damaged record of a CBOR sequence is reported, and those before it pass', () => {
  const bytes = encode(writerOf('cbor'), Buffer.concat([line(), line({ s: 42 }), line({ s: 43 })]));
  const damaged = readEnvelope(bytes.subarray(0, -1));
  expect(damaged).toMatchObject({ noun: 'record', count: 3, records: [{ seq: 41 }, { seq: 42 }] });
  expect(damaged.faults).toEqual([{ line: 3, reason: 'ends within a CBOR item' }]);
});

test.each(FORMATS)('the pieces of an envelope that was cut are whole envelopes in %s', (format) => {
  const writer = writerOf(format, true);
  const bytes = Buffer.concat([41, 42, 43, 44, 45].map((s) => line({ s })));
  const [whole] = readPieces(bytes, 0, bytes.length);
  const pieces = /** @type {NonNullable<ReturnType<typeof cut>>} */ (cut(bytes, whole));
  const read = pieces.map((piece) => {
    const { payload, properties } = packetOf(writer, bytes, piece);
    return open({ payload, userProperties: properties.userProperties }, '');
  });
  expect(read.map(({ key }) => key?.part)).toEqual([2, 3]);
  expect(read.map(({ envelope }) => envelope?.records.map(({ seq }) => seq))).toEqual([
    [41, 42],
    [43, 44, 45]
  ]);
});

test('an unknown format is refused', () => {
  expect(() => writerOf(/** @type {any} */ ('xml'))).toThrow(/format must be ndjson, json, cbor/);
});

'use strict';
// Compressed envelopes from PublishWriter to the records that unbatch reads.

const zlib = require('node:zlib');
const mqttPacket = require('mqtt-packet');
const { PublishWriter } = require('../../native');
const { EnvelopeError, MAX_BYTES } = require('../../nodes/lib/unbatch/envelope-error');
const { hashOf } = require('../../nodes/lib/unbatch/dictionaries');
const { MAGIC, decompress, dictionaryIn, encodingOf } = require('../../nodes/lib/unbatch/payload-encoding');
const { open } = require('../../nodes/lib/unbatch/unbatch');
const { seeded } = require('../fixtures/random');

const SEED = Number(process.env.SEGANET_TEST_SEED) || 20261124;
const BATCHES = 1000;
const ENVELOPE = 1;
const CLASSES = 9;
const topicOf = (/** @type {any[]} */ ...parts) => Array.from({ length: CLASSES }, () => parts);
const STAGE = {
  id: 7,
  topic: topicOf(Buffer.from('e')),
  recordTopic: topicOf('topic'),
  qos: /** @type {1} */ (1),
  keyRaw: Buffer.from('gw'),
  keyJson: Buffer.from('gw'),
  history: /** @type {const} */ ('none'),
  historySuffix: Buffer.from('/history')
};

/** @param {'zstd' | 'deflate'} compress @param {boolean} isV5 @param {string[]} [neverCompress] */
function writerOf(compress, isV5, neverCompress) {
  const writer = new PublishWriter();
  writer.setStages([{ ...STAGE, compress, neverCompress }]);
  writer.setLink(isV5, true);
  return writer;
}

const meta = (/** @type {number} */ sequence) =>
  Float64Array.of(1, 3, 1, 7, ENVELOPE, 0, 0, 0, 0, 0, 0, 0, 46656, sequence, 0, 0);

/** Returns the message that an mqtt in node makes of an envelope's packet. */
function sent(/** @type {PublishWriter} */ writer, /** @type {string} */ lines, isV5 = true, sequence = 1) {
  const bytes = Buffer.from(lines);
  const size = writer.prepare(7, bytes, meta(sequence), 0, bytes.length, -1);
  const out = Buffer.alloc(size);
  expect(writer.write(out, 0, 1, false)).toBe(size);
  /** @type {any} */
  let packet;
  const parser = mqttPacket.parser({ protocolVersion: isV5 ? 5 : 4 });
  parser.on('packet', (parsed) => (packet = parsed));
  parser.parse(out);
  const { userProperties } = packet.properties ?? {};
  return { topic: packet.topic, payload: packet.payload, ...(userProperties && { userProperties }), size };
}

/** Returns what unbatch makes of a message. */
function received(/** @type {any} */ msg, /** @type {Map<string, Buffer>} */ dictionaries = new Map()) {
  const encoded = encodingOf(msg);
  const payload = encoded ? decompress(encoded, dictionaries.get(encoded.dictionary)) : msg.payload;
  return open({ ...msg, payload }, '/history');
}

/** @param {(n: number) => number} random */
function lineOf(random, n = random(1e6)) {
  const device = ['meter-7', 'cam-"2"', 'ü-ß-😀', 'x'][random(4)];
  const payload = [
    () => `"p":{"kWh":${n / 10},"on":true,"name":"Zähler ${n % 7}"}`,
    () => `"p":[${Array.from({ length: random(40) }, () => random(1000)).join(',')}]`,
    () => `"b":"${Buffer.from(Array.from({ length: random(200) }, () => random(256))).toString('base64')}"`,
    () => '"p":null'
  ][random(4)]();
  return `{"d":${JSON.stringify(device)},"t":"hall/${n % 50}","ts":${1763712000000 + n},"s":${n},"c":3,${payload}}\n`;
}

const linesOf = (/** @type {(n: number) => number} */ random, /** @type {number} */ count) =>
  Array.from({ length: count }, () => lineOf(random)).join('');

const typical = (/** @type {number} */ count, from = 0) =>
  Array.from({ length: count }, (_, i) => {
    const n = from + i;
    return `{"d":"shelly-${n % 20}","t":"shellies/${n % 20}/status","ts":${1763712000000 + n * 50},"s":${n},"c":3,"p":{"temperature":${20 + (n % 70) / 10},"apower":${(n * 37) % 900},"voltage":230.${n % 10}}}\n`;
  }).join('');

const compressions = PublishWriter.compressions();

test('this Node.js has both compressions', () => {
  expect(compressions).toEqual(['zstd', 'deflate']);
});

test(`gives back identical records of ${BATCHES} batches, seed ${SEED}`, () => {
  const { integer: random } = seeded(SEED);
  const kinds = compressions.flatMap((compress) => [true, false].map((isV5) => ({ compress, isV5 })));
  const writers = kinds.map(({ compress, isV5 }) => writerOf(compress, isV5));
  /** @type {Map<string, Buffer>} */
  const dictionaries = new Map();
  let compressed = 0;
  let withDictionary = 0;
  for (let i = 0; i < BATCHES; i++) {
    const { isV5 } = kinds[i % kinds.length];
    const writer = writers[i % kinds.length];
    if (i % 100 === 50) {
      for (const each of writers) {
        const content = each.proposeDictionary(7, 1 + random(32768));
        dictionaries.set(hashOf(content), content);
        const isSet = each.setDictionary(7, Buffer.from(hashOf(content), 'hex'), content);
        expect(isSet).toBe(true);
      }
    }
    const lines = linesOf(random, 1 + random(20));
    const msg = sent(writer, lines, isV5, i);
    const encoded = encodingOf(msg);
    if (encoded) compressed++;
    if (encoded?.dictionary) withDictionary++;
    const { envelope, key } = received(msg, dictionaries);
    const expected = open({ payload: lines, topic: 'e' }, '/history');
    expect([i, envelope?.faults]).toEqual([i, []]);
    expect(envelope?.records).toEqual(expected.envelope?.records);
    expect(key?.key).toBe(`gw/1000/3/${i}`);
  }
  expect(compressed).toBeGreaterThan(BATCHES / 2);
  expect(withDictionary).toBeGreaterThan(BATCHES / 4);
});

test.each(compressions)(
  'makes 20 typical records of %s a fifth, and one with a dictionary less than half',
  (compress) => {
    const writer = writerOf(compress, true);
    for (let i = 0; i < 64; i++) sent(writer, typical(1, i * 20));
    const lines = typical(20, 5000);
    const plain = sent(writer, lines);
    expect(plain.payload.length).toBeLessThan(lines.length / 5);
    expect(plain.userProperties).toEqual({ 'seganet-key': 'gw/1000/3/1', 'content-encoding': compress });
    const content = writer.proposeDictionary(7, 32768);
    const trial = writer.tryDictionary(7, content);
    expect(trial.proposed).toBeLessThan(trial.current);
    writer.setDictionary(7, Buffer.from(hashOf(content), 'hex'), content);
    const one = typical(1, 7000);
    const msg = sent(writer, one);
    expect(msg.payload.length).toBeLessThan(one.length / 2);
    // The prefix is shorter than properties.
    expect(msg.userProperties).toBeUndefined();
    expect(received(msg, new Map([[hashOf(content), content]])).envelope?.records).toHaveLength(1);
    expect(() => received(msg)).toThrow(EnvelopeError);
    expect(writer.compression(7)).toMatchObject({ failures: 0, keptOut: 0, fresh: expect.any(Number) });
  }
);

test('does not change a packet that becomes no smaller, nor one with a topic that is never compressed', () => {
  const writer = writerOf('zstd', true, ['login/#', '+/position']);
  const small = '{"d":"1","t":"a","ts":1,"s":1,"c":3,"p":1}\n';
  expect(sent(writer, small).payload.toString()).toBe(`{"k":"gw/1000/3/1",${small.slice(1)}`);
  const lines = typical(20);
  expect(encodingOf(sent(writer, lines))?.encoding).toBe('zstd');
  const secret = lines + lineOf(seeded(1).integer).replace(/"t":"[^"]*"/, '"t":"login/7"');
  expect(sent(writer, secret).payload.toString()).toBe(`{"k":"gw/1000/3/1",${secret.slice(1)}`);
  expect(writer.compression(7)).toMatchObject({ packed: 1, keptOut: 1, larger: 1 });
  writer.setCompressing(7, false);
  expect(encodingOf(sent(writer, lines))).toBeNull();
});

test('keeps the dictionary and the counters of a stage that is set again unchanged', () => {
  const writer = writerOf('zstd', false);
  sent(writer, typical(20), false);
  writer.setDictionary(7, Buffer.alloc(8, 1), Buffer.from(typical(60)));
  writer.setStages([{ ...STAGE, compress: 'zstd', qos: 0 }]);
  expect(encodingOf(sent(writer, typical(20), false))?.dictionary).toBe('0101010101010101');
  expect(writer.compression(7)?.packed).toBe(2);
  writer.setStages([{ ...STAGE, compress: 'deflate' }]);
  expect(encodingOf(sent(writer, typical(20), false))).toMatchObject({ dictionary: '', encoding: 'deflate' });
  writer.setStages([STAGE]);
  expect(writer.compression(7)).toBeNull();
  expect(writer.setDictionary(7, Buffer.alloc(8), Buffer.from('x'))).toBe(false);
  expect(writer.proposeDictionary(7, 100)).toHaveLength(0);
});

const with1 = (/** @type {object} */ more) => [{ ...STAGE, ...more }];
test.each([
  ['setStages', [with1({ compress: 'br' })], /compress/],
  ['setStages', [with1({ neverCompress: 'a' })], /neverCompress must be an array/],
  ['setStages', [with1({ compress: 'zstd', neverCompress: ['a#'] })], /invalid topic filter/],
  ['setDictionary', [7, Buffer.alloc(7), Buffer.from('x')], /hash must have 8 bytes/],
  ['setDictionary', [7, Buffer.alloc(8), 'text'], /content/],
  ['setDictionary', [7, Buffer.alloc(8), Buffer.alloc(32769)], /at most 32768 bytes/],
  ['tryDictionary', [7, Buffer.alloc(32769)], /at most 32768 bytes/],
  ['proposeDictionary', [7, 32769], /bytes/]
])('refuses invalid arguments of %s', (name, given, message) => {
  const writer = /** @type {any} */ (writerOf('zstd', true));
  expect(() => writer[name](...given)).toThrow(message);
});

test('refuses a decompression bomb, and one of nearly that size passes', () => {
  for (const [size, isRefused] of [
    [MAX_BYTES + 1, true],
    [MAX_BYTES, false]
  ]) {
    const bytes = Buffer.alloc(Number(size), ' ');
    for (const [encoding, payload] of [
      ['zstd', zlib.zstdCompressSync(bytes)],
      ['deflate', zlib.deflateSync(bytes)]
    ]) {
      const msg = { payload, userProperties: { 'content-encoding': encoding } };
      const read = () => decompress(/** @type {any} */ (encodingOf(msg)), undefined);
      if (isRefused) expect(read).toThrow(/more than 16777216 bytes when decompressed; it is refused/);
      else expect(read()).toHaveLength(MAX_BYTES);
    }
  }
});

test(`survives damaged payloads: an EnvelopeError, or records, seed ${SEED}`, () => {
  const { integer: random } = seeded(SEED + 1);
  const writer = writerOf('zstd', false);
  const content = Buffer.from(typical(60));
  writer.setDictionary(7, Buffer.from(hashOf(content), 'hex'), content);
  const dictionaries = new Map([[hashOf(content), content]]);
  const valid = [sent(writer, typical(5), false), sent(writerOf('deflate', true), typical(20))];
  for (let i = 0; i < 2000; i++) {
    const msg = valid[i % 2];
    const payload = Buffer.from(
      msg.payload.subarray(0, random(4) === 0 ? random(msg.payload.length) : undefined)
    );
    for (let n = random(3); n > 0 && payload.length > 0; n--) payload[random(payload.length)] = random(256);
    try {
      if (dictionaryIn({ payload })) continue;
      received({ ...msg, payload }, dictionaries);
    } catch (error) {
      if (!(error instanceof EnvelopeError)) throw error;
      expect(error.message).toMatch(/^[A-Z].*\.$/);
    }
  }
});

test.each([
  ['an unknown encoding', { userProperties: { 'content-encoding': 'br' } }, /content-encoding 'br'/],
  ['a text', { payload: '{}', userProperties: { 'content-encoding': 'zstd' } }, /must be a Buffer/],
  [
    'a wrong name of a dictionary',
    { userProperties: { 'content-encoding': 'zstd', 'seganet-dictionary': '../x' } },
    /16 hexadecimal/
  ],
  ['a prefix alone', { payload: MAGIC }, /incomplete/],
  ['a hash that is cut', { payload: Buffer.concat([MAGIC, Buffer.from([0, 0x81, 1, 2])]) }, /incomplete/],
  ['an unknown number', { payload: Buffer.concat([MAGIC, Buffer.from([0, 9])]) }, /unknown encoding 9/],
  [
    'a dictionary without compression',
    { payload: Buffer.concat([MAGIC, Buffer.from([0, 0x80]), Buffer.alloc(8)]) },
    /unknown encoding 128/
  ],
  [
    'an empty dictionary',
    { payload: Buffer.concat([MAGIC, Buffer.from([0xff])]) },
    /0 bytes; it must have 1/
  ],
  [
    'a large dictionary',
    { payload: Buffer.concat([MAGIC, Buffer.from([0xff]), Buffer.alloc(32769)]) },
    /must have 1 to 32768/
  ]
])('explains %s', (_, msg, message) => {
  const whole = { payload: Buffer.from('x'), ...msg };
  expect(() => dictionaryIn(whole) ?? encodingOf(whole)).toThrow(message);
});

test.each(['zstd', 'deflate'])('recognizes %s without properties by its first bytes', (compress) => {
  const { payload } = sent(writerOf(/** @type {any} */ (compress), true), typical(20));
  expect(received({ payload, topic: 'e' }).envelope?.records).toHaveLength(20);
  expect(encodingOf({ payload, userProperties: { 'seganet-key': 'gw/1000/3/1' } })).toBeNull();
});

test('takes no single record for a compressed envelope: it has a key and no encoding', () => {
  const payload = Buffer.concat([MAGIC, Buffer.from([0, 1, 5])]);
  expect(encodingOf({ payload, userProperties: { 'seganet-key': 'gw/1000/3/1' } })).toBeNull();
  expect(encodingOf({ payload: Buffer.from('{}') })).toBeNull();
  expect(encodingOf({ payload: Buffer.from('x') })).toBeNull();
  expect(encodingOf({ payload: '' })).toBeNull();
  expect(encodingOf({})).toBeNull();
});

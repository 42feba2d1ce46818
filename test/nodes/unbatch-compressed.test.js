'use strict';
// The unbatch node with compressed envelopes and dictionaries.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const zlib = require('node:zlib');
const { helper, node, inbox, until, modules } = require('./support/gateway');
const { Dictionaries, hashOf } = require('../../nodes/lib/unbatch/dictionaries');
const { MAGIC } = require('../../nodes/lib/unbatch/payload-encoding');
const { WaitingMessages } = require('../../nodes/lib/unbatch/waiting-messages');
const vectors = require('../fixtures/unbatch/compressed-vectors.json');

beforeAll(() => helper.startServer());
afterEach(() => helper.unload());
afterAll(() => helper.stopServer());

const tab = { id: 'tab', type: 'tab', label: 'cloud' };
const line = (/** @type {number} */ s) => `{"d":"m-7","t":"hall","ts":5,"s":${s},"c":3,"p":{"value":${s}}}\n`;
const CONTENT = Buffer.from(Array.from({ length: 60 }, (_, i) => line(i)).join(''));
const HASH = hashOf(CONTENT);
const dictionary = (/** @type {Buffer} */ content) => ({
  topic: 'gw/g/dictionary/1',
  payload: Buffer.concat([MAGIC, Buffer.from([0xff]), content])
});
let sequence = 0;
const lines = (/** @type {number[]} */ ...numbers) =>
  numbers.map(line).join('').replace('{', `{"k":"g/1/3/${++sequence}",`);

/** @param {string} text @param {Buffer} [content] of the dictionary */
function prefixed(text, content) {
  const head = content
    ? [Buffer.from([0, 0x81]), Buffer.from(hashOf(content), 'hex')]
    : [Buffer.from([0, 1])];
  const packed = zlib.zstdCompressSync(
    Buffer.from(text),
    /** @type {any} */ (content ? { dictionary: content } : {})
  );
  return Buffer.concat([MAGIC, ...head, packed]);
}

async function load() {
  await helper.load(modules, [
    tab,
    node('un', 'unbatch', { engine: undefined }, 'out'),
    node('out', 'helper')
  ]);
  return inbox('out');
}

/** Resolves when the node has completed the message, with its error if any. */
function outcome(/** @type {any} */ msg) {
  const target = /** @type {any} */ (helper.getNode('un'));
  return new Promise((resolve) => {
    const before = target._complete;
    target._complete = (/** @type {any} */ done, /** @type {any} */ error) =>
      done._test === msg._test ? resolve(error) : before.call(target, done, error);
    target.receive(msg);
  });
}

const sequences = (/** @type {any[]} */ arrived) => arrived.map(({ seq }) => seq);

test.each(['zstd', 'deflate'])('reads an envelope with the content-encoding %s', async (encoding) => {
  const arrived = await load();
  const compress = encoding === 'zstd' ? zlib.zstdCompressSync : zlib.deflateSync;
  const payload = compress(Buffer.from(lines(1, 2, 3)));
  const userProperties = { 'content-encoding': encoding, 'seganet-key': `g/1/3/${sequence}` };
  expect(await outcome({ _test: 1, topic: 'gw/g/normal', payload, userProperties })).toBeUndefined();
  await until(() => arrived.length === 3);
  expect(arrived[2]).toMatchObject({
    seq: 3,
    payload: { value: 3 },
    batch: { gateway: 'g', index: 2, count: 3 }
  });
});

test.each(vectors.map((vector) => [vector.name, vector]))('reads the kept packet: %s', async (_, vector) => {
  const arrived = await load();
  if (vector.dictionary) await outcome({ _test: 0, ...dictionary(Buffer.from(vector.dictionary)) });
  const { userProperties } = vector;
  const payload = Buffer.from(vector.payload, 'base64');
  expect(await outcome({ _test: 1, topic: vector.topic, payload, userProperties })).toBeUndefined();
  await until(() => arrived.length === vector.records.length);
  expect(
    arrived.map(({ deviceId, topic, ts, seq, payload: value }) => ({ deviceId, topic, ts, seq, value }))
  ).toEqual(vector.records);
});

test('keeps envelopes whose dictionary comes later, and those of the same topic behind them', async () => {
  const arrived = await load();
  const first = outcome({ _test: 1, topic: 'a', payload: prefixed(lines(1), CONTENT) });
  const second = outcome({ _test: 2, topic: 'a', payload: prefixed(lines(2)) });
  expect(await outcome({ _test: 3, topic: 'b', payload: prefixed(lines(3)) })).toBeUndefined();
  await until(() => arrived.length === 1);
  expect(await outcome({ _test: 4, ...dictionary(CONTENT) })).toBeUndefined();
  expect(await Promise.all([first, second])).toEqual([undefined, undefined]);
  await until(() => arrived.length === 3);
  expect(sequences(arrived)).toEqual([3, 1, 2]);
});

test('fails what waits for a dictionary when it is closed, and what is damaged at once', async () => {
  await load();
  const waits = outcome({ _test: 1, topic: 'a', payload: prefixed(lines(1), CONTENT) });
  const damaged = prefixed(lines(1)).subarray(0, -3);
  expect(await outcome({ _test: 2, topic: 'b', payload: damaged })).toMatchObject({
    message: expect.stringMatching(/cannot be decompressed \(zstd/)
  });
  const bomb = {
    _test: 3,
    payload: zlib.deflateSync(Buffer.alloc(17 * 2 ** 20)),
    userProperties: { 'content-encoding': 'deflate' }
  };
  expect(await outcome(bomb)).toMatchObject({ message: expect.stringMatching(/more than 16777216 bytes/) });
  await helper.unload();
  expect(await waits).toMatchObject({ message: expect.stringMatching(/closed before the dictionary/) });
});

test('a message that waits too long, or one too many, fails with the name of the dictionary', async () => {
  const waiting = new WaitingMessages(20);
  /** @type {string[]} */
  const ends = [];
  const add = (/** @type {string} */ topic, /** @type {string} */ hash, bytes = 1) =>
    waiting.add({
      topic,
      bytes,
      missing: () => hash,
      take: () => ends.push(topic),
      fail: ({ message }) => ends.push(message)
    });
  add('a', HASH);
  add('a', '');
  await until(() => waiting.size === 0);
  expect(ends).toEqual([
    expect.stringMatching(new RegExp(`^The dictionary ${HASH} .* within 0.02 s. .*dictionary/\\+`)),
    'a'
  ]);
  for (let i = 0; i < 1000; i++) add('b', HASH);
  add('c', HASH);
  expect(ends.at(-1)).toMatch(/^Too many envelopes wait/);
  waiting.close();
  add('d', HASH, 16 * 2 ** 20 + 1);
  expect(ends.at(-1)).toMatch(/^Too many envelopes wait/);
});

test('a record of a device is no dictionary, whatever it begins with', async () => {
  await load();
  const { payload } = dictionary(CONTENT);
  const userProperties = { 'seganet-key': `g/1/3/${sequence}` };
  await outcome({ _test: 1, topic: 'hall', payload, userProperties });
  const waits = outcome({ _test: 2, topic: 'a', payload: prefixed(lines(1), CONTENT) });
  await helper.unload();
  expect(await waits).toMatchObject({ message: expect.stringMatching(/closed before the dictionary/) });
});

test('messages behind one that waits count with all their bytes', async () => {
  await load();
  const waits = outcome({ _test: 1, topic: 'a', payload: prefixed(lines(1), CONTENT) });
  const behind = Array.from({ length: 17 }, (_, i) =>
    outcome({ _test: 2 + i, topic: 'a', payload: Buffer.alloc(2 ** 20, 'x') })
  );
  expect(await behind[16]).toMatchObject({ message: expect.stringMatching(/^Too many envelopes wait/) });
  await helper.unload();
  await Promise.all([waits, ...behind]);
});

test('dictionaries that an envelope needed stay longest', () => {
  const dictionaries = new Dictionaries('', 3);
  const [needed, ...others] = [0, 1, 2, 3, 4, 5].map((n) => Buffer.from(`content ${n}`));
  dictionaries.add(needed);
  expect(dictionaries.get(hashOf(needed))).toEqual(needed);
  for (const content of others) dictionaries.add(content);
  expect(dictionaries.size).toBe(3);
  expect(dictionaries.get(hashOf(needed))).toEqual(needed);
  expect(dictionaries.get(hashOf(others[4]))).toEqual(others[4]);
  expect(dictionaries.get(hashOf(others[0]))).toBeUndefined();
});

test('dictionaries survive a restart in their folder, are bounded, and a damaged file counts as none', () => {
  const folder = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-dictionaries-')), 'un');
  const contents = [1, 2, 3].map((n) => Buffer.from(`content ${n}`));
  const first = new Dictionaries(folder, 2);
  for (const content of contents) expect(first.add(content).problem).toBe('');
  expect([first.size, first.get(hashOf(contents[0]))]).toEqual([2, undefined]);
  const again = new Dictionaries(folder, 2);
  expect(again.get(hashOf(contents[2]))).toEqual(contents[2]);
  fs.writeFileSync(path.join(folder, hashOf(contents[1])), 'damaged');
  expect(again.get(hashOf(contents[1]))).toBeUndefined();
  again.remove();
  expect(fs.existsSync(folder)).toBe(false);
  expect(new Dictionaries('').add(contents[0])).toEqual({ hash: hashOf(contents[0]), problem: '' });
});

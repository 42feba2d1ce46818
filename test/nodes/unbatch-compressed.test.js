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
const { cpuMs } = require('../fixtures/cpu-time');

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
      hash,
      bytes,
      lane: () => '',
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
  const known = { hash: hashOf(contents[0]), problem: '', evicted: '' };
  expect(new Dictionaries('').add(contents[0])).toEqual(known);
});

test('keeps thousands of dictionaries in the folder and few in memory, and reports one that it removes', () => {
  const folder = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-dictionaries-')), 'un');
  const contents = Array.from({ length: 41 }, (_, n) => Buffer.alloc(1000, `content ${n} `));
  const dictionaries = new Dictionaries(folder, 40, 5000);
  for (const content of contents.slice(0, 40)) expect(dictionaries.add(content).evicted).toBe('');
  expect([dictionaries.size, dictionaries.loaded]).toEqual([40, 5]);
  for (const content of contents.slice(0, 40)) expect(dictionaries.get(hashOf(content))).toEqual(content);
  expect([dictionaries.size, dictionaries.loaded]).toEqual([40, 5]);
  expect(dictionaries.add(contents[40]).evicted).toMatch(
    new RegExp(`^The dictionary ${hashOf(contents[0])} was removed, .* at most 40 dictionaries\\.`)
  );
  expect([dictionaries.size, fs.readdirSync(folder).length]).toEqual([40, 40]);
  expect(dictionaries.get(hashOf(contents[0]))).toBeUndefined();
  dictionaries.remove();
});

test('keeps the dictionaries of 1,000 gateways, two of each', () => {
  const dictionaries = new Dictionaries('');
  const contents = Array.from({ length: 2000 }, (_, n) => Buffer.from(`${n} `.repeat(200)));
  for (const content of contents) expect(dictionaries.add(content).evicted).toBe('');
  for (const content of contents) expect(dictionaries.get(hashOf(content))).toEqual(content);
});

test('limits the bytes of dictionaries without a folder', () => {
  const dictionaries = new Dictionaries('', 100, 2500);
  const contents = [1, 2, 3].map((n) => Buffer.alloc(1000, `content ${n}`));
  expect(contents.map((content) => dictionaries.add(content).evicted)).toEqual([
    '',
    '',
    expect.stringMatching(new RegExp(`^The dictionary ${hashOf(contents[0])} .* 2500 bytes`))
  ]);
  expect([dictionaries.size, dictionaries.loaded]).toEqual([2, 2]);
});

/** What waits and what passes at one topic: a message with a dictionary, in the lane of a gateway and class. */
function scene() {
  const waiting = new WaitingMessages(60000);
  const known = new Set();
  /** @type {string[]} */
  const ends = [];
  const arrive = (/** @type {string} */ name, hash = '', own = '', topic = 'plant/data', bytes = 1) => {
    const missing = () => (hash !== '' && !known.has(hash) ? hash : '');
    const message = { topic, hash, lane: () => (missing() === '' ? own : '') };
    const take = () => {
      ends.push(name);
      waiting.passed(message);
    };
    if (missing() === '' && !waiting.isBehind(message)) return take();
    waiting.add({
      ...message,
      bytes,
      missing,
      take,
      fail: ({ message: why }) => ends.push(`${name}: ${why}`)
    });
  };
  const learn = (/** @type {string} */ hash) => {
    known.add(hash);
    waiting.arrived();
  };
  return { waiting, ends, arrive, learn };
}

test('on a topic of several gateways, only messages wait that may be of the gateway whose dictionary is missing', () => {
  const { ends, arrive, learn } = scene();
  learn('B');
  arrive('b1', 'B', 'b/3');
  arrive('a1', 'A', 'a/3');
  arrive('b2', 'B', 'b/3'); // has used B since before a1
  arrive('c1', '', 'c/3'); // may be the gateway of a1
  arrive('b3', 'B', 'b/3'); // is not c
  arrive('c2', '', 'c/3');
  arrive('a2', 'A', 'a/3');
  expect(ends).toEqual(['b1', 'b2', 'b3']);
  learn('A');
  expect(ends).toEqual(['b1', 'b2', 'b3', 'a1', 'c1', 'c2', 'a2']);
});

test('a dictionary that is new in its lane does not let its messages pass one whose dictionary is missing', () => {
  const { ends, arrive, learn } = scene();
  learn('new');
  arrive('a1', 'old', 'a/3');
  arrive('a2', 'new', 'a/3');
  // Another class of the gateway has used it first.
  arrive('a3', 'new', 'a/1');
  arrive('a4', 'new', 'a/3');
  expect(ends).toEqual([]);
  learn('old');
  expect(ends).toEqual(['a1', 'a2', 'a3', 'a4']);
});

test('messages of a gateway wait behind its own that wait behind others', () => {
  const { ends, arrive, learn, waiting } = scene();
  learn('C');
  arrive('c1', 'C', 'c/3');
  arrive('a1', 'A', 'a/3');
  arrive('c2', '', 'c/3');
  arrive('c3', 'C', 'c/3');
  arrive('x', '', '');
  arrive('d1', '', 'd/3', 'other');
  expect(ends).toEqual(['c1', 'd1']);
  learn('A');
  expect(ends).toEqual(['c1', 'd1', 'a1', 'c2', 'c3', 'x']);
  expect(waiting.size).toBe(0);
});

test('leaves room for messages of other topics when one topic has many waiting messages', () => {
  const { ends, arrive, waiting } = scene();
  for (let i = 0; i < 1000; i++) arrive(`a${i}`, 'A', '', 'gw/a/normal');
  for (let i = 0; i < 3; i++) arrive(`b${i}`, 'B', '', 'gw/b/normal');
  expect(ends.map((end) => end.replace(/: Too many .*/, ' failed'))).toEqual([
    'a999 failed',
    'a998 failed',
    'a997 failed'
  ]);
  expect(waiting.size).toBe(1000);
  arrive('large', 'C', '', 'gw/c/normal', 16 * 2 ** 20 - 999);
  expect(ends).toHaveLength(4);
  arrive('more', 'C', '', 'gw/c/normal', 2000);
  expect(ends.at(-1)).toMatch(/^more: Too many envelopes wait/);
  arrive('b3', 'B', '', 'gw/b/normal', 2000);
  expect(ends.at(-1)).toMatch(/^large: Too many/);
  waiting.close();
  expect(waiting.size).toBe(0);
});

test("envelopes of another gateway on the topic pass one whose dictionary is missing, and the gateway's own wait", async () => {
  const arrived = await load();
  const other = Buffer.from(Array.from({ length: 60 }, (_, i) => line(i + 100)).join(''));
  const theirs = (/** @type {number} */ s) => lines(s).replace('"g/1/3', '"h/1/3');
  await outcome({ _test: 0, ...dictionary(other) });
  expect(await outcome({ _test: 1, topic: 'a', payload: prefixed(theirs(1), other) })).toBeUndefined();
  const mine = [
    outcome({ _test: 2, topic: 'a', payload: prefixed(lines(2), CONTENT) }),
    outcome({ _test: 3, topic: 'a', payload: lines(3) })
  ];
  expect(await outcome({ _test: 4, topic: 'a', payload: prefixed(theirs(4), other) })).toBeUndefined();
  await until(() => arrived.length === 2);
  await outcome({ _test: 5, ...dictionary(CONTENT) });
  expect(await Promise.all(mine)).toEqual([undefined, undefined]);
  await until(() => arrived.length === 4);
  expect(sequences(arrived)).toEqual([1, 4, 2, 3]);
});

test('ignores the message that removes a retained dictionary', async () => {
  await load();
  const removes = (/** @type {string} */ topic) => outcome({ _test: topic, topic, payload: Buffer.alloc(0) });
  expect(await removes('gw/g/dictionary/1')).toBeUndefined();
  expect(await removes('plant/data/dictionary/g-2')).toBeUndefined();
  expect(await removes('gw/g/normal')).toMatchObject({ message: expect.stringMatching(/is empty/) });
});

test.each([
  ['lines that are no objects', '1\n'],
  ['lines that are empty objects', '{}\n'],
  ['a CBOR sequence', '\xa0'],
  ['lines without JSON', '{\n']
])('an envelope that inflates to 16 MiB of %s takes little time', async (_, repeated) => {
  await load();
  const plain = Buffer.alloc(16 * 2 ** 20, repeated, 'latin1');
  const payload = zlib.deflateSync(plain);
  const begin = cpuMs();
  const error = await outcome({
    _test: 1,
    topic: 'a',
    payload,
    userProperties: { 'content-encoding': 'deflate' }
  });
  expect(error).toMatchObject({ message: expect.stringMatching(/contains no record: .* rest was not read/) });
  // Millions of faults would take half a minute.
  expect(cpuMs() - begin).toBeLessThan(5000);
});

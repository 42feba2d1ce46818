'use strict';

// Compression and dictionaries of an uplink thread. Real sockets, a scripted broker; batches from an engine in memory.

const { until } = require('../../../../bench/harness/broker');
const { ScriptedBroker } = require('../../../fixtures/uplink/scripted-broker');
const { UplinkBench } = require('../../../fixtures/uplink/uplink-bench');
const { Aside, ASIDE_ID } = require('../../../../nodes/lib/uplink/compression/aside');
const { Compression, threadLoad } = require('../../../../nodes/lib/uplink/compression');
const { compileStage, checkStage } = require('../../../../nodes/lib/uplink/sending/uplink-stage');
const { decompress, dictionaryIn, encodingOf } = require('../../../../nodes/lib/unbatch/payload-encoding');
const { hashOf } = require('../../../../nodes/lib/unbatch/dictionaries');
const { cpuMs } = require('../../../fixtures/cpu-time');

jest.setTimeout(60000);

const ENVELOPE = 1;
const TOPIC = 'gw/gw1/dictionary';

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** @param {object} stage @param {object} [options] @param {object} [manners] */
async function start(stage, options = {}, manners = {}) {
  const broker = await ScriptedBroker.start(manners);
  cleanups.push(() => broker.close());
  const bench = new UplinkBench({ url: broker.url, ...options });
  cleanups.push(() => bench.stop(0));
  bench.thread.setStages({ 1: { topic: 'gw/{gateway}/{class}', ...stage } });
  return { broker, bench };
}

let made = 0;
const lines = (/** @type {number} */ count) =>
  Array.from({ length: count }, () => {
    const n = made++;
    return `{"d":"m-${n % 9}","t":"hall/m-${n % 9}","ts":${1763712000000 + n},"s":${n},"c":3,"p":{"kWh":${(n * 37) % 991},"on":true}}\n`;
  }).join('');

/** @param {UplinkBench} bench @param {number} batches @param {number} records */
function push(bench, batches, records, more = {}) {
  for (let i = 0; i < batches; i++)
    bench.engine.push({ kind: ENVELOPE, class: 3, payload: lines(records), ...more });
}

/** Messages as the broker got them, in the form of an mqtt in node. */
const messages = (/** @type {ScriptedBroker} */ broker) =>
  broker.received.map(({ topic, payload, properties = {} }) => ({
    topic,
    payload,
    userProperties: properties.userProperties
  }));

/** Returns the lines of all envelopes, with the dictionaries that arrived before them. */
function readAll(/** @type {ScriptedBroker} */ broker) {
  /** @type {Map<string, Buffer>} */
  const dictionaries = new Map();
  return messages(broker).flatMap((msg) => {
    const content = dictionaryIn(msg);
    if (content) dictionaries.set(hashOf(content), content);
    if (content) return [];
    const encoded = encodingOf(msg);
    if (encoded?.dictionary) expect(dictionaries.has(encoded.dictionary)).toBe(true);
    const text = encoded ? decompress(encoded, dictionaries.get(encoded.dictionary)) : msg.payload;
    return text.toString().trimEnd().split('\n').map(JSON.parse);
  });
}

test.each([
  ['zstd', 5],
  ['deflate', 5],
  ['zstd', 4],
  ['deflate', 4]
])('compresses envelopes with %s over MQTT version %i', async (compress, version) => {
  const { broker, bench } = await start({ compress }, { protocolVersion: version });
  made = 0;
  push(bench, 5, 20);
  push(bench, 1, 1, { kind: 0, payload: '{"of":"a device"}' });
  await until(() => bench.engine.held.size === 0);
  const all = messages(broker);
  expect(all).toHaveLength(6);
  expect(all.filter((msg) => encodingOf(msg)?.encoding === compress)).toHaveLength(5);
  expect(all.find((msg) => msg.topic === 't')?.payload.toString()).toBe('{"of":"a device"}');
  expect(
    readAll(broker)
      .filter(({ s }) => s !== undefined)
      .map(({ s }) => s)
  ).toEqual([...Array(100).keys()]);
  await until(() => bench.states.at(-1).compressedBatches === 5);
  const { compressedFrom, compressedTo } = bench.states.at(-1);
  expect(compressedTo * 4).toBeLessThan(compressedFrom);
});

test('publishes a dictionary, uses it after its acknowledgement, and again after each new connection', async () => {
  let isTaking = false;
  const puback = (/** @type {any} */ { topic }) => (topic.startsWith(TOPIC) && !isTaking ? -1 : 0);
  const { broker, bench } = await start({ compress: 'zstd' }, {}, { puback });
  const send = setInterval(() => push(bench, 4, 2), 20);
  cleanups.push(() => clearInterval(send));
  const dictionaries = () => broker.received.filter(({ topic }) => topic.startsWith(TOPIC));
  await until(() => dictionaries().length === 1, 20000);
  const [{ retain, qos, topic, messageId, payload }] = dictionaries();
  expect({ retain, qos, messageId }).toEqual({ retain: true, qos: 1, messageId: ASIDE_ID });
  expect(topic).toMatch(/^gw\/gw1\/dictionary\/[12]$/);
  expect(payload.length).toBeLessThan(32800);
  const named = () => messages(broker).filter((msg) => !dictionaryIn(msg) && encodingOf(msg)?.dictionary);
  expect(named()).toEqual([]);
  // Lost before its acknowledgement: published again on the next connection.
  isTaking = true;
  for (const socket of broker.sockets) socket.destroy();
  await until(() => named().length > 10, 20000);
  expect(dictionaries()).toHaveLength(2);
  expect(readAll(broker).length).toBeGreaterThan(0);
  await until(() => bench.states.at(-1).dictionaries === 1);
  // The next broker may not have it.
  const before = named().length;
  for (const socket of broker.sockets) socket.destroy();
  const arrived = broker.received.length;
  await until(() => broker.received.length > arrived + 20);
  expect(named().length - before).toBeLessThan(20);
  clearInterval(send);
  await until(() => bench.engine.held.size === 0);
  expect(new Set(readAll(broker).map(({ s }) => s)).size).toBeGreaterThan(100);
});

test('takes a place when compression is switched on by a deploy', async () => {
  const { broker, bench } = await start({ compress: 'off' }, {}, { granted: { receiveMaximum: 5 } });
  await until(() => bench.state === 'connected');
  bench.thread.setStages({ 1: { topic: 'gw/{gateway}/{class}', compress: 'zstd' } });
  const send = setInterval(() => push(bench, 4, 2), 20);
  cleanups.push(() => clearInterval(send));
  const named = () => messages(broker).filter((msg) => !dictionaryIn(msg) && encodingOf(msg)?.dictionary);
  await until(() => named().length > 0, 20000);
  clearInterval(send);
  await until(() => bench.engine.held.size === 0);
  expect(readAll(broker).length).toBeGreaterThan(0);
});

test('names no dictionary of the old topic in envelopes of a new topic', async () => {
  const { broker, bench } = await start({ compress: 'zstd' });
  const send = setInterval(() => push(bench, 4, 2), 20);
  cleanups.push(() => clearInterval(send));
  const named = (/** @type {string} */ topic) =>
    messages(broker).filter((msg) => msg.topic === topic && encodingOf(msg)?.dictionary);
  await until(() => named('gw/gw1/normal').length > 0, 20000);
  bench.thread.setStages({ 1: { topic: 'new/{class}', compress: 'zstd' } });
  await until(() => named('new/normal').length > 0, 20000);
  const own = broker.received.filter(({ topic }) => /^new\/dictionary\/gw1-[12]$/.test(topic));
  const hashes = own.map(({ payload }) => hashOf(/** @type {Buffer} */ (dictionaryIn({ payload }))));
  for (const msg of named('new/normal')) expect(hashes).toContain(encodingOf(msg)?.dictionary);
});

test('removes the dictionaries that have records of a topic that is no longer compressed', async () => {
  const { broker, bench } = await start({ compress: 'zstd' });
  const send = setInterval(() => push(bench, 4, 2), 20);
  cleanups.push(() => clearInterval(send));
  const named = () => messages(broker).filter((msg) => !dictionaryIn(msg) && encodingOf(msg)?.dictionary);
  await until(() => named().length > 0, 20000);
  const old = encodingOf(named()[0])?.dictionary;
  const stage = { topic: 'gw/{gateway}/{class}', compress: 'zstd', neverCompress: 'login/#' };
  bench.thread.setStages({ 1: /** @type {any} */ (stage) });
  const empty = () =>
    broker.received.filter(({ topic, payload }) => topic.startsWith(TOPIC) && payload.length === 0);
  await until(() => empty().length === 2, 10000);
  expect(empty().map(({ topic, retain }) => [topic, retain])).toEqual([
    [`${TOPIC}/1`, true],
    [`${TOPIC}/2`, true]
  ]);
  const arrived = broker.received.length;
  const later = () =>
    named().filter((msg) => broker.received.findIndex(({ payload }) => payload === msg.payload) >= arrived);
  await until(() => later().length > 0, 20000);
  for (const msg of later()) expect(encodingOf(msg)?.dictionary).not.toBe(old);
});

test.each(['zstd', 'deflate'])(
  'compresses with %s after a deploy that changes it from auto',
  async (compress) => {
    const { broker, bench } = await start({ compress: 'auto' });
    push(bench, 1, 20);
    await until(() => bench.engine.held.size === 0);
    bench.thread.setStages({ 1: /** @type {any} */ ({ topic: 'gw/{gateway}/{class}', compress }) });
    push(bench, 1, 20);
    await until(() => bench.engine.held.size === 0);
    expect(messages(broker).map((msg) => encodingOf(msg)?.encoding)).toEqual([undefined, compress]);
  }
);

test('does not count naps as load', () => {
  const load = threadLoad();
  const sleeping = new Int32Array(new SharedArrayBuffer(4));
  Atomics.wait(sleeping, 0, 0, 300);
  const asleep = load();
  expect(asleep).toBeLessThan(0.5);
  for (const end = cpuMs() + 100; cpuMs() < end;);
  expect(load()).toBeGreaterThan(asleep);
});

test('compresses with auto only while the link is the limit or metered or batches save bytes, and the thread has time', () => {
  const state = {
    now: 1e6,
    limitedAt: -Infinity,
    isMetered: false,
    isSaving: false,
    load: 0.1,
    on: false,
    clock: () => 0
  };
  const writer = {
    setCompressing: (/** @type {number} */ _, /** @type {boolean} */ isOn) => (state.on = isOn),
    setDictionary: () => true,
    compression: () => null
  };
  const sessions = /** @type {any} */ ([
    {
      writer,
      aside: new Aside(() => {}, state.clock),
      bytes: () => 1,
      limitedAt: () => state.limitedAt,
      isMetered: () => state.isMetered,
      isSaving: () => state.isSaving
    }
  ]);
  const compression = new Compression({
    sessions,
    now: () => state.now,
    problem: () => {},
    load: () => state.load
  });
  compression.setStages(
    new Map([[1, compileStage(checkStage({ compress: 'auto' }), 'g', ['zstd', 'deflate'])]])
  );
  const after = () => (compression.everySecond(), state.on);
  expect(after()).toBe(false);
  state.limitedAt = state.now;
  expect(after()).toBe(true);
  state.load = 0.9;
  expect(after()).toBe(false);
  state.load = 0.1;
  state.now += 299000;
  expect(after()).toBe(true);
  expect(compression.view().compressing).toEqual(['busy']);
  state.isMetered = true;
  expect(after()).toBe(true);
  expect(compression.view().compressing).toEqual(['busy', 'metered']);
  state.now += 2000;
  expect(after()).toBe(true);
  expect(compression.view().compressing).toEqual(['metered']);
  state.load = 0.9;
  expect(after()).toBe(false);
  state.load = 0.1;
  state.isMetered = false;
  expect(after()).toBe(false);
  expect(compression.view().compressing).toEqual([]);
  state.isSaving = true;
  expect(after()).toBe(true);
  expect(compression.view().compressing).toEqual(['saving']);
  state.isSaving = false;
  compression.setStages(new Map([[2, compileStage(checkStage({ compress: 'zstd' }), 'g', ['zstd'])]]));
  expect(after()).toBe(false);
  expect(compression.view().compressing).toEqual(['chosen']);
});

test.each([
  ['127.0.0.1:metered', ['metered'], 'zstd'],
  ['127.0.0.1', [], undefined]
])('compresses with auto over the path %s because of %j', async (paths, compressing, encoding) => {
  const { broker, bench } = await start({ compress: 'auto' }, { paths });
  await until(() => bench.state === 'connected');
  const seen = bench.states.length;
  const known = () => bench.states.slice(seen).at(-1)?.compressing;
  await until(() => (compressing.length > 0 ? known()?.length > 0 : bench.states.length > seen + 2), 20000);
  expect(known()).toEqual(compressing);
  push(bench, 1, 20);
  await until(() => bench.engine.held.size === 0);
  expect(encodingOf(messages(broker)[0])?.encoding).toBe(encoding);
});

test('reports what a message costs, and compresses with auto while batches save bytes', async () => {
  const { broker, bench } = await start({ compress: 'auto' }, { paths: '127.0.0.1' });
  await until(() => bench.state === 'connected' && bench.engine.cost !== null, 20000);
  const [isMetered, headBytes, recordBytes] = bench.engine.cost;
  expect([isMetered, recordBytes]).toEqual([false, 60]);
  // Without TLS: two segments, a PUBACK and the head of a PUBLISH.
  expect(headBytes).toBe(176);
  bench.engine.save();
  await until(() => bench.states.at(-1)?.compressing?.includes('saving'), 20000);
  push(bench, 1, 20);
  await until(() => bench.engine.held.size === 0);
  expect(encodingOf(messages(broker)[0])?.encoding).toBe('zstd');
  await until(() => bench.states.at(-1)?.savedBytes > 0, 20000);
});

test.each([
  [{ compress: 'gzip' }, /must be off, zstd, deflate or auto/],
  [
    { compress: 'zstd', neverCompress: 'a/#/b' },
    /'a\/#\/b' never to compress may have # only as its last level/
  ],
  [{ neverCompress: Array(101).fill('a').join(',') }, /at most 100/]
])('refuses the setting %j', (stage, message) => {
  expect(() => checkStage(/** @type {any} */ (stage))).toThrow(message);
});

test.each([
  ['gw/{gateway}/{class}', 'gw/g/dictionary/'],
  ['site/{gateway}', 'site/g/dictionary/'],
  ['a/{class}/{gateway}/x', 'a/dictionary/g/x/'],
  ['plant/data', 'plant/data/dictionary/g-'],
  ['plant/{class}', 'plant/dictionary/g-']
])('publishes the dictionaries of the topic %s below %s', (topic, expected) => {
  expect(compileStage(checkStage({ topic }), 'g').dictionaryTopic).toBe(expected);
});

test('chooses the best compression that this Node.js has for auto', () => {
  const compressOf = (/** @type {any} */ compress, /** @type {any} */ available) =>
    compileStage(checkStage({ compress }), 'g', available).compress;
  expect(compressOf('auto', ['zstd', 'deflate'])).toBe('zstd');
  expect(compressOf('auto', ['deflate'])).toBe('deflate');
  expect(compressOf('auto', [])).toBe('off');
  expect(compressOf('zstd', ['deflate'])).toBe('off');
});

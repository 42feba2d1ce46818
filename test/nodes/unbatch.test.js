'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { helper, node, inbox, outcomeOf, shown, until, modules } = require('./support/gateway');
const sparkplug = require('../fixtures/unbatch/sparkplug-bytes');
const join = require('@node-red/nodes/core/sequence/17-split.js');

beforeAll(() => helper.startServer());
afterEach(() => helper.unload());
afterAll(() => helper.stopServer());

const tab = { id: 'tab', type: 'tab', label: 'cloud' };
const { KEY: FOLLOWED } = require('../../nodes/lib/engine/deliveries');
const KEY = 'pi-1/mdl3k2x1q/3/';
const line = (s, more = {}) => `${JSON.stringify({ ...more, d: 'm-7', t: 'hall', ts: 5, s, c: 3, p: s })}\n`;
const envelope = (sequence, ...numbers) =>
  numbers.map((s, index) => line(s, index === 0 ? { k: `${KEY}${sequence}` } : {})).join('');

/** Loads unbatch and a node behind it; returns the messages there. No engine, no native part. */
async function load(properties = {}, next = 'helper', more = {}) {
  const flow = [
    tab,
    node('un', 'unbatch', { engine: undefined, ...properties }, 'out'),
    node('out', next, more, 'end')
  ];
  await helper.load([...modules, join], [...flow, node('end', 'helper')]);
  return inbox(next === 'helper' ? 'out' : 'end');
}

const outcome = (msg) => outcomeOf('un', msg);

test('its messages belong to the record that a source follows, also behind nodes that give them another id', async () => {
  const arrived = await load();
  const msg = { topic: 'gw/pi-1/normal', payload: Buffer.from(envelope(1, 1, 2)), [FOLLOWED]: 'followed' };
  await outcome(msg);
  await until(() => arrived.length === 2);
  expect(arrived.map((each) => each[FOLLOWED])).toEqual(['followed', 'followed']);
});

test('drops the halves of a Sparkplug message that arrived whole, and no single records', async () => {
  const arrived = await load();
  const data = (part, ...numbers) => ({
    topic: 'spBv1.0/g/DDATA/e/m%2F7',
    payload: Buffer.concat([
      ...numbers.flatMap((seq) => [
        sparkplug.record(sparkplug.RUN, seq),
        sparkplug.value(4, sparkplug.double(13, seq))
      ]),
      sparkplug.bytes(4, `${KEY}${part}`)
    ])
  });
  await outcome(sparkplug.BIRTH);
  for (const message of [data('7.4097', 1, 2, 3, 4), data('7.8194', 1, 2), data('7.8195', 3, 4)])
    expect(await outcome(message)).toBeUndefined();
  await until(() => arrived.length >= 4);
  // Records 2 and 4 of a batch of mode records.
  for (const message of [data('8.2', 5), data('8.4', 6)]) expect(await outcome(message)).toBeUndefined();
  await until(() => arrived.length >= 6);
  expect(arrived.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
});

test('turns an envelope into one message per record, with all its known data', async () => {
  const arrived = await load();
  expect(await outcome({ topic: 'gw/pi-1/normal', payload: Buffer.from(envelope(7, 1, 2)) })).toBeUndefined();
  await until(() => arrived.length === 2);
  expect(arrived[1]).toMatchObject({
    topic: 'hall',
    payload: 2,
    deviceId: 'm-7',
    priority: 3,
    ts: 5,
    seq: 2,
    batch: {
      key: `${KEY}7`,
      gateway: 'pi-1',
      epoch: 'mdl3k2x1q',
      lane: 3,
      sequence: 7,
      part: null,
      index: 1,
      count: 2,
      historical: false
    },
    parts: { id: `${KEY}7`, type: 'array', index: 1, count: 2 }
  });
});

test('drops and counts the second copy, also when it is historical now', async () => {
  const arrived = await load();
  await outcome({ topic: 'gw', payload: envelope(7, 1, 2) });
  await outcome({ topic: 'gw/history', payload: envelope(7, 1, 2) });
  await outcome({ topic: 'gw/history', payload: envelope(8, 3) });
  await until(() => arrived.length === 3);
  expect(arrived.map(({ seq, batch }) => [seq, batch.historical])).toEqual([
    [1, false],
    [2, false],
    [3, true]
  ]);
  await until(() => shown('un')?.text);
  expect(shown('un')).toMatchObject({
    fill: 'green',
    text: expect.stringMatching(/^[1-9]\d*\/s · 2 duplicates dropped$/)
  });
});

test('remembers the keys after an orderly end and while it is disabled, but not those of a deleted node', async () => {
  const userDir = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-unbatch-'));
  const file = path.join(userDir, 'seganet-unbatch', 'un.json');
  helper.settings({ userDir });
  try {
    await load();
    await outcome({ topic: 'gw', payload: envelope(7, 1, 2) });
    await helper.unload();
    expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toEqual({
      version: 1,
      lanes: [['pi-1/mdl3k2x1q/3', [['7', 2]]]]
    });
    const arrived = await load();
    await outcome({ topic: 'gw/history', payload: envelope(7, 1, 2) });
    await outcome({ topic: 'gw', payload: envelope(8, 3) });
    await until(() => arrived.length > 0);
    expect(arrived.map(({ seq }) => seq)).toEqual([3]);
    const disabled = { ...node('un', 'unbatch', { engine: undefined }, 'out'), d: true };
    await helper.setFlows([tab, disabled, node('out', 'helper', {}, 'end'), node('end', 'helper')], 'full');
    expect(JSON.parse(fs.readFileSync(file, 'utf8')).lanes).toHaveLength(1);
    await helper.unload();
    await load();
    await helper.setFlows([tab, node('out', 'helper', {}, 'end'), node('end', 'helper')], 'full');
    expect(fs.existsSync(file)).toBe(false);
    // Node-RED does not report that a node is deleted while it is disabled.
    const leftover = path.join(userDir, 'seganet-unbatch', 'deleted-while-disabled.json');
    fs.writeFileSync(leftover, '{}');
    await helper.unload();
    await load();
    expect(fs.existsSync(leftover)).toBe(false);
  } finally {
    helper.settings({});
    fs.rmSync(userDir, { recursive: true, force: true });
  }
});

test('drops records that another gateway sends again in other batches, if they are to be recognized', async () => {
  const userDir = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-unbatch-'));
  helper.settings({ userDir });
  const from = (gateway, sequence, ...numbers) => ({
    topic: `gw/${gateway}/normal`,
    payload: envelope(sequence, ...numbers).replace('pi-1/', `${gateway}/`)
  });
  const seen = async (arrived, ...numbers) => {
    await until(() => arrived.length === numbers.length);
    expect(arrived.map(({ seq }) => seq)).toEqual(numbers);
  };
  try {
    const arrived = await load({ copies: 'records' });
    const most = 4294967295;
    for (const msg of [from('pi-1', 7, 1, 2, most), from('pi-2', 1, 2, most, 3), from('pi-3', 1, 1, 3)])
      expect(await outcome(msg)).toBeUndefined();
    await seen(arrived, 1, 2, most, 3);
    expect(arrived.map(({ parts }) => parts.count)).toEqual([3, 3, 3, 1]);
    // Another class, time or device is another record, and so is one of a damaged envelope, which may come again.
    const other = from('pi-2', 2, 1).payload;
    for (const payload of [
      other.replace('"c":3', '"c":2'),
      from('pi-2', 3, 1).payload.replace('"ts":5', '"ts":6')
    ])
      expect(await outcome({ topic: 'gw', payload })).toBeUndefined();
    expect(await outcome({ payload: `${from('pi-2', 4, 9).payload}torn\n` })).toBeInstanceOf(Error);
    expect(await outcome(from('pi-2', 4, 9))).toBeUndefined();
    await seen(arrived, 1, 2, most, 3, 1, 1, 9, 9);
    await helper.unload();
    const again = await load({ copies: 'records' });
    await outcome(from('pi-4', 1, most, 4));
    await seen(again, 4);
    await helper.unload();
    const all = await load();
    await outcome(from('pi-5', 1, 1, 2));
    await seen(all, 1, 2);
  } finally {
    helper.settings({});
    fs.rmSync(userDir, { recursive: true, force: true });
  }
});

test('passes a single record unchanged, once', async () => {
  const arrived = await load();
  const msg = () => ({
    topic: 'hall/raw',
    payload: Buffer.from([1, 2]),
    qos: 1,
    userProperties: { 'seganet-key': `${KEY}9.4`, 'seganet-history': '1' }
  });
  await outcome(msg());
  await outcome(msg());
  await until(() => arrived.length === 1);
  expect(arrived[0]).toMatchObject({ ...msg(), batch: { part: 4, historical: true, count: 1 } });
});

test('fails the message for a line that is not a record, passes the others, and accepts the whole envelope again', async () => {
  const arrived = await load();
  const torn = envelope(7, 1, 2, 3).replace('"s":2', '"s":-2');
  expect((await outcome({ payload: torn })).message).toMatch(
    /^Line 2 of the envelope has no sequence number/
  );
  await until(() => arrived.length === 2);
  expect(arrived.map(({ parts }) => [parts.index, parts.count])).toEqual([
    [0, 2],
    [1, 2]
  ]);
  expect(await outcome({ payload: envelope(7, 1, 2, 3) })).toBeUndefined();
  await until(() => arrived.length === 5);
});

test('fails with a sentence on a message that is not an envelope', async () => {
  await load();
  expect((await outcome({ payload: 7 })).message).toMatch(/must be a Buffer or a string/);
  expect((await outcome({ payload: 'hello' })).message).toMatch(/no record: line 1 is not JSON/);
});

test('refuses an envelope whose topic is not that of the gateway of its key, and remembers no key of it', async () => {
  const arrived = await load({ version: 2, gatewayTopic: 'gw/{gateway}/{class}' });
  for (const topic of ['gw/pi-2/normal', 'gw/pi-1/critical', 'elsewhere', undefined])
    expect((await outcome({ topic, payload: envelope(7, 1, 2) })).message).toMatch(/refused/);
  expect(await outcome({ topic: 'gw/pi-1/normal', payload: envelope(7, 1, 2) })).toBeUndefined();
  await until(() => arrived.length === 2);
  await until(() => /· 4 refused$/.test(shown('un')?.text ?? ''));
});

test('remembers the keys of each Sparkplug edge node apart', async () => {
  const arrived = await load({ version: 2, gatewayTopic: 'gw/{gateway}/{class}' });
  const on = (edge, msg) => ({ ...msg, topic: msg.topic.replace('/e/', `/${edge}/`) });
  const data = {
    topic: 'spBv1.0/g/DDATA/e/m%2F7',
    payload: Buffer.concat([
      sparkplug.record(sparkplug.RUN, 1),
      sparkplug.value(4, sparkplug.double(13, 1)),
      sparkplug.bytes(4, `${KEY}7`)
    ])
  };
  for (const edge of ['hostile', 'e']) await outcome(on(edge, sparkplug.BIRTH));
  for (const edge of ['hostile', 'e', 'hostile', 'e']) expect(await outcome(on(edge, data))).toBeUndefined();
  await until(() => arrived.length === 2);
  expect(arrived.map(({ batch }) => batch.gateway)).toEqual(['pi-1', 'pi-1']);
});

test('reports a wrong topic of the gateways', async () => {
  await load({ version: 2, gatewayTopic: 'gw/{class}' });
  expect((await outcome({ payload: envelope(1, 1) })).message).toMatch(/does not name the gateway/);
});

test('has a window of the configured size', async () => {
  const arrived = await load({ window: '2' });
  for (const sequence of [1, 2, 3, 1, 3]) await outcome({ payload: envelope(sequence, sequence) });
  await until(() => arrived.length === 4);
  expect(arrived.map(({ seq }) => seq)).toEqual([1, 2, 3, 1]);
});

test("lets core's join put the records together again", async () => {
  const arrived = await load({}, 'join', { mode: 'auto', build: 'array', accumulate: false });
  await outcome({ payload: envelope(7, 1, 2, 3) });
  await until(() => arrived.length === 1);
  expect(arrived[0].payload).toEqual([1, 2, 3]);
});

test('reports a wrong setting, and fails each message', async () => {
  await load({ window: '0' });
  expect((await outcome({ payload: envelope(1, 1) })).message).toMatch(/"window" must be a whole number/);
});

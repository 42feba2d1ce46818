'use strict';
// The shadow node with its thread and its file, and the engine in memory: who may set what, what a device gets, and
// what is answered.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const shadow = require('../../nodes/seganet-shadow');
const { lockFile } = require('../../nodes/lib/store/lock-file');
const gateway = require('./support/gateway');
const { helper, tab, engine, broker, node, unload, until, inbox, outcomeOf, shown, warnings, engines } =
  gateway;

/** @type {string} */
let folder;
beforeAll(() => helper.startServer());
afterAll(() => helper.stopServer());
beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-shadow-'))));
afterEach(async () => {
  await unload();
  fs.rmSync(folder, { recursive: true });
});

const flow = (settings, ...more) => [
  tab,
  { ...engine, logDir: folder },
  broker,
  node('devices', 'ingest', {}, 'up'),
  node('up', 'uplink', { broker: 'broker' }),
  node('shadow', 'seganet-shadow', { ...settings, wires: [['out'], ['others']] }),
  node('out', 'helper'),
  node('others', 'helper'),
  ...more
];
const load = (...args) => gateway.load(flow(...args), {}, [shadow]);
const http = () => helper.request();
const desire = (deviceId, desired, more) => outcomeOf('shadow', { deviceId, payload: { desired, ...more } });
/** A record of a device. */
const record = (deviceId, topic, payload) =>
  outcomeOf('shadow', { deviceId, topic, payload: Buffer.from(payload), source: { protocol: 'mqtt' } });
const read = async (device) => (await http().get(`/seganet/shadow?device=${device}`).expect(200)).body;
/** Commands that the device has got, as [topic, document]. */
const got = (device) =>
  engines[0].commands
    .filter(({ deviceId }) => deviceId === device)
    .map(({ topic, payload }) => [topic, payload === '' ? '' : JSON.parse(payload)]);
const happens = (kind, device) => {
  if (kind === 'connected') engines[0].takers.add(device);
  else engines[0].takers.delete(device);
  engines[0].events.push({ kind, device, stage: 1, worker: 0, reason: '', address: '' });
  engines[0].doorbell();
};

test('sends a device that is away only the newest difference, when it connects', async () => {
  await load({});
  const out = inbox('out');
  for (let rate = 1; rate <= 5; rate++) expect(await desire('pump', { rate, unit: 'bar' })).toBeUndefined();
  expect(await record('pump', 'd/pump/shadow/reported', '{"unit":"bar","rate":1}')).toBeUndefined();
  engines[0].commands.length = 0;
  happens('connected', 'pump');
  await until(() => got('pump').length > 0);
  expect(got('pump')).toEqual([
    ['cmd/pump/shadow/delta', { version: 6, timestamp: expect.any(Number), state: { rate: 5 } }]
  ]);
  // The same difference is not sent twice on a connection; a report that ends it sends nothing.
  expect(await record('pump', 'shadow/reported', '{"temperature":20}')).toBeUndefined();
  expect(await record('pump', 'shadow/reported', '{"rate":5}')).toBeUndefined();
  await desire('pump', { rate: 6 });
  await until(() => got('pump').length > 1);
  expect(got('pump')[1][1]).toMatchObject({ state: { rate: 6 } });
  await until(() => out.length === 9);
  expect(
    out.map(({ deviceId, payload }) => [deviceId, payload.event, payload.version, payload.delta])
  ).toEqual([
    ...[1, 2, 3, 4, 5].map((rate) => ['pump', 'desired', rate, { rate, unit: 'bar' }]),
    ['pump', 'reported', 6, { rate: 5 }],
    ['pump', 'reported', 7, { rate: 5 }],
    ['pump', 'reported', 8, undefined],
    ['pump', 'desired', 9, { rate: 6 }]
  ]);
  await until(() => shown('shadow')?.text === '1 shadows');
});

test('answers a device that asks, and one whose document is refused', async () => {
  await load({});
  happens('connected', 'pump');
  expect(await record('pump', 'shadow/get', '')).toBeUndefined();
  expect(await record('pump', 'shadow/reported', '{"a":')).toBeUndefined();
  await record('pump', 'shadow/reported', '{"a":1}');
  await record('pump', 'shadow/get', '{"clientToken":"t"}');
  await until(() => got('pump').length === 3);
  const timestamp = expect.any(Number);
  expect(got('pump')).toEqual([
    ['cmd/pump/shadow/rejected', { code: 404, message: 'No shadow exists for pump.', timestamp }],
    ['cmd/pump/shadow/rejected', { code: 400, message: 'The document is not JSON.', timestamp }],
    ['cmd/pump/shadow/document', { version: 1, timestamp, reported: { a: 1 }, clientToken: 't' }]
  ]);
  expect(warnings().filter(([id]) => id === 'engine')).toEqual([
    ['engine', 'The device pump was refused: The document is not JSON.']
  ]);
});

test("speaks AWS's dialect", async () => {
  await load({ dialect: 'aws' });
  happens('connected', 'pump');
  const topic = '$aws/things/pump/shadow';
  await record(
    'pump',
    `${topic}/update`,
    '{"state":{"desired":{"a":1},"reported":{"a":0}},"clientToken":"t"}'
  );
  await until(() => got('pump').length === 2);
  expect(got('pump')).toEqual([
    [`${topic}/update/delta`, expect.objectContaining({ version: 1, state: { a: 1 } })],
    [
      `${topic}/update/accepted`,
      expect.objectContaining({
        version: 1,
        clientToken: 't',
        state: { desired: { a: 1 }, reported: { a: 0 } }
      })
    ]
  ]);
  engines[0].commands.length = 0;
  await record('pump', `${topic}/update`, '{"state":{"desired":{"a":2}},"version":9}');
  await record('pump', '$aws/things/fan/shadow/get', '');
  await record('pump', `${topic}/name/n/get`, '');
  await record('pump', `${topic}/delete`, '');
  await record('pump', `${topic}/get`, '');
  await until(() => got('pump').length === 5);
  expect(got('pump').map(([at, { code, message }]) => [at, code, message])).toEqual([
    [`${topic}/update/rejected`, 409, 'Version conflict: the shadow has version 1, not 9.'],
    ['$aws/things/fan/shadow/get/rejected', 400, 'The topic names the thing fan, but the device is pump.'],
    [`${topic}/name/n/get/rejected`, 400, expect.stringMatching(/^Named shadows are not kept/)],
    [`${topic}/delete/accepted`, undefined, undefined],
    [`${topic}/get/rejected`, 404, 'No shadow exists for pump.']
  ]);
});

test.each([
  [{ dialect: 'aws' }, 'refuse', 1],
  [{ dialect: 'azure' }, 'accept', 0],
  [{}, 'refuse', 0]
])('with %j and odd topics to %s warns %i times', async (settings, oddTopics, count) => {
  const nodes = flow(settings).map((each) => (each.id === 'engine' ? { ...each, oddTopics } : each));
  await gateway.load(nodes, {}, [shadow]);
  expect(warnings().filter(([id, text]) => id === 'shadow' && /Odd topics/.test(text))).toHaveLength(count);
});

test("speaks Azure's dialect", async () => {
  await load({ dialect: 'azure' });
  happens('connected', 'pump');
  await desire('pump', { interval: 5 });
  await record('pump', '$iothub/twin/PATCH/properties/reported/?$rid=7', '{"battery":55}');
  await record('pump', '$iothub/twin/GET/?$rid=8', '');
  await record('pump', '$iothub/twin/PATCH/properties/reported/?$rid=9', '{"$version":1}');
  await until(() => got('pump').length === 4);
  expect(got('pump')).toEqual([
    ['$iothub/twin/PATCH/properties/desired/?$version=1', { interval: 5, $version: 1 }],
    ['$iothub/twin/res/204/?$rid=7&$version=1', ''],
    [
      '$iothub/twin/res/200/?$rid=8',
      { desired: { interval: 5, $version: 1 }, reported: { battery: 55, $version: 1 } }
    ],
    [
      '$iothub/twin/res/400/?$rid=9',
      { errorCode: 400, message: expect.stringMatching(/^\$version is written/) }
    ]
  ]);
});

test('passes other messages on, and lets a record of a device desire nothing', async () => {
  await load({ devices: 'pump*' });
  const others = inbox('others');
  const messages = [
    { deviceId: 'pump', topic: 'd/pump/t', payload: Buffer.from('21.5') },
    { deviceId: 'pump', topic: 'd/pump/t', payload: { desired: { a: 1 } }, source: { protocol: 'mqtt' } },
    {
      deviceId: 'fan',
      topic: 'shadow/reported',
      payload: Buffer.from('{"a":1}'),
      source: { protocol: 'mqtt' }
    },
    { payload: 'text' }
  ];
  for (const msg of messages) expect(await outcomeOf('shadow', msg)).toBeUndefined();
  await until(() => others.length === messages.length);
  expect(others.map(({ payload }) => payload)).toEqual(messages.map(({ payload }) => payload));
  expect((await http().get('/seganet/shadow')).body).toEqual({ total: 0, shadows: [], next: null });
});

test.each([
  [{ payload: { desired: {} } }, /^The message has no device id/],
  [{ deviceId: 'fan', payload: { desired: {} } }, /^No shadow node is responsible/],
  [{ deviceId: 'pump', payload: { desired: 5 } }, /^desired must be an object/],
  [{ deviceId: 'pump', payload: { desired: {}, wanted: 1 } }, /^A state has desired and reported/],
  [{ deviceId: 'pump', payload: { desired: { a: 1n } } }, /^msg.payload has no JSON form/],
  [{ deviceId: 'pump', shadow: 'put', payload: {} }, /^msg.shadow must be update, get or delete/],
  [{ deviceId: 'pump', shadow: 'get' }, /^No shadow exists for pump/],
  [{ deviceId: 'pump', payload: { desired: { a: 1 }, version: 4 } }, /^Version conflict/],
  [{ deviceId: 'pump', batch: {}, payload: '' }, /^A batch arrived/]
])('fails message %# of a flow with a sentence', async (msg, sentence) => {
  await load({ devices: 'pump' });
  expect((await outcomeOf('shadow', msg)).message).toMatch(sentence);
});

test('reads and deletes for a flow', async () => {
  await load({});
  const out = inbox('out');
  await desire('pump', { a: 1 });
  await outcomeOf('shadow', { deviceId: 'pump', shadow: 'get', mine: 7 });
  await outcomeOf('shadow', { deviceId: 'pump', shadow: 'delete' });
  await until(() => out.length === 3);
  expect(out[1]).toMatchObject({ mine: 7, payload: { version: 1, desired: { a: 1 }, delta: { a: 1 } } });
  expect(out[2]).toMatchObject({ deviceId: 'pump', payload: { event: 'deleted', version: 1 } });
});

test('has an admin API', async () => {
  await load({});
  const post = (body) => http().post('/seganet/shadow').send(body);
  const { body } = await post({ device: 'pump', desired: { a: { b: 1 } }, clientToken: 't' }).expect(200);
  expect(body).toEqual({ version: 1, timestamp: expect.any(Number), clientToken: 't' });
  expect(await read('pump')).toMatchObject({ version: 1, desired: { a: { b: 1 } }, delta: { a: { b: 1 } } });
  await post({ device: 'pump', desired: { a: 2 }, version: 3 }).expect(409);
  await post({ device: 'pump', desired: { x: 'y'.repeat(9000) } }).expect(413);
  const long = await post({ device: 'pump', desired: { x: 'y'.repeat(20000) } }).expect(413);
  expect(long.body.error).toMatch(/^The request has \d+ bytes; at most 9216 are read\.$/);
  await post({ device: '', desired: {} }).expect(400);
  await post({ device: 'pump', state: 1 }).expect(400);
  await http().post('/seganet/shadow').type('form').send('device=pump').expect(400);
  await http().get('/seganet/shadow?limit=0').expect(400);
  await http().get('/seganet/shadow?engine=none').expect(404);
  await http().delete('/seganet/shadow/pump').expect(200);
  await http().delete('/seganet/shadow/pump').expect(404);
  const metrics = (await http().get('/seganet/metrics')).text;
  expect(metrics).toMatch(/^seganet_shadow_updates_total\{engine="engine"\} [01]$/m);
});

test('keeps shadows over a restart of the flows, with another dialect', async () => {
  await load({});
  await desire('pump', { a: 1 });
  await unload();
  await load({ dialect: 'aws' });
  happens('connected', 'pump');
  await until(() => got('pump').length === 1);
  expect(got('pump')[0]).toEqual([
    '$aws/things/pump/shadow/update/delta',
    expect.objectContaining({ version: 1 })
  ]);
});

test('sends a difference when the file can be opened again, although the device does nothing', async () => {
  await load({});
  await desire('pump', { a: 1 });
  await unload();
  const lock = lockFile(path.join(folder, 'shadow.lock'));
  await load({});
  happens('connected', 'pump');
  await until(() => warnings().some(([, text]) => /^The difference for pump cannot be derived/.test(text)));
  await until(() => shown('shadow')?.fill === 'red');
  expect(got('pump')).toEqual([]);
  lock?.close();
  await until(() => got('pump').length === 1);
}, 20000);

test('refuses everything with a damaged file, and the rest of the gateway goes on', async () => {
  fs.writeFileSync(path.join(folder, 'shadow.db'), Buffer.alloc(8192, 7));
  await load({});
  expect((await desire('pump', { a: 1 })).message).toMatch(/^The file of the shadows, .* is damaged/);
  // The device sends it again.
  expect((await record('pump', 'shadow/reported', '{"a":1}')).message).toMatch(/is damaged/);
  await http().get('/seganet/shadow?device=pump').expect(503);
  await until(() => shown('shadow')?.fill === 'red');
  expect(await outcomeOf('devices', { deviceId: 'pump', topic: 't', payload: 'x' })).toBeUndefined();
}, 10000);

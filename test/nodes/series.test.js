'use strict';
// The series node in Node-RED, with devices whose messages are acknowledged when they are delivered.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { DeliveryFlow, ended, helper, node, publish, until } = require('./support/delivery-flow');
const { errors, inbox, modules, outcomeOf, shown, tab } = require('./support/gateway');

const series = require('../../nodes/seganet-series');
const START = Date.now() - 600000;

/** @type {string} */
let folder;
beforeAll(() => helper.startServer());
beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-series-'))));
afterEach(async () => {
  await helper.unload();
  fs.rmSync(folder, { recursive: true, force: true });
});
afterAll(() => helper.stopServer());

const seriesNode = (properties = {}) =>
  node('kept', 'seganet-series', { engine: undefined, folder, ...properties }, 'out');

async function load(properties = {}) {
  await helper.load([...modules, series], [tab, seriesNode(properties), node('out', 'helper')]);
  return inbox('out');
}

const outcome = (msg) => outcomeOf('kept', msg);

const get = async (url) => (await helper.request().get(`/seganet/series${url}`)).body;
const ask = (url) => helper.request().get(`/seganet/series/kept/${url}`);
const post = (url, body) => helper.request().post(`/seganet/series/kept/grafana/${url}`).send(body);

test('passes a message on when its points are on disk, and answers questions over HTTP', async () => {
  const arrived = await load();
  for (let i = 0; i < 10; i++) {
    const msg = {
      deviceId: 'pump-1',
      topic: 'd/pump-1',
      ts: START + i * 1000,
      payload: Buffer.from(`{"temp":${20 + i},"state":"run"}`)
    };
    expect(await outcome(msg)).toBeUndefined();
  }
  await until(() => arrived.length === 10);
  expect(arrived[0]).toMatchObject({ deviceId: 'pump-1', payload: expect.any(Buffer) });

  expect((await ask('list')).body).toEqual({ series: [{ device: 'pump-1', name: 'temp' }], next: null });
  expect((await ask('latest?contains=PUMP')).body.series).toEqual([
    { device: 'pump-1', name: 'temp', ts: START + 9000, value: 29 }
  ]);
  const rows = await ask(`range?device=pump-1&name=temp&from=${START}&limit=4`);
  expect(rows.headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
  expect([rows.headers['seganet-truncated'], rows.headers['seganet-next']]).toEqual([
    'true',
    String(START + 4000)
  ]);
  const csv = await ask(`range?device=pump-1&from=-1h&step=1h&format=csv`);
  expect(csv.text).toMatch(/^ts,device,name,mean,min,max,count\r\n/);
  expect(csv.headers['content-type']).toMatch(/^text\/csv/);
  expect((await ask('search?q=run&path=temp&op=>&value=25')).body).toMatchObject({
    records: [{ device: 'pump-1', topic: 'd/pump-1', value: 29 }],
    isComplete: true
  });

  expect((await ask('grafana')).status).toBe(200);
  expect((await ask('grafana/')).status).toBe(200);
  expect((await post('search', { target: 'tem' })).body).toEqual(['pump-1|temp']);
  expect((await post('metrics', { metric: '', payload: {} })).body).toEqual([
    { label: 'pump-1|temp', value: 'pump-1|temp' }
  ]);
  const options = await post('metric-payload-options', { metric: 'pump-1|temp', name: 'x', payload: {} });
  expect([options.status, options.body]).toEqual([200, []]);
  const range = { from: new Date(START).toISOString(), to: new Date(START + 10000).toISOString() };
  const query = { range, intervalMs: 5000, maxDataPoints: 100, targets: [{ target: 'pump-1|temp' }] };
  const [{ target, datapoints }] = (await post('query', query)).body;
  expect([target, datapoints.at(-1)[0]]).toEqual(['pump-1|temp', expect.any(Number)]);

  expect((await get('')).nodes).toMatchObject([{ id: 'kept', running: true, reason: '' }]);
});

test('answers a wrong request with a status and a sentence', async () => {
  await load({ search: 'off' });
  for (const [url, status, reason] of [
    ['range', 400, /device is missing/],
    ['range?device=a&step=x', 400, /step must be a duration/],
    ['list?limit=0', 400, /limit must be/],
    ['search?q=a', 400, /search of this series node is off/],
    ['search', 400, /q .* or path/]
  ]) {
    const response = await ask(url);
    expect([url, response.status, response.body.error]).toEqual([url, status, expect.stringMatching(reason)]);
  }
  expect((await post('query', { range: 5 })).status).toBe(400);
  expect((await helper.request().get('/seganet/series/other/list')).status).toBe(404);
});

test('passes records without numbers, and refuses messages without a device', async () => {
  const arrived = await load();
  expect(await outcome({ deviceId: 'a', payload: 'text' })).toBeUndefined();
  await until(() => arrived.length === 1);
  expect(String(await outcome({ payload: 1 }))).toMatch(/no device id/);
  expect(String(await outcome({ deviceId: 'a', payload: 1, batch: { count: 2 } }))).toMatch(/unbatch node/);
});

test('is red, names the reason and fails messages if a setting or the folder is wrong', async () => {
  await load({ values: 'a = [', days: '0' });
  expect(shown('kept').fill).toBe('red');
  expect(
    errors()
      .map(([, text]) => text)
      .join()
  ).toMatch(/Days of points|days.*must be a whole number.*The path/s);
  expect(await outcome({ deviceId: 'a', payload: 1 })).toBeInstanceOf(Error);
  expect((await ask('list')).status).toBe(503);
  await helper.unload();

  await load({ folder: ['x'], values: {} });
  expect(shown('kept').fill).toBe('red');
  await helper.unload();

  fs.writeFileSync(path.join(folder, 'file'), '');
  await load({ folder: path.join(folder, 'file') });
  expect(String(await outcome({ deviceId: 'a', payload: 1 }))).toMatch(/is not a folder/);
  await until(() => shown('kept')?.fill === 'red');
});

test('keeps its points over a deploy', async () => {
  await load();
  await outcome({ deviceId: 'a', payload: 5, ts: START });
  await helper.unload();
  await load();
  expect((await ask('latest')).body.series).toEqual([{ device: 'a', name: 'value', ts: START, value: 5 }]);
});

test('acknowledges a device only when its points are on disk', async () => {
  const flow = new DeliveryFlow();
  await flow.prepare();
  try {
    await flow.start([series], flow.source('mqtt-devices', {}, 'kept'), seriesNode({ wires: [] }));
    const device = await flow.device();
    const result = publish(device, '17.5');
    await ended(result);
    expect(result.outcome).toBe('acknowledged');
    const { body } = await ask('latest');
    expect(body.series).toMatchObject([{ device: 'd1', name: 'value', value: 17.5 }]);

    // A store that cannot write.
    const kept = helper.getNode('kept').series;
    const { put } = kept;
    kept.put = (_record, done) => done(new Error('The disk of the series is full.'));
    const refused = publish(device, '18');
    await ended(refused);
    expect(refused.outcome).not.toBe('acknowledged');
    kept.put = put;
  } finally {
    await flow.end();
  }
});

'use strict';
// The find node in Node-RED: records and questions as messages, questions over HTTP, with a device that is asked.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { eventually } = require('../../bench/harness/net');
const { DeliveryFlow, helper, node, until } = require('./support/delivery-flow');
const { errors, inbox, modules, outcomeOf, shown, tab } = require('./support/gateway');

const find = require('../../nodes/seganet-find');
const RULES = [
  { device: 'th-*', type: 'saref:TemperatureSensor', room: '{1}', unit: '°C', ask: { command: 'get' } },
  { device: 'co2-*', property: 'saref:CO2', value: 'ppm', room: '{1}' }
];

/** @type {string} */
let folder;
beforeAll(() => helper.startServer());
beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-find-'))));
afterEach(async () => {
  await helper.unload();
  fs.rmSync(folder, { recursive: true, force: true });
});
afterAll(() => helper.stopServer());

const findNode = (properties = {}) =>
  node('find', 'seganet-find', { engine: '', folder, rules: JSON.stringify(RULES), ...properties }, 'out');

async function load(properties = {}) {
  await helper.load([...modules, find], [tab, findNode(properties), node('out', 'helper')]);
  return inbox('out');
}

const outcome = (msg) => outcomeOf('find', msg);

const ask = async (query) => (await helper.request().get(`/seganet/q?${query}`)).body;
const record = (deviceId, payload, more = {}) => ({
  deviceId,
  payload: Buffer.from(JSON.stringify(payload)),
  ...more
});

/** Waits until the directory has the devices as things with their properties. */
async function things(count, property = 'temperature') {
  const found = async () => {
    const { body } = await helper.request().get('/seganet/directory/find/things');
    const fit = body.filter?.((/** @type {any} */ td) => td.properties?.[property]) ?? [];
    return fit.length >= count ? fit : null;
  };
  return eventually(found, { timeoutMs: 20000, what: `${count} things with ${property}` });
}

test('answers a question of a flow and of HTTP with the value of the best device', async () => {
  const answers = await load();
  expect(await outcome(record('th-105', { temperature: 21.5, rssi: -60 }))).toBeUndefined();
  await outcome(record('th-106', { temperature: 30 }));
  const [td] = await things(2);
  expect(td).toMatchObject({
    id: 'urn:seganet:find:device:th-105',
    '@type': ['saref:TemperatureSensor'],
    'brick:hasLocation': { 'rdfs:label': '105' },
    properties: { temperature: { '@type': ['sosa:ObservableProperty', 'saref:Temperature'], unit: '°C' } }
  });

  expect(await outcome({ question: { property: 'Temperature', room: '105' } })).toBeUndefined();
  await until(() => answers.length === 1);
  expect(answers[0]).toMatchObject({
    payload: 21.5,
    answer: {
      device: 'th-105',
      unit: '°C',
      fresh: true,
      why: expect.stringMatching(/signal -60 dBm/),
      others: []
    }
  });
  expect(await ask('property=Temperature&room=Room%20106')).toMatchObject({ value: 30, device: 'th-106' });
  const linked = await helper
    .request()
    .get('/seganet/q?property=t%65mperature')
    .set('Accept', 'application/ld+json');
  expect(linked.headers['content-type']).toBe('application/ld+json');
  expect(linked.body['@type']).toBe('sosa:Observation');
  // The form of the property answers with its value.
  const form = td.properties.temperature.forms[0].href;
  expect((await helper.request().get(form)).body).toMatchObject({ value: 21.5 });
  await until(() => /2 things/.test(shown('find').text));
});

test('fails a question without an answer, and a wrong message, with the reason', async () => {
  await load();
  expect(String(await outcome({ question: { property: 'noise' } }))).toMatch(/No thing measures noise/);
  expect(String(await outcome({ question: 'room=1' }))).toMatch(/property is missing/);
  expect(String(await outcome({ payload: 1 }))).toMatch(/no device id/);
  expect(String(await outcome({ deviceId: 'a', payload: 1, batch: { count: 2 } }))).toMatch(/unbatch node/);
  expect((await helper.request().get('/seganet/q?property=noise')).status).toBe(404);
  expect((await helper.request().get('/seganet/q')).status).toBe(400);
  expect((await helper.request().get('/seganet/directory/other/things')).status).toBe(404);
});

test('reads the names that rules give to values, and posted things of the same device', async () => {
  await load();
  await outcome(record('co2-7', { ppm: 600, battery: 3 }));
  await things(1, 'ppm');
  expect(await ask('property=CO2&room=7')).toMatchObject({ value: 600, property: 'ppm' });
  const td = {
    '@context': 'https://www.w3.org/2022/wot/td/v1.1',
    id: 'urn:mine',
    title: 'mine',
    securityDefinitions: { none: { scheme: 'nosec' } },
    security: 'none',
    'seganet:device': 'co2-7',
    'brick:hasLocation': 'canteen',
    properties: { battery: { forms: [{ href: 'x:y' }] } }
  };
  await helper.request().put('/seganet/directory/find/things/urn:mine').send(td).expect(201);
  expect(await ask('property=battery&room=canteen')).toMatchObject({ value: 3, thing: 'urn:mine' });
});

test('is red and names the reason if a setting or the folder is wrong', async () => {
  await load({ rules: '[{"device":[]}]', maxThings: '0' });
  expect(shown('find').fill).toBe('red');
  expect(
    errors()
      .map(([, text]) => text)
      .join()
  ).toMatch(/maxThings.*Rule 1/s);
  expect(await outcome(record('a', 1))).toBeInstanceOf(Error);
  expect((await helper.request().get('/seganet/q?property=a')).status).toBe(503);
  await helper.unload();
  fs.writeFileSync(path.join(folder, 'file'), '');
  await load({ folder: path.join(folder, 'file') });
  await until(() => shown('find')?.fill === 'red');
  expect((await helper.request().get('/seganet/directory/find/things')).body.detail).toMatch(
    /is not a folder/
  );
});

test('makes things of devices of the engine, and asks one by a command', async () => {
  const flow = new DeliveryFlow();
  await flow.prepare();
  try {
    const settings = { engine: 'engine', askMs: '10000', wires: [] };
    await flow.start([find], flow.source('mqtt-devices', {}, 'find'), findNode(settings));
    const device = await flow.device({ clientId: 'th-105' });
    await device.subscribeAsync('cmd/th-105/get', { qos: 1 });
    device.on('message', () => device.publish('d/th-105', '{"temperature":19.5}', { qos: 1 }));
    // The device has sent nothing yet.
    const [td] = await things(1);
    expect(td).toMatchObject({ 'seganet:device': 'th-105', 'seganet:protocol': 'mqtt' });
    expect(await ask('property=Temperature&room=105')).toMatchObject({
      value: 19.5,
      from: 'command',
      device: 'th-105'
    });
    expect(await ask('property=Temperature&room=105')).toMatchObject({ value: 19.5, from: 'record' });
  } finally {
    await flow.end();
  }
});

'use strict';
// WoT writeproperty of a find node: the value becomes desired of the device, which gets it by its shadow.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const find = require('../../nodes/seganet-find');
const shadow = require('../../nodes/seganet-shadow');
const gateway = require('./support/gateway');
const { helper, tab, engine, broker, node, unload, engines } = gateway;
const { eventually } = require('../../bench/harness/net');
const { thing } = require('../fixtures/directory/things');

jest.setTimeout(30000);

const ROOT = '/seganet/directory/things';
const RULES = [{ device: 'pump-*', value: 'rate', write: 'limits.rate' }, { device: '*' }];

/** @type {string} */
let folder;
beforeAll(() => helper.startServer());
afterAll(() => helper.stopServer());
beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-write-'))));
afterEach(async () => {
  await unload();
  fs.rmSync(folder, { recursive: true });
});

const load = (...more) => {
  const settings = { version: 1, folder, rules: JSON.stringify(RULES), wires: [[]] };
  const flow = [
    tab,
    { ...engine, logDir: folder },
    broker,
    node('devices', 'ingest', {}, 'up'),
    node('up', 'uplink', { broker: 'broker' }),
    node('things', 'seganet-find', settings),
    ...more
  ];
  return gateway.load(flow, {}, [shadow, find]);
};
const http = () => helper.request();
const write = (id, property, body, type = 'application/json') =>
  http()
    .put(`${ROOT}/value?${new URLSearchParams({ thing: id, property })}`)
    .set('Content-Type', type)
    .send(body);
const desired = async (device) => (await http().get(`/seganet/shadow?device=${device}`)).body.desired;
const propertiesOf = async (id) =>
  (await http().get(`${ROOT}/things/${encodeURIComponent(id)}`)).body.properties;
const records = (deviceId, payload) => helper.getNode('things').receive({ deviceId, payload, topic: 'd' });

test('writes a property of a made thing by the form of its description, and the device gets it', async () => {
  await load(node('shadow', 'seganet-shadow', { devices: 'pump-*', wires: [[], []] }));
  records('pump-7', { rate: 4, level: 2 });
  const id = 'urn:seganet:gw1:device:pump-7';
  await eventually(async () => (await propertiesOf(id))?.level, { what: 'the thing' });
  const { rate, level } = await propertiesOf(id);
  expect(rate).toMatchObject({ type: 'object', 'seganet:desired': 'limits.rate' });
  expect(level.readOnly).toBe(true);
  const { href, contentType } = rate.forms.find(({ op }) => op === 'writeproperty');
  engines[0].takers.add('pump-7');
  engines[0].events.push({
    kind: 'connected',
    device: 'pump-7',
    stage: 1,
    worker: 0,
    reason: '',
    address: ''
  });
  engines[0].doorbell();
  // A consumer may write what it has read.
  const { body: before } = await http().get(href).expect(200);
  await http()
    .put(href)
    .set('Content-Type', contentType)
    .send({ ...before, value: 5 })
    .expect(204);
  expect(await desired('pump-7')).toEqual({ limits: { rate: 5 } });
  await eventually(() => engines[0].commands.length > 0, { what: 'the command' });
  const [{ deviceId, topic, payload }] = engines[0].commands;
  expect({ deviceId, topic, state: JSON.parse(payload).state }).toEqual({
    deviceId: 'pump-7',
    topic: 'cmd/pump-7/shadow/delta',
    state: { limits: { rate: 5 } }
  });
  await write(id, 'rate', { value: null }).expect(204);
  expect(await desired('pump-7')).toBeUndefined();
});

test('writes a property of a posted thing that names the key, and refuses all others with a sentence', async () => {
  await load(node('shadow', 'seganet-shadow', { devices: 'pump-*', maxBytes: '256', wires: [[], []] }));
  const id = 'urn:test:pump';
  const forms = [{ href: 'value', op: ['readproperty', 'writeproperty'] }];
  const td = (device) =>
    thing({
      id,
      'seganet:device': device,
      properties: {
        mode: { forms, 'seganet:desired': 'mode' },
        fixed: { forms, 'seganet:desired': 'fixed', readOnly: true },
        plain: { forms }
      }
    });
  const put = (device) =>
    http()
      .put(`${ROOT}/things/${encodeURIComponent(id)}`)
      .set('Content-Type', 'application/td+json')
      .send(JSON.stringify(td(device)));
  await put('pump-1').expect(201);
  await write(id, 'mode', { value: { name: 'auto' } }).expect(204);
  expect(await desired('pump-1')).toEqual({ mode: { name: 'auto' } });
  const refused = async (response, status, sentence) => {
    const { body } = await response.expect(status);
    expect(body.detail).toMatch(sentence);
  };
  await refused(write(id, 'fixed', { value: 1 }), 403, /cannot be written/);
  await refused(write(id, 'plain', { value: 1 }), 403, /Add "write" to a rule/);
  await refused(write(id, 'none', { value: 1 }), 404, /no property none/);
  await refused(write('urn:test:none', 'mode', { value: 1 }), 404, /no thing/);
  await refused(write(id, 'mode', { n: 1 }), 400, /must be an object with the value/);
  await refused(write(id, 'mode', '{"value":1}', 'text/plain'), 415, /application\/json/);
  await refused(write(id, 'mode', { value: 'x'.repeat(300) }), 413, /256 is the limit of the node/);
  await refused(write(id, 'mode', { value: { '': 1 } }), 400, /A key must have/);
  await put('fan-1').expect(204);
  await refused(write(id, 'mode', { value: 1 }), 404, /No shadow node is responsible/);
  expect(await desired('pump-1')).toEqual({ mode: { name: 'auto' } });
});

test('refuses to write without a shadow node', async () => {
  await load();
  records('pump-7', { rate: 4 });
  const id = 'urn:seganet:gw1:device:pump-7';
  await eventually(async () => (await propertiesOf(id))?.rate, { what: 'the thing' });
  const { body } = await write(id, 'rate', { value: 5 }).expect(404);
  expect(body.detail).toMatch(/No shadow node is responsible for this device. Add one/);
});

'use strict';
// Things of an OCF cloud, and the ways to ask devices for a value.

const coap = require('coap');
const { setCloud } = require('../../../nodes/lib/ocf/node/clouds');
const { OcfFeed } = require('../../../nodes/lib/directory/things/ocf-feed');
const { openDirectory } = require('../../../nodes/lib/directory/things/find-parts');
const { ocfAddress, valueIn } = require('../../../nodes/lib/directory/things/routes');
const { readQuestion } = require('../../../nodes/lib/directory/question');
const { parseRules } = require('../../../nodes/lib/directory/rules');
const { encode } = require('../../../nodes/lib/ocf/cloud/bodies');
const { makeThing } = require('../../../nodes/lib/directory/make-thing');
const { startControlPlane } = require('../../fixtures/ocf/control-plane');
const { eventually, newUser, scenes } = require('../../fixtures/ocf/scenes');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const THERMOMETER = {
  href: '/temp/1',
  rt: ['oic.r.temperature'],
  if: ['oic.if.s', 'oic.if.baseline'],
  ins: 0,
  p: { bm: 3 }
};
const options = { maxThings: 100, keepDays: 30, maxAgeS: 60, askMs: 5000 };
const base = { gateway: 'gw', path: '/d/', isSecured: false };

/** @type {any} */
let opened;
/** @type {string} */
let folder;
/** @type {string[]} */
let problems;
const open = (rules, cloud = '') => {
  problems = [];
  opened = openDirectory({
    id: 'find',
    options: { ...options, directory: folder },
    rules: parseRules(JSON.stringify(rules)),
    base,
    host: () => null,
    cloud,
    problem: (sentence) => problems.push(sentence),
    changed: () => {}
  });
  return opened.directory;
};
const ask = (directory, query) => directory.answering.answer(readQuestion(query, directory.usual));
beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-things-'))));
afterEach(async () => {
  await opened?.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

describe('with an OCF cloud', () => {
  /** @type {any} */
  let plane;
  const { signedIn } = scenes(() => plane);
  beforeEach(async () => {
    plane = await startControlPlane();
    setCloud('cloud', plane.cloud);
  });
  afterEach(async () => {
    setCloud('cloud', null);
    await plane.stop();
  });

  test('makes things of devices and RFC 9176 endpoints, and reads a resource for an answer', async () => {
    const device = await signedIn(newUser());
    device.serve = (/** @type {any} */ { path: given }) =>
      given === THERMOMETER.href ? { body: { temperature: 22.5, units: 'C' } } : null;
    await device.publish([
      THERMOMETER,
      { href: '/oic/d', rt: ['oic.wk.d'], if: ['oic.if.r'], ins: 0, p: { bm: 1 } }
    ]);
    const links = Buffer.from('</sensors/light>;rt="oic.r.sensor.illuminance"');
    await device.request('POST', '/rd', { query: ['ep=node1'], payload: links, format: 40, accept: null });
    const directory = open(
      [
        { device: device.di, room: '105' },
        { device: 'node*', room: '{1}' }
      ],
      'cloud'
    );
    const list = async () => (await directory.ask('list', { offset: 0, limit: 10 })).things;
    await eventually(async () => (await list()).length === 2, 'the things');
    const byProtocol = Object.fromEntries((await list()).map((td) => [td['seganet:protocol'], td]));
    expect(byProtocol.ocf.properties['temp.1']).toMatchObject({
      '@type': ['sosa:ObservableProperty', 'saref:Temperature', 'urn:ocf:oic.r.temperature'],
      forms: [{}, { href: `ocf://${device.di}/temp/1` }]
    });
    expect(Object.keys(byProtocol.ocf.properties)).toEqual(['temp.1']);
    expect(byProtocol.rfc9176).toMatchObject({ title: 'node1', properties: { 'sensors.light': {} } });
    expect(byProtocol.rfc9176['brick:hasLocation']['rdfs:label']).toBe('1');

    expect(await ask(directory, 'property=Temperature&room=105')).toMatchObject({
      value: 22.5,
      from: 'ocf',
      device: device.di
    });
    expect(await ask(directory, 'property=Temperature&room=105')).toMatchObject({ from: 'record' });
    expect(problems).toEqual([]);

    device.destroy();
    await eventually(() => plane.cloud.stateOf(device.di) === 'off', 'the device is off');
    const old = await ask(directory, 'property=Temperature&room=105&maxAge=0&ask=2');
    expect(old).toMatchObject({ value: 22.5, fresh: false, problems: [expect.stringMatching(/offline/)] });
  });
});

test('makes the things of all devices but those whose links cannot be read', async () => {
  const types = ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'oic.r.temperature'];
  const links = {
    odd: [{ href: '/t', body: encode({ rt: types }) }],
    broken: [{ href: '/t', body: Buffer.from([0xff]) }],
    fine: [{ href: '/t', body: encode({ rt: ['oic.r.humidity'] }) }]
  };
  const rows = Object.keys(links).map((di) => ({ di, name: di, kind: '' }));
  const answers = {
    deviceList: () => ({ rows, pages: 1 }),
    linksOf: ({ di }) => links[di],
    users: () => [{ uid: 'u' }],
    endpoints: () => [
      { uid: 'u', di: 'ep1', ep: 'ep1', via: 'odd', links: Buffer.from('{') },
      {
        uid: 'u',
        di: 'ep2',
        ep: 'ep2',
        via: 'odd',
        links: Buffer.from(JSON.stringify([{ target: '/x', attributes: [['rt', 'constructor']] }]))
      }
    ]
  };
  const store = {
    read: async (/** @type {string} */ what, /** @type {any} */ input) => answers[what](input)
  };
  /** @type {Map<string, any>} */
  const made = new Map();
  /** @type {string[]} */
  const told = [];
  const feed = new OcfFeed({
    source: 'ocf:c',
    cloud: () => /** @type {any} */ ({ store, now: () => 0, isClosed: false }),
    make: (source) => makeThing(base, { ...source, placed: null }),
    ask: async (what, input) => {
      // As at the border of a thread.
      const { things = [] } = structuredClone(/** @type {any} */ (input));
      for (const { td } of things) made.set(td['seganet:device'], td);
      return { left: [], problems: ['urn:x: title is mandatory'], missing: [] };
    },
    problem: (sentence) => told.push(sentence),
    left: () => {}
  });
  await eventually(() => made.has('ep2'), 'the things');
  await feed.close();
  expect([...made.keys()]).toEqual(['odd', 'fine', 'ep2']);
  expect(made.get('odd').properties.t['@type']).toEqual([
    'sosa:ObservableProperty',
    'saref:Temperature',
    ...types.map((type) => `urn:ocf:${type}`)
  ]);
  expect(told.sort()).toEqual([
    'A thing could not be made: urn:x: title is mandatory.',
    'A thing could not be made: urn:x: title is mandatory.',
    expect.stringMatching(/^The thing of the OCF device .?broken.? could not be made: /),
    expect.stringMatching(/^The thing of the OCF device .?ep1.? could not be made: /)
  ]);
});

test('reads a CoAP resource that a rule names', async () => {
  const server = coap.createServer((request, response) => {
    if (request.url !== '/t') response.code = '4.04';
    response.end(request.url === '/t' ? '{"temperature":18.25,"battery":3}' : '');
  });
  const port = await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () =>
      resolve(/** @type {any} */ (server)._port ?? /** @type {any} */ (server)._sock.address().port)
    );
  });
  try {
    const url = (/** @type {string} */ end) => ({ url: `coap://127.0.0.1:${port}/${end}` });
    const directory = open([
      { device: 'good', type: 'saref:TemperatureSensor', room: '1', ask: url('t') },
      { device: 'bad', type: 'saref:TemperatureSensor', room: '2', ask: url('none') }
    ]);
    for (const device of ['good', 'bad'])
      directory.values.note({ device, payload: null, topic: '', ts: 0, cls: 0 });
    opened.feed.soon();
    await eventually(
      async () => (await directory.ask('list', { offset: 0, limit: 10 })).total === 2,
      'the things'
    );
    expect(await ask(directory, 'property=temperature&room=1')).toMatchObject({ value: 18.25, from: 'coap' });
    await expect(ask(directory, 'property=temperature&room=2')).rejects.toMatchObject({
      status: 504,
      message: expect.stringMatching(/answered 4\.04/)
    });
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});

test('takes the number that is certain, and no other', () => {
  const candidate = { name: 'temp.1', kind: 'saref:Temperature' };
  expect(valueIn({ temperature: 1, battery: 2 }, candidate)).toBe(1);
  expect(valueIn({ value: 5, range: 9 }, candidate)).toBe(5);
  expect(valueIn(Buffer.from('7.5'), candidate)).toBe(7.5);
  expect([true, false].map((value) => valueIn({ value, 'n.x': 'on' }, candidate))).toEqual([1, 0]);
  expect(valueIn(Buffer.from('{"value":true,"value2":false}'), candidate)).toBe(1);
  expect(valueIn({ value: true, timeout: 30 }, candidate)).toBe(1);
  expect(valueIn({ value: true, temperature: 3 }, candidate)).toBe(3);
  expect(() => valueIn({ on: true }, candidate)).toThrow(/no number/);
  expect(() => valueIn({ a: 1, b: 2 }, candidate)).toThrow(/several numbers/);
  expect(() => valueIn('on', candidate)).toThrow(/no number/);
  expect(ocfAddress('ocf://di/a/b?if=x&y')).toEqual({ di: 'di', path: ['a', 'b'], query: ['if=x', 'y'] });
});
